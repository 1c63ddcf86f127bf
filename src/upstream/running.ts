/**
 * The calls that run now, in no order: what is added tells its place, and what leaves gives its place to the last.
 *
 * Not a `Set`: its table is replaced every few dozen calls, and V8 keeps a replaced table pointing to the next one. A single one that
 * has grown old before it died holds all that came after it, with every turn they list, until the slow collector comes; at 64 turns at
 * once that was a sixth of all that turns allocate.
 */
export interface Placed {
  /** Where it stands; written by `Running` alone. */
  place: number
}

export class Running<Call extends Placed> {
  readonly #calls: Call[] = []

  get size(): number {
    return this.#calls.length
  }

  add(call: Call): void {
    call.place = this.#calls.length
    this.#calls.push(call)
  }

  remove(call: Call): void {
    if (this.#calls[call.place] !== call) return
    const last = this.#calls.pop()
    if (last === undefined || last === call) return
    this.#calls[call.place] = last
    last.place = call.place
  }

  /** From the last to the first, so that a call may leave while it is visited. */
  each(visit: (call: Call) => void): void {
    for (let place = this.#calls.length - 1; place >= 0; place--) {
      const call = this.#calls[place]
      if (call !== undefined) visit(call)
    }
  }
}
