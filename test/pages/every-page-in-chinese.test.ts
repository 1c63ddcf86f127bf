import { inspectEveryPage } from '../support/every-page.ts'

await inspectEveryPage({ language: 'zh', colorScheme: 'dark' })
