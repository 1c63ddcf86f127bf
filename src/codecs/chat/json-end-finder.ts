/** Finds where a JSON object may end, in pieces of its text, each of which is read once. It checks brackets and strings alone. */
export class JsonEndFinder {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #state: 'start' | 'inside' | 'end' | 'broken' = 'start'

  /** The brackets are balanced, and only white space follows them. */
  get isAtEnd(): boolean {
    return this.#state === 'end'
  }

  push(piece: string): void {
    for (let i = 0; i < piece.length && this.#state !== 'broken'; i++) {
      if (this.#isInString) i = this.#skipString(piece, i)
      else this.#read(piece.charCodeAt(i))
    }
  }

  #read(code: number): void {
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return
    const isOpening = code === 0x7b || code === 0x5b
    if (this.#state === 'end' || (this.#state === 'start' && !isOpening)) this.#state = 'broken'
    else if (isOpening) {
      this.#state = 'inside'
      this.#depth++
    } else if (code === 0x7d || code === 0x5d) {
      if (--this.#depth === 0) this.#state = 'end'
    } else if (code === 0x22) this.#isInString = true
  }

  /** Index of the last character of the string in this piece. */
  #skipString(piece: string, from: number): number {
    for (let i = from; i < piece.length; i++) {
      const code = piece.charCodeAt(i)
      if (this.#isEscaped) this.#isEscaped = false
      else if (code === 0x5c) this.#isEscaped = true
      else if (code === 0x22) {
        this.#isInString = false
        return i
      }
    }
    return piece.length
  }
}
