/** Reads the free text of a custom tool out of the arguments of its function, `{"input":"…"}`, while they arrive. */

const prefixPattern = /^\s*\{\s*"input"\s*:\s*"/
/** What may still become the prefix. */
const partialPrefixPattern = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

export class CustomInputReader {
  /** Not read yet. */
  #rest = ''
  #state: 'prefix' | 'text' | 'raw' | 'end' = 'prefix'
  #input = ''

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
    if (this.#state === 'prefix') this.#readPrefix()
    const added = this.#state === 'text' ? this.#readText() : this.#state === 'raw' ? this.#takeRest() : ''
    this.#input += added
    return added
  }

  /** Returns the text that the end adds: of arguments that are not of the usual form, all of them. */
  end(): string {
    if (this.#state !== 'prefix') return ''
    this.#state = 'raw'
    const added = this.#rest.trim() === '{}' ? '' : this.#rest
    this.#rest = ''
    this.#input += added
    return added
  }

  #readPrefix(): void {
    const [prefix] = prefixPattern.exec(this.#rest) ?? []
    if (prefix !== undefined) {
      this.#rest = this.#rest.slice(prefix.length)
      this.#state = 'text'
    } else if (!partialPrefixPattern.test(this.#rest) && this.#rest.trim() !== '{}') this.#state = 'raw'
  }

  #readText(): string {
    let text = ''
    let i = 0
    for (; i < this.#rest.length; i++) {
      const character = this.#rest[i] ?? ''
      if (character === '"') {
        this.#state = 'end'
        this.#rest = ''
        return text
      }
      if (character !== '\\') {
        text += character
        continue
      }
      const escape = readEscape(this.#rest, i)
      if (escape === null) break
      text += escape.text
      i += escape.length - 1
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
