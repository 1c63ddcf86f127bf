/**
 * Counts the events of the last `windowMs`. The window moves in steps, so that no list of events is needed. The caller passes the time in
 * milliseconds; if it is set back, counting continues in the current step.
 */
export class RollingCount {
  readonly #stepMs: number
  /** Events of each of the last steps, at the step's number modulo their number. */
  readonly #counts: number[]
  #step = 0

  constructor({ windowMs, steps }: { readonly windowMs: number; readonly steps: number }) {
    this.#stepMs = windowMs / steps
    this.#counts = Array.from({ length: steps }, () => 0)
  }

  add(now: number): void {
    this.#moveTo(now)
    const at = this.#step % this.#counts.length
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  total(now: number): number {
    this.#moveTo(now)
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  clear(): void {
    this.#counts.fill(0)
  }

  /** Empties the steps that have passed since the last call. */
  #moveTo(now: number): void {
    const step = Math.floor(now / this.#stepMs)
    const steps = this.#counts.length
    for (let next = Math.max(this.#step, step - steps) + 1; next <= step; next++) this.#counts[next % steps] = 0
    this.#step = Math.max(this.#step, step)
  }
}
