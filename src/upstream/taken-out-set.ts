/** The targets that an operator has taken out, as this thread last read them from the store; each comes back by itself at its time. */
import type { TakenOutTarget } from '../domain/taken-out-target.ts'

export class TakenOutSet {
  /** When each comes back, on the monotonic clock. */
  #ends: ReadonlyMap<string, number> = new Map()
  #readMs = -Infinity

  /** @param at when the read began, on both clocks. What was read before the last one is ignored, because a change is read at once. */
  replace(
    targets: readonly TakenOutTarget[],
    { now, monotonicMs }: { readonly now: number; readonly monotonicMs: number },
  ): void {
    if (monotonicMs < this.#readMs) return
    this.#readMs = monotonicMs
    this.#ends = new Map(targets.map(({ target, until }) => [target, monotonicMs + until - now]))
  }

  /** Milliseconds until the target is back; 0 for one that is not out. */
  remainingMs(target: string, monotonicMs: number): number {
    return Math.max(0, (this.#ends.get(target) ?? 0) - monotonicMs)
  }

  /** Those that are out now. */
  list(monotonicMs: number): readonly string[] {
    return [...this.#ends].filter(([, endMs]) => endMs > monotonicMs).map(([target]) => target)
  }

  get isEmpty(): boolean {
    return this.#ends.size === 0
  }
}
