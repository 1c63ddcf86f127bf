/**
 * Long bodies are read in turn, a piece of one of them a millisecond: however many members send however much, taking it in leaves most of
 * the thread to everybody's short turns. Whoever sends over a network hardly notices: that is half a gigabit a second. Where nobody else has
 * come for a while, nobody has to wait.
 */

const betweenPiecesMs = 1
/** The least that a body sends in its turn, in however small parts it comes; what a socket gives at once may be twice as much. */
export const pieceBytes = 32 * 1024
const whileMs = 100

export interface LongBody {
  pause(): unknown
  resume(): unknown
}

export class InTurn {
  readonly #waiting: LongBody[] = []
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
  next(body: LongBody): void {
    if (this.#now() - this.#othersAt > whileMs) return
    body.pause()
    if (this.#waiting.push(body) === 1) setTimeout(() => this.#goOn(), betweenPiecesMs)
  }

  #goOn(): void {
    this.#waiting[0]?.resume()
    this.#waiting.shift()
    if (this.#waiting.length > 0) setTimeout(() => this.#goOn(), betweenPiecesMs)
  }
}
