/** The search product answers with a JSON document; it is shown as what it means. */
import { renderMarkdown, safeUrl } from './markdown.ts'
import { element, told, words } from './page.ts'
import type { SearchDocument } from './wire.ts'

const texts = words('chat')
const { origins, searchSchema } = told('chat')

/** The document that an answer is; null where it is something else. */
export function searchDocument(content: string): SearchDocument | null {
  if (!content.startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(content)
    return isSearchDocument(value) ? value : null
  } catch {
    return null
  }
}

/** Any model can write something that begins like one; what cannot be shown as one is shown as it is. */
function isSearchDocument(value: unknown): value is SearchDocument {
  if (typeof value !== 'object' || value === null) return false
  const { schema, answer, results }: Partial<Record<keyof SearchDocument, unknown>> = value
  return schema === searchSchema && typeof (answer ?? '') === 'string' && Array.isArray(results) && results.every(isResult)
}

function isResult(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { title, url, snippet }: Partial<Record<keyof SearchDocument['results'][number], unknown>> = value
  return typeof title === 'string' && typeof url === 'string' && typeof (snippet ?? '') === 'string'
}

/** As people read it without a page: the answer and where it was found. */
export function searchText({ answer, results }: SearchDocument): string {
  const sources = results.map(({ index, title, url }, place) => `[${index ?? place + 1}] ${title} ${url}`)
  return [answer ?? '', sources.join('\n')].filter((part) => part !== '').join('\n\n')
}

export function searchAnswer({ answer, results }: SearchDocument): Node[] {
  const drawn = renderMarkdown(answer ?? '', { imageOrigins: origins })
  if (results.length === 0) return [drawn]
  return [drawn, element('p', { class: 'label' }, texts.sources), element('ol', { class: 'sources' }, ...results.map(source))]
}

function source({ title, url, snippet }: SearchDocument['results'][number]): HTMLElement {
  const href = safeUrl(url)
  return element(
    'li',
    {},
    href === null ? title : element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, title),
    href !== null && element('span', { class: 'sub' }, ` ${new URL(href).host}`),
    snippet && element('p', { class: 'sub' }, snippet),
  )
}
