/** A clock that only the test moves: nothing waits, and a slow machine changes no result. */
import type { Clock } from '../../../src/system/clock.ts'

export function createMovableClock(): { readonly clock: Clock; readonly advance: (ms: number) => void } {
  let aheadMs = 0
  const [now, monotonicMs] = [Date.now(), performance.now()]
  return {
    clock: { now: () => now + aheadMs, monotonicMs: () => monotonicMs + aheadMs },
    advance: (ms) => void (aheadMs += ms),
  }
}
