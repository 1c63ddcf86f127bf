/**
 * Sanitises text of untrusted web pages. Titles, snippets and answers contain what page authors wrote, knowing that a model will read it:
 * invisible text, active content and addresses that a client would load by itself are removed.
 *
 * Written by hand because the input is prose that may contain markup, not HTML. An HTML parser (htmlparser2 was tried) takes `List<String>`
 * for an element, takes everything after a mentioned `<script>` for a script, and turns `&lt;script&gt;` into a live one.
 */

/** One line (title, snippet) or several (an answer). At most `maxChars` characters, none cut in half. */
export function sanitizeText(value: unknown, maxChars: number, shape: 'line' | 'lines' = 'line'): string {
  if (typeof value !== 'string') return ''
  // Markup takes space, so more is read than is kept; the work stays bounded for any input.
  let text = decodeEntities(value.slice(0, maxChars * 4 + 1_000).toWellFormed())
  // Invisible characters first, because they can occur inside everything that is matched below.
  text = removeInvisible(text).replaceAll(controlChars, ' ')
  text = removeLeftovers(removeTrackers(removeMarkup(escapeMentions(text))))
  // Indentation has a meaning in code and lists.
  text = shape === 'line' ? text.replaceAll(/\s+/g, ' ') : text.replaceAll(/(?<=\S)[^\S\n]+/g, ' ').replaceAll(/\n{3,}/g, '\n\n')
  return truncate(text.trim(), maxChars)
}

/** A web address that a client may show, or null. Normalised so that all URI parsers agree on it (RFC 3986). */
export function sanitizeUrl(value: unknown, maxChars: number): string | null {
  if (typeof value !== 'string' || value.length > maxChars) return null
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return null
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null
  // `https://bank.example@evil.example/` looks like one site and leads to another.
  if (url.username !== '' || url.password !== '') return null
  const hash = url.hash === '' ? '' : `#${url.hash.slice(1).replaceAll('#', '%23')}`
  const rest = (url.pathname + url.search + hash)
    .replaceAll(/%(?![0-9a-f]{2})/gi, '%25')
    .replaceAll(invalidUriChars, encodeURIComponent)
  const clean = url.origin + rest
  return clean.length > maxChars ? null : clean
}

/** The host of an address as readers know it. */
export function getSourceHost(url: string): string {
  return new URL(url).hostname.replace(/^www\./, '')
}

/** A date or date-time of RFC 3339, or null. Without a zone it is read as UTC. */
export function sanitizeDate(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 64) return null
  const text = value.trim()
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Number.isNaN(Date.parse(text)) ? null : text
  const textWithZone = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text
  const at = /\d{4}/.test(textWithZone) ? Date.parse(textWithZone) : Number.NaN
  if (Number.isNaN(at) || at < 0 || at >= maxTimeMs) return null
  return new Date(at).toISOString()
}

/** From 0 to 1, or null. */
export function sanitizeScore(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : null
}

const maxTimeMs = Date.UTC(9999, 11, 31)

/** Characters that RFC 3986 does not allow after the host. */
const invalidUriChars = /[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]/gu

/** Invisible characters: direction marks, joiners, tags, fillers, and variation selectors. */
const invisible = /[\p{Cf}\p{Co}\p{Cn}\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]/gu

/**
 * A row of variation selectors can encode any text: there are 256, one for each byte. Emoji use two of them and a joiner, which stay where
 * an emoji needs them: one selector after a pictograph or inside a keycap, one joiner between two pictographs.
 */
function removeInvisible(text: string): string {
  return text.replaceAll(invisible, (mark, at: number) => {
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

const controlChars = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}]/gu

const namedEntities: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['hellip', '…'],
])

/** Entities first: they can encode markup too. */
function decodeEntities(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return namedEntities.get(name.toLowerCase()) ?? whole
      const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return point <= 0x10_ff_ff && (point < 0xd8_00 || point > 0xdf_ff) ? String.fromCodePoint(point) : ''
    },
  )
}

/**
 * Keeps mentions of markup: code between backticks, and types and placeholders such as `List<T>` or `<token>`. Their brackets are replaced
 * by similar characters that form no tag, so that an answer about code keeps its code.
 */
function escapeMentions(text: string): string {
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

function removeMarkup(text: string): string {
  let rest = removeElements(text.replaceAll(/<!--|-->/g, ' '))
  // Removing a tag can join its neighbours into another.
  for (let round = 0; round < 4; round++) {
    const fewer = rest.replaceAll(/<\/?[a-z!?][^<>]{0,2000}>/gi, ' ')
    if (fewer === rest) break
    rest = fewer
  }
  return rest
}

/** Removing parts can join others: a remaining beginning of a tag or image loses its first character. */
function removeLeftovers(text: string): string {
  return text.replaceAll(/(?<!<)<+(?=[/a-z!?])/gi, '').replaceAll(/(?<!!)!+(?=\[)/g, '')
}

/** Removes elements whose content is not text. A loop rather than a pattern, which would restart at every opening tag. */
function removeElements(text: string): string {
  const lower = text.toLowerCase()
  let output = ''
  let from = 0
  for (;;) {
    const opening = /<(script|style|template|iframe)\b/g
    opening.lastIndex = from
    const match = opening.exec(lower)
    if (match === null || lower.length !== text.length) return output + text.slice(from)
    const end = lower.indexOf(`</${match[1]}`, match.index)
    if (end === -1 && text[opening.lastIndex] === '>') {
      // No closing tag: the element is only mentioned in a sentence.
      output += `${text.slice(from, match.index)}‹${match[1]}›`
      from = opening.lastIndex + 1
      continue
    }
    output += `${text.slice(from, match.index)} `
    if (end === -1) return output
    const close = lower.indexOf('>', end)
    if (close === -1) return output
    from = close + 1
  }
}

/** Clients load Markdown images automatically, which notifies a server; links may lead only to the web. */
function removeTrackers(text: string): string {
  return text
    .replaceAll(/!\[([^[\]]{0,500})\]\([^()]{0,2000}\)/g, '$1')
    .replaceAll(/\[([^[\]]{0,500})\]\((?!\s*https?:\/\/)(?:[^()]|\([^()]{0,500}\)){0,2000}\)/gi, '$1')
    .replaceAll(/^[^\S\n]*\[[^[\]\n]{1,200}\]:[^\S\n]*(?!https?:\/\/)\S+[^\S\n]*(?:["'(].*)?$/gim, '')
    .replaceAll(/\b(javascript|vbscript)\s*:(?=\S)/gi, '$1 ')
    .replaceAll(/\bdata:(?=[a-z]+\/)/gi, 'data ')
}

function truncate(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const last = text.charCodeAt(maxChars - 1)
  return text.slice(0, last >= 0xd8_00 && last <= 0xdb_ff ? maxChars - 1 : maxChars)
}

function isElement(name: string): boolean {
  return htmlElements.has(name.toLowerCase())
}

/** HTML's elements, current and obsolete, with the roots of embeddable content. */
const htmlElements = new Set(
  `a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br button canvas
  caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font
  footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img image input ins isindex kbd keygen label legend li
  link listing main map mark marquee math menu menuitem meta meter nav nobr noembed noframes noscript object ol optgroup option output p
  param picture plaintext portal pre progress q rb rp rt rtc ruby s samp script search section select slot small source span strike strong
  style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp`.split(
    /\s+/,
  ),
)
