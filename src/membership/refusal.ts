/** What a desk throws when it is asked too much; everything else it answers. */

/** Too many of these for now; trying again can succeed after `retryAfterMs`. */
export class Busy extends Error {
  readonly retryAfterMs: number
  /** What is open meanwhile: `letter`, being written to; `link`, opening the one in a letter that has been sent. */
  readonly instead: 'letter' | 'link' | null

  constructor(retryAfterMs: number, instead: Busy['instead'] = null) {
    super('too many requests')
    this.name = 'Busy'
    this.retryAfterMs = retryAfterMs
    this.instead = instead
  }
}
