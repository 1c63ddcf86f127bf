/** The result of one chunk: whole lines, and whether the peer exceeded the limit or sent invalid UTF-8. */
type LineProblem = 'too_long' | 'bad_utf8'

/**
 * Splits a byte stream into lines at `\n`, wherever the chunks end. A line over `limit` bytes and a line that is
 * not UTF-8 are reported instead of delivered; after `too_long` nothing more is delivered, because the rest cannot be trusted.
 */
export class LineReader {
  readonly #limit: number
  readonly #onLine: (line: string) => void
  readonly #onProblem: (problem: LineProblem) => void
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #parts: Buffer[] = []
  #size = 0
  #broken = false

  constructor(limit: number, onLine: (line: string) => void, onProblem: (problem: LineProblem) => void) {
    this.#limit = limit
    this.#onLine = onLine
    this.#onProblem = onProblem
  }

  push(chunk: Buffer): void {
    let rest = chunk
    while (!this.#broken && rest.length > 0) {
      const end = rest.indexOf(10)
      const piece = end === -1 ? rest : rest.subarray(0, end)
      this.#size += piece.length
      if (this.#size > this.#limit) {
        this.#broken = true
        this.#parts = []
        this.#onProblem('too_long')
        return
      }
      this.#parts.push(piece)
      if (end === -1) return
      rest = rest.subarray(end + 1)
      this.#deliver()
    }
  }

  #deliver(): void {
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#size = 0
    let line: string
    try {
      line = this.#decoder.decode(bytes)
    } catch {
      this.#onProblem('bad_utf8')
      return
    }
    if (line.trim() !== '') this.#onLine(line)
  }
}
