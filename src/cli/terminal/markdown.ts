/** Renders Markdown for a terminal: wrapped text, aligned tables, coloured code. */
import { styleText } from 'node:util'
import { highlightCode } from '../../markdown/highlight-code.ts'
import type { CodeTokenKind } from '../../markdown/highlight-code.ts'
import { parseMarkdown } from '../../markdown/parse-markdown.ts'
import { toPlainText } from '../../markdown/plain-text.ts'
import type { Block, Inline, List, Table, TableCell } from '../../markdown/markdown-tree.ts'
import { measureWidth } from '../../system/terminal/measure-width.ts'
import { wrapStyledText } from '../../system/terminal/wrap-text.ts'
import type { StyledText } from '../../system/terminal/wrap-text.ts'
import type { OutputSink } from '../context.ts'
import { formatHyperlink } from './hyperlink.ts'
import { sanitizeText } from './sanitize-text.ts'

/** Names of `util.styleText`, separated by spaces; empty for none. `link:` and an address make the text a link. */
type Style = string
type Piece = StyledText<Style>
/** A line of a view: each piece is printed with its style. */
type Line = readonly Piece[]

/** Longer lines of prose are hard to read; tables and code may be wider. */
const maxProseColumns = 100

/** Lines end with a line feed. Every text of the tree is sanitized here, because `&#13;` becomes a control character only in the tree. */
export function renderMarkdown(text: string, view: MarkdownTerminal): string {
  return parseMarkdown(text)
    .map((block) => renderBlock(block, view))
    .join('\n')
}

/** The width of the view, and whether addresses become links of the terminal. */
export type MarkdownTerminal = Pick<OutputSink, 'columns' | 'hyperlinks'>

export function renderBlock(block: Block, view: MarkdownTerminal): string {
  return layoutBlock(block, Math.max(10, view.columns))
    .map(
      (line) =>
        `${line
          .map((piece) => paint(piece, view))
          .join('')
          .trimEnd()}\n`,
    )
    .join('')
}

function layoutBlock(block: Block, columns: number): readonly Line[] {
  switch (block.kind) {
    case 'paragraph':
      return layoutText(toPieces(block.children, ''), columns)
    case 'heading':
      return layoutText(toPieces(block.children, block.level === 1 ? 'bold underline' : 'bold'), columns)
    case 'code':
      return layoutCode(block.text, block.language, columns)
    case 'quote':
      return indent(layoutBlocks(block.children, columns - 2), [{ text: '│ ', style: 'dim' }], [{ text: '│ ', style: 'dim' }])
    case 'list':
      return layoutList(block, columns)
    case 'table':
      return layoutTable(block, columns)
    case 'rule':
      return [[createRule(columns)]]
    case 'math':
      return clean(block.text)
        .split('\n')
        .map((line) => [{ text: `  ${line}`, style: 'cyan' }])
    case 'footnote': {
      const label = `[^${clean(block.label)}] `
      return indent(layoutBlocks(block.children, columns - 4), [{ text: label, style: 'dim' }], [{ text: '    ', style: '' }])
    }
  }
}

function layoutBlocks(blocks: readonly Block[], columns: number): readonly Line[] {
  return blocks.flatMap((block, at) => [...(at === 0 ? [] : [[]]), ...layoutBlock(block, Math.max(10, columns))])
}

function layoutText(pieces: readonly Piece[], columns: number): readonly Line[] {
  return wrapStyledText(pieces, Math.min(columns, maxProseColumns))
}

function toPieces(inlines: readonly Inline[], style: Style): readonly Piece[] {
  return inlines.flatMap((inline) => toInlinePieces(inline, style))
}

function toInlinePieces(inline: Inline, style: Style): readonly Piece[] {
  switch (inline.kind) {
    case 'text':
      return [{ text: joinLines(clean(inline.text)), style }]
    case 'emphasis':
      return toPieces(inline.children, addStyle(style, 'italic'))
    case 'strong':
      return toPieces(inline.children, addStyle(style, 'bold'))
    case 'strikethrough':
      return toPieces(inline.children, addStyle(style, 'strikethrough'))
    case 'inline-code':
    case 'inline-math':
      return [{ text: joinLines(clean(inline.text)), style: addStyle(style, 'cyan') }]
    case 'link':
      return toLinkPieces(inline.url, toPieces(inline.children, style), toPlainText(inline.children), style)
    case 'image':
      return toLinkPieces(inline.url, [{ text: joinLines(clean(inline.alt)), style }], inline.alt, style)
    case 'break':
      return [{ text: '\n', style }]
    case 'footnote-reference':
      return [{ text: `[^${clean(inline.label)}]`, style: addStyle(style, 'dim') }]
  }
}

/** The address is always visible: a label may claim any other. */
function toLinkPieces(url: string, label: readonly Piece[], words: string, style: Style): readonly Piece[] {
  const address = clean(url)
  const link = `link:${address.replaceAll(/\s/g, '%20')}`
  const addressPiece = { text: address, style: addStyle(addStyle(style, 'underline'), link) }
  const isSame = [address, address.replace(/\/$/, ''), address.replace(/^mailto:/, '')].includes(words)
  if (isSame || words === '') return [addressPiece]
  const linkedPieces = label.map((piece) => ({ ...piece, style: addStyle(piece.style, link) }))
  return [...linkedPieces, { text: ' (', style }, addressPiece, { text: ')', style }]
}

/** A line break of the source is a space, and nothing between Chinese or Japanese characters. */
function joinLines(text: string): string {
  return text
    .replaceAll(
      /(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef])\n(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef])/gu,
      '',
    )
    .replaceAll('\n', ' ')
}

/** Lines of code are not wrapped and not indented, so that they can be copied. */
function layoutCode(text: string, language: string, columns: number): readonly Line[] {
  const rule = createRule(columns)
  const name = clean(language)
  const head =
    name === ''
      ? rule
      : { text: `── ${name} ${'─'.repeat(Math.max(0, measureWidth(rule.text) - measureWidth(name) - 4))}`, style: 'dim' }
  const lines: Piece[][] = [[]]
  for (const { text: part, kind } of highlightCode(clean(text), language)) {
    for (const [at, words] of part.split('\n').entries()) {
      if (at > 0) lines.push([])
      if (words !== '') lines.at(-1)?.push({ text: words, style: kind === null ? '' : codeStyles[kind] })
    }
  }
  return [[head], ...lines, [rule]]
}

const codeStyles: Readonly<Record<CodeTokenKind, Style>> = {
  comment: 'dim',
  keyword: 'magenta',
  string: 'green',
  number: 'yellow',
  name: 'blue',
  type: 'cyan',
  operator: '',
  inserted: 'green',
  deleted: 'red',
}

function layoutList({ start, tight, items }: List, columns: number): readonly Line[] {
  const widest = start === null ? 0 : String(start + items.length - 1).length
  return items.flatMap(({ checked, children }, at) => {
    const marker = start === null ? '•' : `${start + at}.`.padStart(widest + 1)
    const box = checked === null ? '' : checked ? '☑ ' : '☐ '
    const head = `${checked === null || start !== null ? `${marker} ` : ''}${box}`
    const width = measureWidth(head)
    const blocks = children.flatMap((child, index) => [
      ...(index === 0 || tight ? [] : [[]]),
      ...layoutBlock(child, Math.max(10, columns - width)),
    ])
    const lines = indent(
      blocks.length === 0 ? [[]] : blocks,
      [{ text: head, style: '' }],
      [{ text: ' '.repeat(width), style: '' }],
    )
    return at === 0 || tight ? lines : [[], ...lines]
  })
}

function indent(lines: readonly Line[], first: Line, rest: Line): readonly Line[] {
  return lines.map((line, at) => [...(at === 0 ? first : rest), ...line])
}

const gap = 3
const minCellColumns = 6

/** A table that cannot be drawn within the width becomes a list of its rows. */
function layoutTable(table: Table, columns: number): readonly Line[] {
  const rows = [
    table.head.map((cell) => toPieces(cell, 'bold')),
    ...table.rows.map((row) => row.map((cell) => toPieces(cell, ''))),
  ]
  const widths = fitColumns(
    table.columns.map((_, at) => rows.reduce((widest, row) => Math.max(widest, measurePieces(row[at] ?? [])), 1)),
    columns - gap * (table.columns.length - 1),
  )
  if (widths === undefined) return layoutRecords(table, columns)
  const drawnRows = rows.map((row) => layoutRow(row, widths, table))
  const [head = [], ...body] = drawnRows
  return [...head, [{ text: widths.map((width) => '─'.repeat(width)).join('─┼─'), style: 'dim' }], ...body.flat()]
}

/** The widest columns give way; undefined where not all can have their least width. */
function fitColumns(natural: readonly number[], available: number): readonly number[] | undefined {
  const least = natural.reduce((sum, width) => sum + Math.min(width, minCellColumns), 0)
  if (least > available) return undefined
  let limit = Math.min(available, Math.max(...natural))
  while (natural.reduce((sum, width) => sum + Math.min(width, limit), 0) > available) limit -= 1
  return natural.map((width) => Math.min(width, limit))
}

function layoutRow(row: readonly (readonly Piece[])[], widths: readonly number[], { columns }: Table): readonly Line[] {
  const cells = widths.map((width, at) => wrapStyledText(row[at] ?? [], width, { cutsWords: true }))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) =>
    widths.flatMap((width, at) => {
      const pieces = cells[at]?.[line] ?? []
      const free = Math.max(0, width - measurePieces(pieces))
      const align = columns[at] ?? 'left'
      const before = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0
      return [
        ...(at === 0 ? [] : [{ text: ' │ ', style: 'dim' }]),
        { text: ' '.repeat(before), style: '' },
        ...pieces,
        { text: ' '.repeat(free - before), style: '' },
      ]
    }),
  )
}

function layoutRecords({ head, rows }: Table, columns: number): readonly Line[] {
  const toRecord = (cell: TableCell, at: number): readonly Line[] =>
    layoutText([...toPieces(head[at] ?? [], 'bold'), { text: ': ', style: '' }, ...toPieces(cell, '')], columns)
  return rows.flatMap((row, at) => [...(at === 0 ? [] : [[]]), ...row.flatMap(toRecord)])
}

function measurePieces(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + measureWidth(text), 0)
}

function createRule(columns: number): Piece {
  return { text: '─'.repeat(Math.min(40, columns)), style: 'dim' }
}

function addStyle(style: Style, name: string): Style {
  return style.split(' ').includes(name) ? style : `${style} ${name}`.trim()
}

function clean(text: string): string {
  return sanitizeText(text).replaceAll('\t', '    ')
}

function paint({ text, style }: Piece, { hyperlinks }: MarkdownTerminal): string {
  if (style === '' || text === '') return text
  const names = style.split(' ')
  const address = names.find((name) => name.startsWith('link:'))?.slice('link:'.length)
  const styles = names.filter((name) => !name.startsWith('link:')) as Parameters<typeof styleText>[0]
  // The caller has decided to use styles; Node's own check of its standard output does not apply here.
  const paintedText = styles.length === 0 ? text : styleText(styles, text, { validateStream: false })
  return address !== undefined && hyperlinks ? formatHyperlink(address, paintedText) : paintedText
}
