/**
 * The tree of a Markdown text as elements. Model output is untrusted: every node is built from text, and a picture loads from the given
 * origins alone; any other one becomes a link to it.
 */
import type { Block, Inline, List, Table, TableCell } from '../../../markdown/markdown-tree.ts'
import { createCodeBlock, createElement, getTexts } from '../page.ts'

const texts = getTexts('chat')

export interface MarkdownContext {
  /** From where pictures may be shown. */
  readonly imageOrigins: readonly string[]
  /** Begins the ids of footnotes, which are unique on the page. */
  readonly idPrefix: string
  /** Of the footnotes that the text has. */
  readonly footnotes: ReadonlySet<string>
}

export function findFootnotes(blocks: readonly Block[]): ReadonlySet<string> {
  return new Set(blocks.flatMap((block) => (block.kind === 'footnote' ? [block.label] : [])))
}

/** Code and formulas are text at first; `markdown-extras.ts` gives them colours and signs. */
export function renderBlock(block: Block, context: MarkdownContext): HTMLElement {
  switch (block.kind) {
    case 'paragraph':
      return createElement('p', {}, ...renderInlines(block.children, context))
    case 'heading':
      // The page's own headings are one and two; an answer's begin below them.
      return createElement(headings[block.level] ?? 'h6', {}, ...renderInlines(block.children, context))
    case 'code': {
      const node = createCodeBlock(block.language === '' ? texts.code : block.language, block.text)
      node.dataset['language'] = block.language
      return node
    }
    case 'quote':
      return createElement('blockquote', {}, ...renderBlocks(block.children, context))
    case 'list':
      return renderList(block, context)
    case 'table':
      return renderTable(block, context)
    case 'rule':
      return createElement('hr')
    case 'math':
      return createElement('div', { class: 'formula', 'data-formula': 'block' }, block.text)
    case 'footnote':
      return createElement(
        'div',
        { class: 'footnote', id: toFootnoteId(block.label, context), 'data-label': block.label },
        createElement('sup', {}, block.label),
        createElement('div', {}, ...renderBlocks(block.children, context)),
      )
  }
}

function renderBlocks(blocks: readonly Block[], context: MarkdownContext): HTMLElement[] {
  return blocks.map((block) => renderBlock(block, context))
}

const headings: Readonly<Record<number, 'h3' | 'h4' | 'h5'>> = { 1: 'h3', 2: 'h4', 3: 'h5' }

function renderList({ start, tight, items }: List, context: MarkdownContext): HTMLElement {
  const children = items.map(({ checked, children }) => {
    const box =
      checked !== null &&
      createElement('input', { type: 'checkbox', disabled: true, checked, 'aria-label': checked ? texts.done : texts.open })
    // The paragraph of a tight list's item has no margins.
    const nodes = children.flatMap((block): Node[] =>
      tight && block.kind === 'paragraph' ? toNodes(renderInlines(block.children, context)) : [renderBlock(block, context)],
    )
    return createElement('li', checked === null ? {} : { class: 'task' }, box, ...nodes)
  })
  return start === null
    ? createElement('ul', { 'data-loose': !tight }, ...children)
    : createElement('ol', { start: start === 1 ? null : start, 'data-loose': !tight }, ...children)
}

function toNodes(children: readonly (string | Node)[]): Node[] {
  return children.map((child) => (typeof child === 'string' ? document.createTextNode(child) : child))
}

function renderTable({ columns, head, rows }: Table, context: MarkdownContext): HTMLElement {
  const renderRow = (name: 'th' | 'td', cells: readonly TableCell[]): HTMLElement =>
    createElement(
      'tr',
      {},
      ...cells.map((cell, at) => {
        const alignment = columns[at] ?? null
        return createElement(name, { class: alignment && `to-${alignment}` }, ...renderInlines(cell, context))
      }),
    )
  return createElement(
    'div',
    { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': texts.table },
    createElement(
      'table',
      {},
      createElement('thead', {}, renderRow('th', head)),
      createElement('tbody', {}, ...rows.map((row) => renderRow('td', row))),
    ),
  )
}

function renderInlines(inlines: readonly Inline[], context: MarkdownContext): (string | Node)[] {
  return inlines.map((inline) => renderInline(inline, context))
}

function renderInline(inline: Inline, context: MarkdownContext): string | Node {
  switch (inline.kind) {
    case 'text':
      return inline.text
    case 'emphasis':
      return createElement('em', {}, ...renderInlines(inline.children, context))
    case 'strong':
      return createElement('strong', {}, ...renderInlines(inline.children, context))
    case 'strikethrough':
      return createElement('del', {}, ...renderInlines(inline.children, context))
    case 'inline-code':
      return createElement('code', {}, inline.text)
    case 'inline-math':
      return createElement('span', { class: 'formula', 'data-formula': 'inline' }, inline.text)
    case 'link':
      return renderLink(inline.url, renderInlines(inline.children, context))
    case 'image':
      return renderImage(inline, context)
    case 'break':
      return createElement('br')
    case 'footnote-reference':
      if (!context.footnotes.has(inline.label)) return `[^${inline.label}]`
      return createElement('sup', {}, createElement('a', { href: `#${toFootnoteId(inline.label, context)}` }, inline.label))
  }
}

function toFootnoteId(label: string, { idPrefix }: MarkdownContext): string {
  return `${idPrefix}-${encodeURIComponent(label)}`
}

/** A link of the tree; its address has the scheme http, https or mailto. */
export function renderLink(href: string, children: readonly (string | Node)[]): HTMLElement {
  return createElement('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children)
}

function renderImage({ url, alt }: Inline & { readonly kind: 'image' }, { imageOrigins }: MarkdownContext): HTMLElement {
  const { origin, pathname } = new URL(url)
  if (!imageOrigins.includes(origin) || !pathname.startsWith('/v1/images/')) return renderLink(url, [alt === '' ? url : alt])
  const image = createElement('img', { src: url, alt: alt === '' ? texts.picture : alt, loading: 'lazy', decoding: 'async' })
  const link = createElement('a', { href: url, target: '_blank', rel: 'noopener', class: 'picture' }, image)
  // Kept while the text around it grows, as the picture of a link that expired would be asked for again and again.
  image.addEventListener('error', () =>
    image.replaceWith(createElement('span', { class: 'sub' }, `${alt} (${texts.pictureLost})`)),
  )
  return link
}

/** The address as it is followed, or null where it is none that a link may have. */
export function toSafeUrl(url: string): string | null {
  try {
    const { protocol, href } = new URL(url)
    return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? href : null
  } catch {
    return null
  }
}
