import t from 'tap'
import { inspectEveryPage } from '../support/every-page.ts'

await inspectEveryPage(t, { language: 'en', colorScheme: 'light' })
