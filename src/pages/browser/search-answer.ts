/** The search product answers with a JSON document; it is shown as what it means. */
import { renderMarkdown, safeUrl } from './markdown.ts'
import { element, told, words } from './page.ts'
import type { SearchDocument, SearchResult } from '../../api/search-document.ts'

const texts = words('chat')
const { origins, searchSchema } = told('chat')

/** As much of a document as is shown. */
interface Found extends Pick<SearchDocument, 'answer'> {
  readonly results: readonly Source[]
}
type Source = Pick<SearchResult, 'index' | 'title' | 'url' | 'snippet'>

/** Any model can write something that begins like a document; what cannot be shown as one (null) is shown as it is. */
export function foundIn(content: string): Found | null {
  if (!content.startsWith('{')) return null
  try {
    const { schema, answer, results }: Unknown<SearchDocument> = JSON.parse(content)
    if (schema !== searchSchema || !isText(answer ?? '') || !Array.isArray(results)) return null
    const sources = results.map(toSource)
    return sources.includes(null) ? null : { answer: textOf(answer), results: sources.filter((one) => one !== null) }
  } catch {
    return null
  }
}

type Unknown<T> = { readonly [K in keyof T]?: unknown }

function toSource(value: Unknown<SearchResult> | null, place: number): Source | null {
  const { index, title, url, snippet } = value ?? {}
  if (!isText(title) || !isText(url) || !isText(snippet ?? '')) return null
  return { index: typeof index === 'number' ? index : place + 1, title, url, snippet: textOf(snippet) }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function textOf(value: unknown): string {
  return isText(value) ? value : ''
}

/** As people read it without a page: the answer and where it was found. */
export function searchText({ answer, results }: Found): string {
  const sources = results.map(({ index, title, url }) => `[${index}] ${title} ${url}`)
  return [answer, sources.join('\n')].filter((part) => part !== '').join('\n\n')
}

export function searchAnswer({ answer, results }: Found): Node[] {
  const drawn = renderMarkdown(answer, { imageOrigins: origins })
  if (results.length === 0) return [drawn]
  return [drawn, element('p', { class: 'label' }, texts.sources), element('ol', { class: 'sources' }, ...results.map(source))]
}

function source({ title, url, snippet }: Source): HTMLElement {
  const href = safeUrl(url)
  return element(
    'li',
    {},
    href === null ? title : element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, title),
    href !== null && element('span', { class: 'sub' }, ` ${new URL(href).host}`),
    snippet !== '' && element('p', { class: 'sub' }, snippet),
  )
}
