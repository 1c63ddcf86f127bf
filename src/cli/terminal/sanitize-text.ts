/**
 * Makes text from outside (a model, a page, a server, a file name) safe for a terminal: removes everything that could move the cursor,
 * change a title, write to the clipboard, ring, overwrite printed text or change the text direction; line feeds and
 * tabs stay. Stricter than `util.stripVTControlCharacters`, which leaves DCS, APC, BEL, CR and BS.
 */
export function sanitizeText(text: string): string {
  const filter = new TerminalTextFilter()
  return filter.push(text) + filter.end()
}

/** `sanitizeText` on one line, for titles and table cells: line feeds and tabs become spaces. */
export function sanitizeLine(text: string): string {
  return sanitizeText(text)
    .replaceAll(/[\n\t]+/g, ' ')
    .trim()
}

/** `sanitizeText` for text that arrives in chunks, split anywhere, also inside a sequence or a surrogate pair. */
export class TerminalTextFilter {
  #state: State = 'text'
  /** The first half of a surrogate pair whose second half has not arrived. */
  #pendingSurrogate = ''

  push(chunk: string): string {
    const text = this.#pendingSurrogate + chunk
    const wholeLength = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length
    this.#pendingSurrogate = text.slice(wholeLength)
    let clean = ''
    for (const character of text.slice(0, wholeLength)) clean += this.#step(character)
    return clean
  }

  /** Call once after the last chunk. Drops an unfinished sequence; an unpaired surrogate becomes U+FFFD. */
  end(): string {
    const rest = this.#pendingSurrogate === '' || this.#state !== 'text' ? '' : '\ufffd'
    this.#pendingSurrogate = ''
    this.#state = 'text'
    return rest
  }

  #step(character: string): string {
    const code = character.codePointAt(0) ?? 0
    // A line feed ends an unfinished sequence, so that a single introducer cannot hide the rest of the text.
    if (character === '\n') {
      this.#state = 'text'
      return '\n'
    }
    if (code === 0x1b) {
      this.#state = 'escape'
      return ''
    }
    if (isC1(code)) {
      this.#state = nextStateAfterC1(code)
      return ''
    }
    // CAN and SUB abort a sequence, BEL ends a string; none of them is ever printed.
    if (isC0(code) && character !== '\t') {
      if (code === 0x18 || code === 0x1a || (code === 0x07 && this.#state === 'string')) this.#state = 'text'
      return ''
    }
    if (this.#state === 'text') return toPrintable(character, code)
    this.#state = nextState(this.#state, code)
    return ''
  }
}

/** `string` is inside OSC, DCS, APC, PM or SOS; `control` inside CSI; `escape` after ESC; `designation` inside ESC ( B and the like. */
type State = 'text' | 'escape' | 'designation' | 'control' | 'string'

function nextState(state: State, code: number): State {
  if (state === 'control') return code >= 0x40 && code <= 0x7e ? 'text' : 'control'
  if (state === 'string') return 'string'
  if (code >= 0x20 && code <= 0x2f) return 'designation'
  if (state === 'designation') return 'text'
  if (code === 0x5b) return 'control'
  return stringIntroducers.has(code) ? 'string' : 'text'
}

/** ] P X ^ _ after ESC. */
const stringIntroducers: ReadonlySet<number> = new Set([0x5d, 0x50, 0x58, 0x5e, 0x5f])

function nextStateAfterC1(code: number): State {
  if (code === 0x9b) return 'control'
  return stringIntroducers.has(code - 0x40) ? 'string' : 'text'
}

function toPrintable(character: string, code: number): string {
  // Line and paragraph separators break lines in some terminals only; they become line feeds everywhere.
  if (code === 0x2028 || code === 0x2029) return '\n'
  if (isDirectionOverride(code)) return ''
  return code >= 0xd800 && code <= 0xdfff ? '\ufffd' : character
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isC0(code: number): boolean {
  return code < 0x20 || code === 0x7f
}

function isC1(code: number): boolean {
  return code >= 0x80 && code <= 0x9f
}

/** Embeddings, overrides and isolates can display a command or an address in another order. */
function isDirectionOverride(code: number): boolean {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
}
