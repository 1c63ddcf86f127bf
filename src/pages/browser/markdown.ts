/**
 * Markdown to elements. What a model writes is untrusted: every node is built by hand from text, no markup is ever parsed, links lead to
 * http, https or mail only, and pictures are loaded from the given origins alone; any other picture becomes a link to it.
 *
 * By hand because a model's answer may be anything: the lexer of `marked` (18.2) takes 40 s for 30 KB of `a*_`, 9 s for strong text within
 * strong text and overflows the stack on nested quotes, where this takes a tenth of a second and none.
 *
 * A subset of CommonMark that chats use: headings, paragraphs, lists, quotes, fences, tables, rules; emphasis, code, links, pictures.
 */
import { common, element } from './page.ts'

interface Context {
  /** From where pictures may be shown. */
  readonly imageOrigins: readonly string[]
  readonly depth: number
}

type Made = string | Node
/** What was made, and the line after it. */
type Block = readonly [node: HTMLElement, next: number]

export function renderMarkdown(text: string, { imageOrigins }: Pick<Context, 'imageOrigins'>): DocumentFragment {
  const fragment = document.createDocumentFragment()
  fragment.append(...blocks(text.replaceAll('\r\n', '\n').split('\n'), { imageOrigins, depth: 0 }))
  return fragment
}

const levels = ['h2', 'h3', 'h4', 'h5'] as const
const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/
const heading = /^ {0,3}(#{1,6})\s+(.*)$/
const headingEnd = /(?:^|\s)#+$/
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/
const quote = /^ {0,3}>\s?/
const item = /^( *)([-*+]|\d{1,9}[.)])(?:\s+|$)/
const tableRule = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$/
/** Deeper than this, lists and quotes are shown as plain text: nobody means it, and a browser's patience is finite. */
const deepest = 12

function blocks(lines: readonly string[], context: Context): HTMLElement[] {
  const nodes: HTMLElement[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      at += 1
      continue
    }
    const [node, next] = block(lines, at, context)
    nodes.push(node)
    at = next
  }
  return nodes
}

function block(lines: readonly string[], at: number, context: Context): Block {
  const line = lines[at] ?? ''
  const fenced = fence.exec(line)
  if (fenced !== null) return codeFence(lines, at, fenced)
  const titled = heading.exec(line)
  // The page's own headings are one and two; an answer's begin below them.
  if (titled !== null)
    return [element(levels[titled[1]?.length ?? 0] ?? 'h6', {}, ...inline(titleOf(titled[2] ?? ''), context)), at + 1]
  if (rule.test(line)) return [element('hr'), at + 1]
  if (context.depth < deepest && quote.test(line)) return quoted(lines, at, context)
  if (context.depth < deepest && item.test(line)) return list(lines, at, context)
  if (line.includes('|') && tableRule.test((lines[at + 1] ?? '').trim())) return grid(lines, at, context)
  return paragraph(lines, at, context)
}

/** Cut in steps: one pattern for text, gap and closing marks would try every way to part a long gap among them. */
function titleOf(text: string): string {
  return text.trimEnd().replace(headingEnd, '').trimEnd()
}

function codeFence(lines: readonly string[], at: number, [, marks = '', language = '']: RegExpExecArray): Block {
  const closing = new RegExp(`^ {0,3}${marks[0] === '`' ? '`' : '~'}{${marks.length},}\\s*$`)
  let end = at + 1
  while (end < lines.length && !closing.test(lines[end] ?? '')) end += 1
  const code = lines.slice(at + 1, end).join('\n')
  return [
    element(
      'div',
      { class: 'code-block' },
      element(
        'div',
        { class: 'code-head' },
        element('span', {}, language),
        element('button', { type: 'button', 'data-copy': '' }, common.copy),
      ),
      element('pre', { tabindex: '0' }, element('code', {}, code)),
    ),
    end + 1,
  ]
}

function quoted(lines: readonly string[], at: number, context: Context): Block {
  let end = at
  const inner: string[] = []
  for (let line = lines[end]; line !== undefined && line.trim() !== ''; line = lines[end]) {
    inner.push(line.replace(quote, ''))
    end += 1
  }
  return [element('blockquote', {}, ...blocks(inner, { ...context, depth: context.depth + 1 })), end]
}

function list(lines: readonly string[], at: number, context: Context): Block {
  const [, indent = '', marker = ''] = item.exec(lines[at] ?? '') ?? []
  const ordered = /\d/.test(marker)
  const items: HTMLElement[] = []
  let end = at
  while (end < lines.length) {
    const [found, lead = '', sign = ''] = item.exec(lines[end] ?? '') ?? []
    if (found === undefined || lead.length > indent.length + 1 || lead.length < indent.length || /\d/.test(sign) !== ordered)
      break
    const width = found.length
    const inner = [(lines[end] ?? '').slice(width)]
    end += 1
    // What is indented under an item, blank lines between included, belongs to it.
    while (end < lines.length) {
      const line = lines[end] ?? ''
      const indented = line.length - line.trimStart().length
      const blank = line.trim() === ''
      if (blank && (lines[end + 1] ?? '').trim() !== '' && leads(lines[end + 1] ?? '') > indent.length) inner.push('')
      else if (!blank && indented > indent.length) inner.push(line.slice(Math.min(indented, width)))
      else if (!blank && !startsBlock(line) && (lines[end - 1] ?? '').trim() !== '') inner.push(line)
      else break
      end += 1
    }
    items.push(listItem(inner, context))
    while (
      end < lines.length &&
      (lines[end] ?? '').trim() === '' &&
      item.test(lines[end + 1] ?? '') &&
      leads(lines[end + 1] ?? '') === indent.length
    )
      end += 1
  }
  const start = ordered && marker.slice(0, -1) !== '1' ? Number(marker.slice(0, -1)) : null
  return [element(ordered ? 'ol' : 'ul', { start }, ...items), end]
}

function listItem(lines: readonly string[], context: Context): HTMLElement {
  const children = blocks(lines, { ...context, depth: context.depth + 1 })
  const [first, ...rest] = children
  // An item of one paragraph reads better without the paragraph's margins.
  return first?.nodeName === 'P' ? element('li', {}, ...first.childNodes, ...rest) : element('li', {}, ...children)
}

function leads(line: string): number {
  return line.length - line.trimStart().length
}

function startsBlock(line: string): boolean {
  return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || item.test(line)
}

function grid(lines: readonly string[], at: number, context: Context): Block {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((text) => text.replaceAll('\\|', '|').trim())
  const head = cells(lines[at] ?? '')
  const rows: string[][] = []
  let end = at + 2
  while (end < lines.length && (lines[end] ?? '').includes('|')) {
    rows.push(cells(lines[end] ?? ''))
    end += 1
  }
  // No more cells than were written: a wide head over many short rows would be millions of empty ones.
  const row = (name: 'th' | 'td', texts: readonly string[]) =>
    element('tr', {}, ...texts.slice(0, head.length).map((text) => element(name, {}, ...inline(text, context))))
  return [
    element(
      'div',
      { class: 'table-box', tabindex: '0' },
      element('table', {}, element('thead', {}, row('th', head)), element('tbody', {}, ...rows.map((texts) => row('td', texts)))),
    ),
    end,
  ]
}

function paragraph(lines: readonly string[], at: number, context: Context): Block {
  let end = at + 1
  while (end < lines.length && (lines[end] ?? '').trim() !== '' && !startsBlock(lines[end] ?? '')) end += 1
  const children = lines
    .slice(at, end)
    .flatMap((line, place) => [
      ...(place === 0 ? [] : [/(?: {2}|\\)$/.test(lines[at + place - 1] ?? '') ? element('br') : ' ']),
      ...inline(line.trim().replace(/\\$/, ''), context),
    ])
  return [element('p', {}, ...children), end]
}

/**
 * Marks that stand around a text. Their ends are sought by hand, and not again once there is none left: a pattern would look through the
 * rest of the text at every beginning, which for an answer of nothing but beginnings takes seconds.
 */
interface Pair {
  readonly mark: string
  readonly name: 'strong' | 'del'
  readonly endsWord: boolean
}
const pairs: readonly Pair[] = [
  { mark: '**', name: 'strong', endsWord: false },
  { mark: '__', name: 'strong', endsWord: true },
  { mark: '~~', name: 'del', endsWord: false },
]

/** The first of these that matches is taken; what lies between matches is text. Each looks only so far. */
const spans: readonly { readonly mark: RegExp; readonly make: (match: RegExpExecArray, context: Context) => Made }[] = [
  {
    mark: /^!\[([^\]]{0,300})\]\(\s{0,9}<?(?=([^\s)>]{1,2000}))\2>?(?:\s{1,9}"[^"]{0,500}")?\s{0,9}\)/,
    make: ([, alt = '', url = ''], context) => picture(alt, url, context),
  },
  {
    mark: /^\[((?:[^[\]]|\[[^[\]]{0,200}\]){0,300})\]\(\s{0,9}<?(?=([^\s)>]{1,2000}))\2>?(?:\s{1,9}"[^"]{0,500}")?\s{0,9}\)/,
    make: ([, label = '', url = ''], context) => anchor(url, inline(label, { ...context, depth: context.depth + 1 })),
  },
  { mark: /^<(https?:\/\/[^\s<>]{1,2000})>/, make: ([, url = '']) => anchor(url, [url]) },
  { mark: /^\*(?=[^\s*])([^*]+?)(?<=\S)\*/, make: ([, text = ''], context) => element('em', {}, ...deeper(text, context)) },
  { mark: /^_(?=[^\s_])([^_]+?)(?<=\S)_(?!\w)/, make: ([, text = ''], context) => element('em', {}, ...deeper(text, context)) },
  { mark: /^https?:\/\/[^\s<>()[\]]{0,2000}[^\s<>()[\].,;:!?'"*_~]/, make: ([url]) => anchor(url, [url]) },
  { mark: /^\\([!-/:-@[-`{-~])/, make: ([, character = '']) => character },
]
const maybe = /[`![<*_~\\]|https?:\/\//g

function deeper(text: string, context: Context): Made[] {
  return inline(text, { ...context, depth: context.depth + 1 })
}

function inline(text: string, context: Context): Made[] {
  if (context.depth > deepest) return [text]
  const nodes: Made[] = []
  /** Marks of which no end is left. */
  const over = new Set<string>()
  let done = 0
  for (let found = nextMark(text, 0); found !== -1; found = nextMark(text, found)) {
    const span = spanAt(text, found, over, context)
    if (typeof span === 'number') {
      found += span
      continue
    }
    if (found > done) nodes.push(text.slice(done, found))
    nodes.push(span.node)
    found = span.end
    done = found
  }
  if (done < text.length) nodes.push(text.slice(done))
  return nodes
}

interface Span {
  readonly node: Made
  readonly end: number
}

/** What begins here and where it ends; or how many characters mean nothing. */
function spanAt(text: string, at: number, over: Set<string>, context: Context): Span | number {
  if (text[at] === '`') return codeAt(text, at, over)
  if (text[at] === '_' && /\w/.test(text[at - 1] ?? '')) return 1
  const pair = pairs.find(({ mark }) => text.startsWith(mark, at) && !over.has(mark) && /\S/.test(text[at + 2] ?? ''))
  const end = pair === undefined ? -1 : pairEnd(text, pair, at + 3)
  if (pair !== undefined && end !== -1)
    return { node: element(pair.name, {}, ...deeper(text.slice(at + 2, end), context)), end: end + 2 }
  if (pair !== undefined) over.add(pair.mark)
  const rest = text.slice(at, at + 20_000)
  for (const { mark, make } of spans) {
    const match = mark.exec(rest)
    if (match !== null) return { node: make(match, context), end: at + match[0].length }
  }
  return 1
}

function pairEnd(text: string, { mark, endsWord }: Pair, from: number): number {
  for (let end = text.indexOf(mark, from); end !== -1; end = text.indexOf(mark, end + 1)) {
    if (/\S/.test(text[end - 1] ?? '') && !(endsWord && /\w/.test(text[end + 2] ?? ''))) return end
  }
  return -1
}

/** Code ends with as many backticks as it began with, no more and no fewer. */
function codeAt(text: string, at: number, over: Set<string>): Span | number {
  const size = runOf(text, at)
  const marks = text.slice(at, at + size)
  if (!over.has(marks)) {
    for (let end = text.indexOf('`', at + size); end !== -1;) {
      const length = runOf(text, end)
      if (length === size) {
        const code = text.slice(at + size, end)
        return { node: element('code', {}, code.replace(/^ (.+) $/, '$1')), end: end + size }
      }
      end = text.indexOf('`', end + length)
    }
    over.add(marks)
  }
  return size
}

function runOf(text: string, at: number): number {
  let end = at
  while (text[end] === '`') end += 1
  return end - at
}

function nextMark(text: string, from: number): number {
  maybe.lastIndex = from
  return maybe.exec(text)?.index ?? -1
}

function anchor(url: string, children: readonly Made[]): HTMLElement {
  const href = safeUrl(url)
  if (href === null) return element('span', {}, ...children)
  return element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children)
}

/** The address as it is followed, or null where it is none that a link may have. */
export function safeUrl(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? href : null
}

function picture(alt: string, url: string, { imageOrigins }: Context): HTMLElement {
  const href = safeUrl(url)
  const { origin, pathname } = new URL(href ?? 'about:blank')
  if (href !== null && imageOrigins.includes(origin) && pathname.startsWith('/v1/images/'))
    return element(
      'a',
      { href, target: '_blank', rel: 'noopener', class: 'picture' },
      element('img', { src: href, alt: alt === '' ? '…' : alt, loading: 'lazy', decoding: 'async' }),
    )
  return anchor(url, [alt === '' ? url : alt])
}
