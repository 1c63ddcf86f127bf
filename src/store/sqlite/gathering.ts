/**
 * When the next batch leaves for the writer. A commit has a price of its own, two wake-ups and its pages in the log, whatever it is shared
 * by; so where operations come in numbers, the next one waits for as long as the event loop goes on bringing them. Whoever has nothing else
 * to do sends: nobody waits for a clock.
 */

/** Where fewer came together, turns are rare, and nothing is gained by waiting. */
const crowd = 4
const enough = 128
/** Rounds of the event loop that brought none: what it is busy with may yet end in one. */
const quietRounds = 5
const longestMs = 8

export class Gathering {
  readonly #now: () => number
  #sentAt = -Infinity
  #sent = 0
  /** How many waited when it was last asked, and how often that was so since. */
  #seen = 0
  #quiet = 0

  /** `now` in milliseconds, of a clock that only goes on. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether these are to wait for more. To be asked once in a round of the event loop. */
  goesOn(waiting: number): boolean {
    if (this.#sent < crowd || waiting >= enough || this.#now() - this.#sentAt >= longestMs) return false
    this.#quiet = waiting > this.#seen ? 0 : this.#quiet + 1
    this.#seen = waiting
    return this.#quiet < quietRounds
  }

  /** So many have left together. */
  sent(count: number): void {
    this.#sentAt = this.#now()
    this.#sent = count
    this.#seen = 0
    this.#quiet = 0
  }
}
