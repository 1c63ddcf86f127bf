/** Every page of the documentation, in the order of its list. */
import type { Services } from '../../services/services.ts'
import type { Language } from '../language.ts'
import { toPlainMarkdown } from '../markdown-html.ts'
import { account } from './account.ts'
import { buying } from './buying.ts'
import { commandLine } from './command-line.ts'
import { createDocsFacts } from './docs-facts.ts'
import type { DocsPage } from './docs-page.ts'
import { errors } from './errors.ts'
import { libreChat } from './librechat.ts'
import { limits } from './limits.ts'
import { models } from './models.ts'
import { quickStart } from './quick-start.ts'
import { sdks } from './sdks.ts'
import { searchAndImages } from './search-and-images.ts'
import { toolPages, tools } from './tools.ts'

export const docsPages: readonly DocsPage[] = [
  quickStart,
  models,
  sdks,
  searchAndImages,
  limits,
  buying,
  account,
  errors,
  commandLine,
  tools,
  ...toolPages,
  libreChat,
]

export function writeDocsPage(page: DocsPage, services: Services, language: Language): string {
  return page.write(createDocsFacts(services))[language]
}

/** The page for programs that read Markdown. */
export function writePlainDocsPage(page: DocsPage, services: Services, language: Language): string {
  return toPlainMarkdown(writeDocsPage(page, services, language))
}
