/** A page of the documentation: Markdown in both languages, with the addresses, names and prices of this installation. */
import type { LocalizedText } from '../../errors.ts'
import type { Services } from '../../services/services.ts'
import type { SetupFacts } from '../../setup/client-setup.ts'

export interface DocsPage {
  /** As in `/docs/errors`. */
  readonly path: string
  readonly title: LocalizedText
  /** The group of a list of pages: programs have one of their own. */
  readonly group: 'guide' | 'tools'
  readonly write: (facts: DocsFacts) => LocalizedText
}

/** What differs between installations. */
export interface DocsFacts {
  readonly services: Services
  /** Origin of the website. */
  readonly site: string
  /** The base URL that ends in `/v1`. */
  readonly base: string
  /** The variable that holds the reader's key, as in `SVC_API_KEY`. */
  readonly keyVariable: string
  /** What stands for the key; a script replaces it with the reader's own. */
  readonly key: string
  readonly setup: SetupFacts
}

/** A code block whose title is shown on the page: `code('toml', '~/.codex/config.toml', text)`. */
export function code(language: string, title: string, text: string): string {
  return `\`\`\`${language}:${title.replaceAll(' ', '\u00a0')}\n${text.replace(/\n$/, '')}\n\`\`\``
}

/** A table; the first row is the head. */
export function table(...rows: readonly (readonly (string | number)[])[]): string {
  const [head = [], ...others] = rows.map(
    (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`,
  )
  return [head, `|${'---|'.repeat(rows[0]?.length ?? 0)}`, ...others].join('\n')
}
