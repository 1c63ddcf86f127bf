/** The longest time for which this process stood still. On a shared test machine that may be seconds, in which other programs give up. */
import type { TestScope } from '../test-scope.ts'

const sampleIntervalMs = 50

export class PauseMonitor {
  longestMs = 0
  #sampledMs = performance.now()

  constructor(t: TestScope) {
    const timer = setInterval(() => {
      const now = performance.now()
      this.longestMs = Math.max(this.longestMs, now - this.#sampledMs - sampleIntervalMs)
      this.#sampledMs = now
    }, sampleIntervalMs)
    t.teardown(() => clearInterval(timer))
  }
}
