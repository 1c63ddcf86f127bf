/** The JSON document of the search product as an answer with sources. */
import type { Block, Inline } from '../../../markdown/markdown-tree.ts'
import { createElement, getProps, getTexts } from '../page.ts'
import { renderLink, toSafeUrl } from './markdown.ts'
import type { SearchDocument, SearchResult } from '../../../api/search-document.ts'

const texts = getTexts('chat')
const { searchSchema } = getProps('chat')

/** As much of a document as is shown. */
interface SearchAnswer extends Pick<SearchDocument, 'answer'> {
  readonly results: readonly Source[]
}
type Source = Pick<SearchResult, 'index' | 'title' | 'url' | 'snippet'>

/** Any model can produce text that begins like a document; text that is not one (null) is shown unchanged. */
export function parseSearchAnswer(content: string): SearchAnswer | null {
  if (!content.startsWith('{')) return null
  try {
    const { schema, answer, results }: UnknownFields<SearchDocument> = JSON.parse(content)
    if (schema !== searchSchema || !isText(answer ?? '') || !Array.isArray(results)) return null
    const sources = results.map(toSource)
    return sources.includes(null) ? null : { answer: toText(answer), results: sources.filter((one) => one !== null) }
  } catch {
    return null
  }
}

type UnknownFields<T> = { readonly [K in keyof T]?: unknown }

function toSource(value: UnknownFields<SearchResult> | null, position: number): Source | null {
  const { index, title, url, snippet } = value ?? {}
  if (!isText(title) || !isText(url) || !isText(snippet ?? '')) return null
  return { index: typeof index === 'number' ? index : position + 1, title, url, snippet: toText(snippet) }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function toText(value: unknown): string {
  return isText(value) ? value : ''
}

/** As people read it without a page: the answer and where it was found. */
export function formatSearchAnswer({ answer, results }: SearchAnswer): string {
  const sources = results.map(({ index, title, url }) => `[${index}] ${title} ${url}`)
  return [answer, sources.join('\n')].filter((part) => part !== '').join('\n\n')
}

export function renderSources({ results }: SearchAnswer): Node[] {
  if (results.length === 0) return []
  return [
    createElement('p', { class: 'label' }, texts.sources),
    createElement('ol', { class: 'sources' }, ...results.map(renderSource)),
  ]
}

function renderSource({ index, title, url, snippet }: Source): HTMLElement {
  const href = toSafeUrl(url)
  return createElement(
    'li',
    { value: index },
    href === null ? title : renderLink(href, [title]),
    href !== null && createElement('span', { class: 'sub' }, ` ${new URL(href).host}`),
    snippet !== '' && createElement('p', { class: 'sub' }, snippet),
  )
}

/** The blocks with each `[n]` of their text leading to the source of that number. */
export function linkCitations({ results }: SearchAnswer, blocks: readonly Block[]): readonly Block[] {
  const urls = new Map(results.map(({ index, url }) => [String(index), toSafeUrl(url)]))
  const linkInlines = (inlines: readonly Inline[]): readonly Inline[] => inlines.flatMap(linkInline)
  const linkInline = (inline: Inline): Inline | readonly Inline[] => {
    if (inline.kind === 'emphasis' || inline.kind === 'strong' || inline.kind === 'strikethrough')
      return { ...inline, children: linkInlines(inline.children) }
    if (inline.kind !== 'text') return inline
    return inline.text.split(/(\[\d{1,3}(?:, ?\d{1,3})*\])/).flatMap(linkMarks)
  }
  /** `[1]` leads to one source; each number of `[1, 4]` leads to its own. */
  const linkMarks = (text: string): readonly Inline[] => {
    const numbers = text.startsWith('[') ? text.slice(1, -1).split(/(, ?)/) : []
    if (numbers.length < 2) return [toMark(text, text.slice(1, -1))]
    return [toMark('['), ...numbers.map((number) => toMark(number, number)), toMark(']')]
  }
  const toMark = (text: string, number = ''): Inline => {
    const url = urls.get(number) ?? null
    const words: Inline = { kind: 'text', text }
    return url === null ? words : { kind: 'link', url, children: [words] }
  }
  const linkBlock = (block: Block): Block => {
    switch (block.kind) {
      case 'paragraph':
      case 'heading':
        return { ...block, children: linkInlines(block.children) }
      case 'quote':
      case 'footnote':
        return { ...block, children: block.children.map(linkBlock) }
      case 'list':
        return { ...block, items: block.items.map((item) => ({ ...item, children: item.children.map(linkBlock) })) }
      case 'table':
        return { ...block, head: block.head.map(linkInlines), rows: block.rows.map((row) => row.map(linkInlines)) }
      default:
        return block
    }
  }
  return blocks.map(linkBlock)
}
