/** What a desk throws when it is asked too much; everything else it answers. */

/** Too many of these for now; trying again can succeed after `retryAfterMs`. */
export class Busy extends Error {
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super('too many requests')
    this.name = 'Busy'
    this.retryAfterMs = retryAfterMs
  }
}
