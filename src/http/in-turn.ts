/**
 * Long bodies are read in turn, a piece of one of them a millisecond: however many members send however much, taking it in leaves most of
 * the thread to everybody's short turns. Whoever sends over a network hardly notices: that is half a gigabit a second. Where nobody else has
 * come for a while, nobody has to wait.
 */

const betweenPiecesMs = 1
const whileMs = 100

export interface Sending {
  pause(): unknown
  resume(): unknown
}

export class InTurn {
  readonly #waiting: Sending[] = []
  readonly #now: () => number
  #othersAt = -Infinity

  /** `now` in milliseconds, of a clock that only goes on. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Somebody with little to send has come. */
  hasOthers(): void {
    this.#othersAt = this.#now()
  }

  /** It has sent a piece, and goes on when it is its turn. */
  next(sending: Sending): void {
    if (this.#now() - this.#othersAt > whileMs) return
    sending.pause()
    if (this.#waiting.push(sending) === 1) setTimeout(() => this.#goOn(), betweenPiecesMs)
  }

  #goOn(): void {
    this.#waiting[0]?.resume()
    this.#waiting.shift()
    if (this.#waiting.length > 0) setTimeout(() => this.#goOn(), betweenPiecesMs)
  }
}
