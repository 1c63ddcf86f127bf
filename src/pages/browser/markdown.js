/**
 * Markdown to elements. What a model writes is untrusted: every node is built by hand from text, no markup is ever parsed, links lead to
 * http, https or mail only, and pictures are loaded from the given origins alone; any other picture becomes a link to it.
 *
 * A subset of CommonMark that chats use: headings, paragraphs, lists, quotes, fences, tables, rules; emphasis, code, links, pictures.
 */
import { element } from './page.js'

/** `imageOrigins`: from where pictures may be shown. */
export function renderMarkdown(text, { imageOrigins }) {
  const fragment = document.createDocumentFragment()
  fragment.append(...blocks(text.replaceAll('\r\n', '\n').split('\n'), { imageOrigins, depth: 0 }))
  return fragment
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/
const heading = /^ {0,3}(#{1,6})\s+(.*)$/
const headingEnd = /(?:^|\s)#+$/
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/
const quote = /^ {0,3}>\s?/
const item = /^( *)([-*+]|\d{1,9}[.)])(?:\s+|$)/
const tableRule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/
/** Deeper than this, lists and quotes are shown as plain text: nobody means it, and a browser's patience is finite. */
const deepest = 12

function blocks(lines, context) {
  const nodes = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at]
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

function block(lines, at, context) {
  const line = lines[at]
  const fenced = fence.exec(line)
  if (fenced !== null) return codeFence(lines, at, fenced)
  const titled = heading.exec(line)
  // The page's own headings are one and two; an answer's begin below them.
  if (titled !== null) return [element(`h${Math.min(6, titled[1].length + 2)}`, {}, ...inline(titleOf(titled), context)), at + 1]
  if (rule.test(line)) return [element('hr'), at + 1]
  if (context.depth < deepest && quote.test(line)) return quoted(lines, at, context)
  if (context.depth < deepest && item.test(line)) return list(lines, at, context)
  if (line.includes('|') && tableRule.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-'))
    return grid(lines, at, context)
  return paragraph(lines, at, context)
}

/** Cut in steps: one pattern for text, gap and closing marks would try every way to part a long gap among them. */
function titleOf([, , text]) {
  return text.trimEnd().replace(headingEnd, '').trimEnd()
}

function codeFence(lines, at, [, marks, language]) {
  const closing = new RegExp(`^ {0,3}${marks[0] === '`' ? '`' : '~'}{${marks.length},}\\s*$`)
  let end = at + 1
  while (end < lines.length && !closing.test(lines[end])) end += 1
  const code = lines.slice(at + 1, end).join('\n')
  return [
    element(
      'div',
      { class: 'code-block' },
      element(
        'div',
        { class: 'code-head' },
        element('span', {}, language),
        element('button', { type: 'button', 'data-copy': '' }, copyWord()),
      ),
      element('pre', { tabindex: '0' }, element('code', {}, code)),
    ),
    end + 1,
  ]
}

let copyLabel = 'Copy'
function copyWord() {
  return copyLabel
}

/** The word on the buttons that copy code. */
export function nameCopyButtons(label) {
  copyLabel = label
}

function quoted(lines, at, context) {
  let end = at
  const inner = []
  while (end < lines.length && lines[end].trim() !== '') {
    inner.push(lines[end].replace(quote, ''))
    end += 1
  }
  return [element('blockquote', {}, ...blocks(inner, { ...context, depth: context.depth + 1 })), end]
}

function list(lines, at, context) {
  const [, indent, marker] = item.exec(lines[at])
  const ordered = /\d/.test(marker)
  const items = []
  let end = at
  while (end < lines.length) {
    const next = item.exec(lines[end])
    if (next === null || next[1].length > indent.length + 1 || next[1].length < indent.length || /\d/.test(next[2]) !== ordered)
      break
    const width = next[0].length
    const inner = [lines[end].slice(width)]
    end += 1
    // What is indented under an item, blank lines between included, belongs to it.
    while (end < lines.length) {
      const line = lines[end]
      const indented = line.length - line.trimStart().length
      const blank = line.trim() === ''
      if (blank && (lines[end + 1] ?? '').trim() !== '' && leads(lines[end + 1]) > indent.length) inner.push('')
      else if (!blank && indented > indent.length) inner.push(line.slice(Math.min(indented, width)))
      else if (!blank && !startsBlock(line) && lines[end - 1].trim() !== '') inner.push(line)
      else break
      end += 1
    }
    items.push(listItem(inner, context))
    while (
      end < lines.length &&
      lines[end].trim() === '' &&
      item.test(lines[end + 1] ?? '') &&
      leads(lines[end + 1]) === indent.length
    )
      end += 1
  }
  const start = ordered && marker.slice(0, -1) !== '1' ? Number(marker.slice(0, -1)) : null
  return [element(ordered ? 'ol' : 'ul', { start }, ...items), end]
}

function listItem(lines, context) {
  const children = blocks(lines, { ...context, depth: context.depth + 1 })
  const [first, ...rest] = children
  // An item of one paragraph reads better without the paragraph's margins.
  return first?.nodeName === 'P' ? element('li', {}, ...first.childNodes, ...rest) : element('li', {}, ...children)
}

function leads(line) {
  return line.length - line.trimStart().length
}

function startsBlock(line) {
  return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || item.test(line)
}

function grid(lines, at, context) {
  const cells = (line) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((text) => text.replaceAll('\\|', '|').trim())
  const head = cells(lines[at])
  const rows = []
  let end = at + 2
  while (end < lines.length && lines[end].includes('|')) {
    rows.push(cells(lines[end]))
    end += 1
  }
  const row = (name, texts) =>
    element('tr', {}, ...head.map((_, column) => element(name, {}, ...inline(texts[column] ?? '', context))))
  return [
    element(
      'div',
      { class: 'table-box', tabindex: '0' },
      element('table', {}, element('thead', {}, row('th', head)), element('tbody', {}, ...rows.map((texts) => row('td', texts)))),
    ),
    end,
  ]
}

function paragraph(lines, at, context) {
  let end = at + 1
  while (end < lines.length && lines[end].trim() !== '' && !startsBlock(lines[end])) end += 1
  const children = lines
    .slice(at, end)
    .flatMap((line, place) => [
      ...(place === 0 ? [] : [/(?: {2}|\\)$/.test(lines[at + place - 1]) ? element('br') : ' ']),
      ...inline(line.trim().replace(/\\$/, ''), context),
    ])
  return [element('p', {}, ...children), end]
}

/** The first of these that matches is taken; what lies between matches is text. */
const spans = [
  { mark: /^(`+)([^`]|[^`][^]*?[^`])\1(?!`)/, make: ([, , code]) => element('code', {}, code.replace(/^ (.+) $/, '$1')) },
  { mark: /^!\[([^\]]*)\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/, make: ([, alt, url], context) => picture(alt, url, context) },
  {
    mark: /^\[((?:[^[\]]|\[[^[\]]*\])*)\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/,
    make: ([, label, url], context) => anchor(url, inline(label, { ...context, depth: context.depth + 1 })),
  },
  { mark: /^<(https?:\/\/[^\s<>]+)>/, make: ([, url]) => anchor(url, [url]) },
  { mark: /^\*\*(?=\S)([^]+?)(?<=\S)\*\*/, make: ([, text], context) => element('strong', {}, ...deeper(text, context)) },
  { mark: /^__(?=\S)([^]+?)(?<=\S)__(?!\w)/, make: ([, text], context) => element('strong', {}, ...deeper(text, context)) },
  { mark: /^~~(?=\S)([^]+?)(?<=\S)~~/, make: ([, text], context) => element('del', {}, ...deeper(text, context)) },
  { mark: /^\*(?=[^\s*])([^*]+?)(?<=\S)\*/, make: ([, text], context) => element('em', {}, ...deeper(text, context)) },
  { mark: /^_(?=[^\s_])([^_]+?)(?<=\S)_(?!\w)/, make: ([, text], context) => element('em', {}, ...deeper(text, context)) },
  { mark: /^https?:\/\/[^\s<>()[\]]*[^\s<>()[\].,;:!?'"*_~]/, make: ([url]) => anchor(url, [url]) },
  { mark: /^\\([!-/:-@[-`{-~])/, make: ([, character]) => character },
]
const maybe = /[`![<*_~\\]|https?:\/\//g

function deeper(text, context) {
  return inline(text, { ...context, depth: context.depth + 1 })
}

function inline(text, context) {
  if (context.depth > deepest) return [text]
  const nodes = []
  let done = 0
  maybe.lastIndex = 0
  for (let found = nextMark(text, 0); found !== -1; found = nextMark(text, found)) {
    const rest = text.slice(found, found + 20_000)
    const inWord = text[found] === '_' && /\w/.test(text[found - 1] ?? '')
    const span = inWord ? undefined : spans.find(({ mark }) => mark.test(rest))
    if (span === undefined) {
      found += 1
      continue
    }
    const match = span.mark.exec(rest)
    if (found > done) nodes.push(text.slice(done, found))
    nodes.push(span.make(match, context))
    found += match[0].length
    done = found
  }
  if (done < text.length) nodes.push(text.slice(done))
  return nodes
}

function nextMark(text, from) {
  maybe.lastIndex = from
  return maybe.exec(text)?.index ?? -1
}

function anchor(url, children) {
  const href = safeUrl(url)
  if (href === null) return element('span', {}, ...children)
  return element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children)
}

/** The address as it is followed, or null where it is none that a link may have. */
export function safeUrl(url) {
  if (!URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? href : null
}

function picture(alt, url, { imageOrigins }) {
  const href = safeUrl(url)
  const { origin, pathname } = href === null ? {} : new URL(href)
  if (href !== null && imageOrigins.includes(origin) && pathname.startsWith('/v1/images/'))
    return element(
      'a',
      { href, target: '_blank', rel: 'noopener', class: 'picture' },
      element('img', { src: href, alt: alt === '' ? '…' : alt, loading: 'lazy', decoding: 'async' }),
    )
  return anchor(url, [alt === '' ? url : alt])
}
