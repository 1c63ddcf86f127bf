import { inspectEveryPage } from '../support/every-page.ts'

await inspectEveryPage({ language: 'en', colorScheme: 'light' })
