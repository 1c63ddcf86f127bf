/** Markdown of ours and of the operator as HTML: documentation, terms, privacy. `src/markdown/` has the tree. */
import { highlightCode } from '../markdown/highlight-code.ts'
import type { Block, Inline, ListItem, TableCell } from '../markdown/markdown-tree.ts'
import { parseMarkdown } from '../markdown/parse-markdown.ts'
import { toPlainText } from '../markdown/plain-text.ts'
import { renderCodeBlock } from './components/code-block.ts'
import { renderDataTable } from './components/data-table.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { interpolate } from './page.ts'
import type { PageContext } from './page.ts'

export interface Heading {
  readonly id: string
  readonly level: number
  readonly text: string
}

export interface RenderedMarkdown {
  readonly content: Html
  readonly headings: readonly Heading[]
}

/**
 * A heading may name its anchor, the same in every language: `## Limits {#limits}`. A code fence may name its title after the language:
 * ` ```toml:config.toml `. Links to the site's own address become links within the site.
 */
export function renderMarkdown(context: PageContext, source: string): RenderedMarkdown {
  const renderer: Renderer = { context, headings: [], codeTitles: new Map() }
  return { content: html`${parseMarkdown(source).map((block) => renderBlock(block, renderer))}`, headings: renderer.headings }
}

/** The same text for programs that read Markdown: without anchors and titles of code. */
export function toPlainMarkdown(source: string): string {
  return source.replaceAll(/^(#+ .*?) \{#[\w-]+\}$/gm, '$1').replaceAll(/^(```[\w-]+):\S+$/gm, '$1')
}

interface Renderer {
  readonly context: PageContext
  readonly headings: Heading[]
  /** How often each title of a code block came. */
  readonly codeTitles: Map<string, number>
}

function renderBlock(block: Block, renderer: Renderer): Html {
  const blocks = (children: readonly Block[]): Html[] => children.map((child) => renderBlock(child, renderer))
  const inlines = (children: readonly Inline[]): Html[] => children.map((child) => renderInline(child, renderer))
  switch (block.kind) {
    case 'paragraph':
      return html`<p>${inlines(block.children)}</p>`
    case 'heading':
      return renderHeading(block.level, block.children, renderer)
    case 'code':
      return renderCode(block.text, block.language, renderer)
    case 'quote':
      return html`<blockquote>${blocks(block.children)}</blockquote>`
    case 'list': {
      const items = block.items.map((item) => renderItem(item, block.tight, renderer))
      return block.start === null
        ? html`<ul>
            ${items}
          </ul>`
        : html`<ol start="${block.start}">
            ${items}
          </ol>`
    }
    case 'table':
      return renderTable(block.head, block.rows, renderer)
    case 'rule':
      return html`<hr />`
    case 'math':
      return html`<pre>${block.text}</pre>`
    case 'footnote':
      return html`<div class="sub">${blocks(block.children)}</div>`
  }
}

function renderHeading(level: number, children: readonly Inline[], renderer: Renderer): Html {
  const headingText = toPlainText(children)
  const [, anchor] = / \{#([\w-]+)\}$/.exec(headingText) ?? []
  const text = headingText.replace(/ \{#[\w-]+\}$/, '')
  if (level === 1) return html`<h1>${text}</h1>`
  const id = anchor ?? text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')
  renderer.headings.push({ id, level, text })
  const label = interpolate(renderer.context.t.docs.linkTo, { heading: text })
  const link = html`<a class="heading-link" href="#${id}" aria-label="${label}">#</a>`
  return level === 2 ? html`<h2 id="${id}">${text} ${link}</h2>` : html`<h3 id="${id}">${text} ${link}</h3>`
}

function renderCode(text: string, info: string, { context, codeTitles }: Renderer): Html {
  const [, language = '', title = language] = /^([^:]*)(?::(.+))?$/.exec(info) ?? []
  const tokens = highlightCode(text, language).map(({ text: token, kind }) =>
    kind === null ? html`${token}` : html`<span class="code-${kind}">${token}</span>`,
  )
  const count = (codeTitles.get(title) ?? 0) + 1
  codeTitles.set(title, count)
  return renderCodeBlock(context, title, html`${tokens}`, count === 1 ? title : `${title} ${count}`)
}

function renderItem({ children }: ListItem, isTight: boolean, renderer: Renderer): Html {
  return html`<li>
    ${children.map((child) =>
      isTight && child.kind === 'paragraph'
        ? html`${child.children.map((inline) => renderInline(inline, renderer))}`
        : renderBlock(child, renderer),
    )}
  </li>`
}

function renderTable(head: readonly TableCell[], rows: readonly (readonly TableCell[])[], renderer: Renderer): Html {
  const cell = (inlines: TableCell): Html => html`${inlines.map((inline) => renderInline(inline, renderer))}`
  return renderDataTable({
    label: toPlainText(head[0] ?? []),
    look: 'card',
    columns: head.map((inlines) => ({ title: toPlainText(inlines), head: cell(inlines) })),
    rows: rows.map(([first = [], ...others]) => {
      const id = findRowAnchor(first)
      const name = id === undefined ? cell(first) : html`<a class="row-link" href="#${id}">${cell(first)}</a>`
      return { id, cells: [name, ...others.map(cell)] }
    }),
  })
}

/** The first cell of a row names it, and a name in code is an anchor: an error code. */
function findRowAnchor(inlines: TableCell): string | undefined {
  const [first] = inlines
  return inlines.length === 1 && first?.kind === 'inline-code' && /^[a-z_]+$/.test(first.text) ? first.text : undefined
}

function renderInline(inline: Inline, renderer: Renderer): Html {
  const children = (of: readonly Inline[]): Html[] => of.map((child) => renderInline(child, renderer))
  switch (inline.kind) {
    case 'text':
      return html`${inline.text}`
    case 'emphasis':
      return html`<em>${children(inline.children)}</em>`
    case 'strong':
      return html`<strong>${children(inline.children)}</strong>`
    case 'strikethrough':
      return html`<s>${children(inline.children)}</s>`
    case 'inline-code':
    case 'inline-math':
      return html`<code>${inline.text}</code>`
    case 'link':
      return html`<a href="${toOwnPath(inline.url, renderer.context)}">${children(inline.children)}</a>`
    case 'image':
      return html`${inline.alt}`
    case 'break':
      return html`<br />`
    case 'footnote-reference':
      return html`[${inline.label}]`
  }
}

function toOwnPath(url: string, { services }: PageContext): string {
  const { site } = services.origins
  return url.startsWith(`${site}/`) ? url.slice(site.length) : url
}
