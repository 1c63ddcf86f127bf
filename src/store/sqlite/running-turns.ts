/** How many turns of each account run, in the whole database. */

/** Accounts whose turns are counted: so many come together before those of whom none runs are forgotten. */
const mostIdle = 65_536

export class RunningTurns {
  #running = new Map<string, number>()

  begin(turns: readonly { readonly account: string }[]): void {
    this.#running = new Map()
    for (const { account } of turns) this.move(account, 1)
  }

  of(account: string): number {
    return this.#running.get(account) ?? 0
  }

  move(account: string, by: 1 | -1): void {
    // Zeros stay for a while: a table that loses its entries as fast as it gets them is made anew all the time.
    if (this.#running.size >= mostIdle) this.#running = new Map([...this.#running].filter(([, running]) => running > 0))
    this.#running.set(account, this.of(account) + by)
  }
}
