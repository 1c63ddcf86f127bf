import type { Clock } from '../../system/clock.ts'

/**
 * Limits concurrent calls to one upstream. Excess calls queue for a bounded time in a bounded queue, or are rejected; the dispatcher below
 * would queue without limits.
 */
export class UpstreamConcurrencyLimiter {
  #options: UpstreamConcurrencyLimiterOptions
  #running = 0
  /** First come, first served: each entry grants a slot. */
  readonly #queue: (() => void)[] = []

  constructor(options: UpstreamConcurrencyLimiterOptions) {
    this.#options = options
  }

  /** Bounds further calls; running and queued ones stay. */
  configure(options: UpstreamConcurrencyLimiterOptions): void {
    this.#options = options
    this.#grantNext()
  }

  get running(): number {
    return this.#running
  }

  get pending(): number {
    return this.#queue.length
  }

  /** Takes a slot if one is free and the queue is empty. Each acquired slot must be returned with `release`. */
  tryAcquire(): boolean {
    if (this.#running >= this.#options.slots || this.#queue.length > 0) return false
    this.#running++
    return true
  }

  /** Waits for a slot. Resolves to false if the queue is full, the time is up, or the function passed to `onCancel` was called. */
  acquire(clock: Clock, onCancel: (cancel: () => void) => void): Promise<boolean> {
    if (this.#queue.length >= this.#options.maxPending) return Promise.resolve(false)
    return new Promise((resolve) => {
      const grant = (): void => {
        timer.cancel()
        resolve(true)
      }
      const cancel = (): void => {
        const index = this.#queue.indexOf(grant)
        if (index === -1) return
        this.#queue.splice(index, 1)
        timer.cancel()
        resolve(false)
      }
      const timer = clock.after(this.#options.maxPendingMs, cancel)
      this.#queue.push(grant)
      onCancel(cancel)
    })
  }

  /** Returns a slot, which goes to the first in the queue. */
  release(): void {
    this.#running--
    this.#grantNext()
  }

  #grantNext(): void {
    while (this.#running < this.#options.slots) {
      const grant = this.#queue.shift()
      if (grant === undefined) return
      this.#running++
      grant()
    }
  }
}

interface UpstreamConcurrencyLimiterOptions {
  /** Maximum concurrent calls. */
  readonly slots: number
  /** Maximum queued calls. */
  readonly maxPending: number
  readonly maxPendingMs: number
}
