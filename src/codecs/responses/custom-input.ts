/** Reads the free text of a custom tool out of the arguments of its function, `{"input":"…"}`, while they arrive. Each piece is read once. */

/** What stands before the text; white space may stand between these. */
const prefixTokens = ['{', '"input"', ':', '"'] as const

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export class CustomInputReader {
  /** Not read yet; before the text everything so far. */
  #rest = ''
  #state: 'prefix' | 'empty' | 'text' | 'raw' | 'end' = 'prefix'
  /** The token of the prefix that comes next, and how much of it was received. */
  #token = 0
  #tokenLength = 0
  #input = ''

  /** @param options.isRaw the arguments are the text itself */
  constructor({ isRaw }: { readonly isRaw: boolean }) {
    if (isRaw) this.#state = 'raw'
  }

  /** The text so far. */
  get input(): string {
    return this.#input
  }

  /** The text was closed. Of a text that is no JSON, only the end of the answer shows that it is complete. */
  get isClosed(): boolean {
    return this.#state === 'end'
  }

  /** Takes a piece of the arguments. Returns the text that it adds. */
  push(piece: string): string {
    this.#rest += piece
    if (this.#state === 'prefix' || this.#state === 'empty') this.#readPrefix(piece)
    const addedText = this.#state === 'text' ? this.#readText() : this.#state === 'raw' ? this.#takeRest() : ''
    this.#input += addedText
    return addedText
  }

  /** Returns the text that the end adds: of arguments that are not of the usual form, all of them. */
  end(): string {
    if (this.#state !== 'prefix' && this.#state !== 'empty') return ''
    const addedText = this.#state === 'empty' ? '' : this.#rest
    this.#state = 'raw'
    this.#rest = ''
    this.#input += addedText
    return addedText
  }

  #readPrefix(piece: string): void {
    for (let i = 0; i < piece.length; i++) {
      const character = piece.charAt(i)
      if (this.#tokenLength === 0 && isSpace(character)) continue
      const token = prefixTokens[this.#token] ?? ''
      const isExpected = this.#state === 'prefix' && character === token[this.#tokenLength]
      if (!isExpected) {
        const isEmpty = this.#state === 'prefix' && this.#token === 1 && this.#tokenLength === 0 && character === '}'
        this.#state = isEmpty ? 'empty' : 'raw'
        if (isEmpty) continue
        return
      }
      if (++this.#tokenLength < token.length) continue
      this.#tokenLength = 0
      if (++this.#token < prefixTokens.length) continue
      this.#rest = piece.slice(i + 1)
      this.#state = 'text'
      return
    }
  }

  #readText(): string {
    let text = ''
    let i = 0
    while (i < this.#rest.length) {
      const end = findSpecial(this.#rest, i)
      text += this.#rest.slice(i, end)
      i = end
      if (i === this.#rest.length) break
      if (this.#rest[i] === '"') {
        this.#state = 'end'
        this.#rest = ''
        return text
      }
      const escape = readEscape(this.#rest, i)
      if (escape === null) break
      text += escape.text
      i += escape.length
    }
    this.#rest = this.#rest.slice(i)
    return text
  }

  #takeRest(): string {
    const rest = this.#rest
    this.#rest = ''
    return rest
  }
}

function isSpace(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}

/** Index of the next quote or backslash; the text's length without one. */
function findSpecial(text: string, from: number): number {
  let i = from
  while (i < text.length && text[i] !== '"' && text[i] !== '\\') i++
  return i
}

/** The escape at this place; null if more of it must arrive. A surrogate pair is one escape, so that no half of a character is sent. */
function readEscape(text: string, at: number): { readonly text: string; readonly length: number } | null {
  const letter = text[at + 1]
  if (letter === undefined) return null
  if (letter !== 'u') return { text: escapes[letter] ?? letter, length: 2 }
  const unit = readUnit(text, at)
  if (unit === null) return null
  if (unit < 0xd800 || unit > 0xdbff) return { text: String.fromCharCode(unit).toWellFormed(), length: 6 }
  if (text.length < at + 12 && '\\u'.startsWith(text.slice(at + 6, at + 8))) return null
  const low = text.startsWith('\\u', at + 6) ? readUnit(text, at + 6) : null
  if (low === null || low < 0xdc00 || low > 0xdfff) return { text: '\ufffd', length: 6 }
  return { text: String.fromCharCode(unit, low), length: 12 }
}

/** Digits that are none read as the replacement character. */
function readUnit(text: string, at: number): number | null {
  const digits = text.slice(at + 2, at + 6)
  if (digits.length < 4) return null
  return /^[\da-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0xfffd
}
