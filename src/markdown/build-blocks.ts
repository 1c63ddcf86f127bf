/** Turns the parser's tokens, a flat list with opening and closing ones, into the tree. */
import { toPlainText } from './plain-text.ts'
import type { Alignment, Block, Inline, ListItem, TableCell } from './markdown-tree.ts'
import type { Token } from 'markdown-it'

interface PlacedBlock {
  readonly block: Block
  /** The line of the source at which it begins, from 0. */
  readonly line: number
}

export function buildBlocks(tokens: readonly Token[]): PlacedBlock[] {
  return collectBlocks({ tokens, at: 0 }, '')
}

/** A place in the list, moved forward as tokens are read. */
interface Reader {
  readonly tokens: readonly Token[]
  at: number
}

/** Reads up to the closing token and past it. */
function collectBlocks(reader: Reader, closing: string): PlacedBlock[] {
  const blocks: PlacedBlock[] = []
  for (let token = next(reader); token !== undefined && token.type !== closing; token = next(reader)) {
    const line = token.map?.[0] ?? 0
    const block = buildBlock(token, reader)
    if (block !== undefined) blocks.push({ block, line })
  }
  return blocks
}

function next(reader: Reader): Token | undefined {
  const token = reader.tokens[reader.at]
  reader.at += 1
  return token
}

function readBlocks(reader: Reader, closing: string): Block[] {
  return collectBlocks(reader, closing).map(({ block }) => block)
}

function buildBlock(token: Token, reader: Reader): Block | undefined {
  switch (token.type) {
    case 'paragraph_open':
      return { kind: 'paragraph', children: readInlines(reader, 'paragraph_close') }
    case 'heading_open':
      return { kind: 'heading', level: Number(token.tag.slice(1)), children: readInlines(reader, 'heading_close') }
    case 'fence':
      return { kind: 'code', language: /\S+/.exec(token.info)?.[0] ?? '', text: token.content.replace(/\n$/, '') }
    case 'code_block':
      return { kind: 'code', language: '', text: token.content.replace(/\n$/, '') }
    case 'blockquote_open':
      return { kind: 'quote', children: readBlocks(reader, 'blockquote_close') }
    case 'bullet_list_open':
      return readList(reader, null, 'bullet_list_close')
    case 'ordered_list_open':
      return readList(reader, Number(token.attrGet('start') ?? 1), 'ordered_list_close')
    case 'table_open':
      return readTable(reader)
    case 'hr':
      return { kind: 'rule' }
    case 'math':
      return { kind: 'math', text: token.content }
    case 'footnote_open':
      return { kind: 'footnote', label: token.content, children: readBlocks(reader, 'footnote_close') }
    case 'too_deep':
      return { kind: 'paragraph', children: [{ kind: 'text', text: token.content }] }
    default:
      return undefined
  }
}

function readInlines(reader: Reader, closing: string): Inline[] {
  let inlines: Inline[] = []
  for (let token = next(reader); token !== undefined && token.type !== closing; token = next(reader))
    inlines = inlines.concat(buildInlines(token.children ?? []))
  return inlines
}

function readList(reader: Reader, start: number | null, closing: string): Block {
  const items: ListItem[] = []
  let tight = true
  for (let token = next(reader); token !== undefined && token.type !== closing; token = next(reader)) {
    const first = reader.tokens[reader.at]
    if (first?.type === 'paragraph_open' && !first.hidden) tight = false
    items.push(toListItem(readBlocks(reader, 'list_item_close')))
  }
  return { kind: 'list', start, tight, items }
}

const taskMark = /^\[([ xX])\](?:[ \n]|$)/

function toListItem(children: readonly Block[]): ListItem {
  const [first, ...rest] = children
  if (first?.kind !== 'paragraph') return { checked: null, children }
  const [text, ...others] = first.children
  const mark = text?.kind === 'text' ? taskMark.exec(text.text) : null
  if (text?.kind !== 'text' || mark === null) return { checked: null, children }
  const words = text.text.slice(mark[0].length)
  const paragraph: Block = { kind: 'paragraph', children: [...(words === '' ? [] : [{ ...text, text: words }]), ...others] }
  return { checked: mark[1] !== ' ', children: [paragraph, ...rest] }
}

function readTable(reader: Reader): Block {
  const columns: Alignment[] = []
  const rows: TableCell[][] = []
  for (let token = next(reader); token !== undefined && token.type !== 'table_close'; token = next(reader)) {
    if (token.type === 'tr_open') rows.push([])
    if (token.type === 'th_open') columns.push(toAlignment(token))
    if (token.type === 'th_open' || token.type === 'td_open') rows.at(-1)?.push(readInlines(reader, `${token.tag}_close`))
  }
  const [head = [], ...body] = rows
  return { kind: 'table', columns, head, rows: body }
}

function toAlignment(token: Token): Alignment {
  const style = String(token.attrGet('style') ?? '')
  return (['left', 'center', 'right'] as const).find((side) => style.endsWith(side)) ?? null
}

/** Emphasis nested deeper than this is left out; the words stay. */
const maxInlineDepth = 24

interface OpenNode {
  readonly children: Inline[]
  /** Puts the node into its parent when it is closed. */
  readonly close: (children: readonly Inline[]) => readonly Inline[]
}

function buildInlines(tokens: readonly Token[]): Inline[] {
  const root: Inline[] = []
  const open: OpenNode[] = []
  const add = (nodes: readonly Inline[]) => {
    const siblings = open.at(-1)?.children ?? root
    for (const node of nodes) {
      const last = siblings.at(-1)
      if (node.kind === 'text' && last?.kind === 'text')
        siblings[siblings.length - 1] = { kind: 'text', text: last.text + node.text }
      else if (node.kind !== 'text' || node.text !== '') siblings.push(node)
    }
  }
  let tooDeep = 0
  for (const token of tokens) {
    if (token.nesting === 1 && open.length >= maxInlineDepth) tooDeep += 1
    else if (token.nesting === 1) open.push({ children: [], close: createCloser(token) })
    else if (token.nesting === -1 && tooDeep > 0) tooDeep -= 1
    else if (token.nesting === -1) {
      const node = open.pop()
      if (node !== undefined) add(node.close(node.children))
    } else add([buildLeaf(token)])
  }
  for (let node = open.pop(); node !== undefined; node = open.pop()) add(node.children)
  return root
}

const spans = { em_open: 'emphasis', strong_open: 'strong', s_open: 'strikethrough' } as const

function createCloser(token: Token): OpenNode['close'] {
  const { type } = token
  if (type === 'link_open') {
    const address = String(token.attrGet('href') ?? '')
    const url = toWebAddress(address)
    return (children) => (url === null ? [...children, ...describeAddress(address)] : [{ kind: 'link', url, children }])
  }
  const kind = type in spans ? spans[type as keyof typeof spans] : undefined
  return (children) => (kind === undefined ? children : [{ kind, children }])
}

function buildLeaf(token: Token): Inline {
  switch (token.type) {
    case 'code_inline':
      return { kind: 'inline-code', text: token.content }
    case 'inline_math':
      return { kind: 'inline-math', text: token.content }
    case 'softbreak':
      return { kind: 'text', text: '\n' }
    case 'hardbreak':
      return { kind: 'break' }
    case 'footnote_reference':
      return { kind: 'footnote-reference', label: token.content }
    case 'image':
      return buildImage(token)
    default:
      return { kind: 'text', text: token.content }
  }
}

function buildImage(token: Token): Inline {
  const url = toWebAddress(String(token.attrGet('src') ?? ''))
  const alt = toPlainText(buildInlines(token.children ?? []))
  return url === null ? { kind: 'text', text: alt } : { kind: 'image', url, alt }
}

/** Null for an address that a link must not have: `javascript:`, `data:`, a path without a site. */
function toWebAddress(address: string): string | null {
  try {
    const { protocol, href } = new URL(address)
    return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? href : null
  } catch {
    return null
  }
}

/** An address that is no link is shown behind its label, so that nothing is lost, unless it is data. */
function describeAddress(address: string): Inline[] {
  return address === '' || address.startsWith('data:') ? [] : [{ kind: 'text', text: ` (${address})` }]
}
