/**
 * Makes what strangers wrote fit to be handed on. Titles, snippets and answers are made of web pages, whose authors know that a model will
 * read them: what a reader cannot see, what a page could run and what a client would fetch by itself do not get through.
 *
 * By hand because it is no HTML but prose in which markup may stand. A parser of HTML (htmlparser2 was tried) takes `List<String>` for an
 * element, all that follows a `<script>` that is only spoken of for a script, and makes a live one of `&lt;script&gt;`.
 */

/** One line (title, snippet) or several (an answer). At most `longest` characters, none of them half. */
export function cleanText(value: unknown, longest: number, shape: 'line' | 'lines' = 'line'): string {
  if (typeof value !== 'string') return ''
  // Markup takes room, so more is read than is kept; but the work stays bounded whatever is sent.
  let text = decoded(value.slice(0, longest * 4 + 1_000).toWellFormed())
  // What cannot be seen goes first, because it can stand inside of anything that is looked for below.
  text = withoutUnseen(text).replaceAll(controls, ' ')
  text = withoutLeftovers(withoutBeacons(withoutMarkup(withMentions(text))))
  // How far a line is indented is a meaning of its own, in code and in lists.
  text = shape === 'line' ? text.replaceAll(/\s+/g, ' ') : text.replaceAll(/(?<=\S)[^\S\n]+/g, ' ').replaceAll(/\n{3,}/g, '\n\n')
  return cut(text.trim(), longest)
}

/** An address on the web that a client may show, or null. Written so that every reader of URIs agrees on it (RFC 3986). */
export function cleanUrl(value: unknown, longest: number): string | null {
  if (typeof value !== 'string' || value.length > longest) return null
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return null
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null
  // `https://bank.example@evil.example/` reads as one place and leads to another.
  if (url.username !== '' || url.password !== '') return null
  const hash = url.hash === '' ? '' : `#${url.hash.slice(1).replaceAll('#', '%23')}`
  const rest = (url.pathname + url.search + hash)
    .replaceAll(/%(?![0-9a-f]{2})/gi, '%25')
    .replaceAll(notInUris, encodeURIComponent)
  const clean = url.origin + rest
  return clean.length > longest ? null : clean
}

/** The host an address leads to, as readers know it. */
export function sourceOf(url: string): string {
  return new URL(url).hostname.replace(/^www\./, '')
}

/** A date or date-time of RFC 3339, or null. What names no zone is taken as UTC. */
export function cleanDate(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 64) return null
  const text = value.trim()
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Number.isNaN(Date.parse(text)) ? null : text
  const zoned = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text
  const at = /\d{4}/.test(zoned) ? Date.parse(zoned) : Number.NaN
  if (Number.isNaN(at) || at < 0 || at >= endOfYears) return null
  return new Date(at).toISOString()
}

/** From 0 to 1, or null. */
export function cleanScore(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : null
}

const endOfYears = Date.UTC(9999, 11, 31)

/** What RFC 3986 has no place for behind the host. */
const notInUris = /[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]/gu

/** Characters without a shape: marks that turn the reading direction, joiners, tags, fillers, and variation selectors. */
const unseen = /[\p{Cf}\p{Co}\p{Cn}\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]/gu

/**
 * Of variation selectors a row spells any text at all: there are 256, one for each byte. Emoji are made with two of them and with a joiner,
 * which stay where an emoji needs them: one selector behind a pictograph or inside a keycap, one joiner between two pictographs.
 */
function withoutUnseen(text: string): string {
  return text.replaceAll(unseen, (mark, at: number) => {
    const before = text.slice(Math.max(0, at - 3), at)
    if (mark === '\ufe0e' || mark === '\ufe0f') {
      const keycap = /[0-9#*]$/.test(before) && text.startsWith('\ufe0f\u20e3', at)
      return keycap || /\p{Extended_Pictographic}$/u.test(before) ? mark : ''
    }
    const joins =
      mark === '\u200d' &&
      /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier})\ufe0f?$/u.test(before) &&
      /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))
    return joins ? mark : ''
  })
}

const controls = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}]/gu

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ', hellip: '…' }

/** Entities first: what they spell is markup too. */
function decoded(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return named[name.toLowerCase()] ?? whole
      const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return point <= 0x10_ff_ff && (point < 0xd8_00 || point > 0xdf_ff) ? String.fromCodePoint(point) : ''
    },
  )
}

/**
 * What is written about, instead of used: code between backticks, and types and placeholders such as `List<T>` or `<token>`. Their brackets
 * become ones that no reader takes for a tag, so that an answer about code keeps its code.
 */
function withMentions(text: string): string {
  let rest = text.replaceAll(/```[^]*?```|`[^`\n]{1,500}`/g, (code) => code.replaceAll(/<([a-z/!?][^<>]{0,500})>/gi, '‹$1›'))
  for (let round = 0; round < 4; round++) {
    const more = rest.replaceAll(
      /<([a-z_][\w.:]*[^<>()"'=/\s-]{0,100}(?:,\s?[\w.:‹›[\]*&?]{1,100}){0,8})>/gi,
      (whole, inner: string) => (isElement(/^\w+/.exec(inner)?.[0] ?? '') ? whole : `‹${inner}›`),
    )
    if (more === rest) break
    rest = more
  }
  return rest
}

function withoutMarkup(text: string): string {
  let rest = withoutElements(text.replaceAll(/<!--|-->/g, ' '))
  // Taking a tag out can put another together from its neighbours.
  for (let round = 0; round < 4; round++) {
    const fewer = rest.replaceAll(/<\/?[a-z!?][^<>]{0,2000}>/gi, ' ')
    if (fewer === rest) break
    rest = fewer
  }
  return rest
}

/** Taking something out can put together what was apart: what could still begin a tag or an image loses its beginning. */
function withoutLeftovers(text: string): string {
  return text.replaceAll(/(?<!<)<+(?=[/a-z!?])/gi, '').replaceAll(/(?<!!)!+(?=\[)/g, '')
}

/** Elements whose content is no text. Searched by hand: a pattern would start over at every opening tag. */
function withoutElements(text: string): string {
  const lower = text.toLowerCase()
  let kept = ''
  let from = 0
  for (;;) {
    const opening = /<(script|style|template|iframe)\b/g
    opening.lastIndex = from
    const found = opening.exec(lower)
    if (found === null || lower.length !== text.length) return kept + text.slice(from)
    const end = lower.indexOf(`</${found[1]}`, found.index)
    if (end === -1 && text[opening.lastIndex] === '>') {
      // Nothing is hidden in it: an element that is named in a sentence.
      kept += `${text.slice(from, found.index)}‹${found[1]}›`
      from = opening.lastIndex + 1
      continue
    }
    kept += `${text.slice(from, found.index)} `
    if (end === -1) return kept
    const close = lower.indexOf('>', end)
    if (close === -1) return kept
    from = close + 1
  }
}

/** Images of Markdown are fetched by whoever shows them, and tell their server so; links may lead to the web and nowhere else. */
function withoutBeacons(text: string): string {
  return text
    .replaceAll(/!\[([^[\]]{0,500})\]\([^()]{0,2000}\)/g, '$1')
    .replaceAll(/\[([^[\]]{0,500})\]\((?!\s*https?:\/\/)(?:[^()]|\([^()]{0,500}\)){0,2000}\)/gi, '$1')
    .replaceAll(/^[^\S\n]*\[[^[\]\n]{1,200}\]:[^\S\n]*(?!https?:\/\/)\S+[^\S\n]*(?:["'(].*)?$/gim, '')
    .replaceAll(/\b(javascript|vbscript)\s*:(?=\S)/gi, '$1 ')
    .replaceAll(/\bdata:(?=[a-z]+\/)/gi, 'data ')
}

function cut(text: string, longest: number): string {
  if (text.length <= longest) return text
  const last = text.charCodeAt(longest - 1)
  return text.slice(0, last >= 0xd8_00 && last <= 0xdb_ff ? longest - 1 : longest)
}

function isElement(name: string): boolean {
  return elements.has(name.toLowerCase())
}

/** HTML's elements, today's and former ones, with the roots of what may be embedded. */
const elements = new Set(
  `a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br button canvas
  caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font
  footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img image input ins isindex kbd keygen label legend li
  link listing main map mark marquee math menu menuitem meta meter nav nobr noembed noframes noscript object ol optgroup option output p
  param picture plaintext portal pre progress q rb rp rt rtc ruby s samp script search section select slot small source span strike strong
  style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp`.split(
    /\s+/,
  ),
)
