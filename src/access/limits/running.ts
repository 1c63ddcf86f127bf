/** How many turns of each account run now, in this thread; over all of them the ledger counts, when it is asked for a hold. */
export class ConcurrencyLimiter {
  readonly #running = new Map<string, number>()

  /** False when `limit` run already. */
  enter(subject: string, limit: number): boolean {
    const running = this.#running.get(subject) ?? 0
    if (running >= limit) return false
    this.#running.set(subject, running + 1)
    return true
  }

  leave(subject: string): void {
    const running = (this.#running.get(subject) ?? 1) - 1
    if (running <= 0) this.#running.delete(subject)
    else this.#running.set(subject, running)
  }

  get size(): number {
    return this.#running.size
  }
}
