/**
 * Buffers frames that streams write within one flush interval: the cost of a write does not depend on its size and equals all other work
 * for an event. A stream whose events are further apart than the interval is never delayed.
 */
import { IndexedList } from '../../system/indexed-list.ts'
import type { IndexedItem } from '../../system/indexed-list.ts'
import { systemClock } from '../../system/clock.ts'
import type { Timer } from '../../system/clock.ts'

/** Two events within this time appear simultaneous to readers and programs. */
const flushIntervalMs = 4

export interface CoalescedStream extends IndexedItem {
  /** Writes the buffered frames. False if there were none; the next frame is then written at once. */
  flush(): boolean
}

export class WriteCoalescer {
  readonly #streams = new IndexedList<CoalescedStream>()
  #timer: Timer | undefined

  add(stream: CoalescedStream): void {
    this.#streams.add(stream)
    if (this.#streams.size > 1) return
    // One timer for all streams, so most of them wait for less than one interval.
    if (this.#timer === undefined) this.#timer = systemClock.after(flushIntervalMs, () => this.#flushAll())
    else this.#timer.restart()
  }

  #flushAll(): void {
    this.#streams.forEach((stream) => {
      if (!stream.flush()) this.#streams.remove(stream)
    })
    if (this.#streams.size > 0) this.#timer?.restart()
  }
}
