/**
 * Reads long bodies one slice per millisecond, round robin: however much members upload, most of the thread is left to short requests.
 * The limit is half a gigabit a second, above most clients' bandwidth. It applies only if a short request arrived recently.
 *
 * A body that stops arriving, or that arrives too slowly to be whole within the time of a request, is ended, so that it cannot hold its part
 * of the budget (`src/access/limits/body-budget.ts`) for minutes.
 */
import { systemClock } from '../clock.ts'
import type { Clock, Timer } from '../clock.ts'
import { IndexedList } from '../indexed-list.ts'
import type { IndexedItem } from '../indexed-list.ts'

const sliceIntervalMs = 1
/** Minimum bytes per slice, in however small chunks they arrive; one read of a socket may return twice as much. */
export const sliceBytes = 32 * 1024
const quietWindowMs = 100
const checkIntervalMs = 5_000
/** Checks in a row without a byte after which a body counts as abandoned. */
const maxIdleChecks = 3
/** Checks before the rate of a body matters, and those until it must be whole. */
const graceChecks = 2
const maxChecks = 24

interface PausableBody {
  pause(): unknown
  resume(): unknown
}

/** A body that is being read. */
export interface BodyRead extends IndexedItem {
  /** Null for a chunked body. */
  readonly declaredBytes: number | null
  receivedBytes: number
  /** Kept by the scheduler from its first check on. */
  progress?: ReadProgress
  abort(reason: Error): void
}

interface ReadProgress {
  checks: number
  idleChecks: number
  bytesAtLastCheck: number
}

export class BodyReadScheduler {
  readonly #queue: PausableBody[] = []
  readonly #now: () => number
  readonly #clock: Clock
  readonly #reads = new IndexedList<BodyRead>()
  #checkTimer: Timer | undefined
  #smallRequestAt = -Infinity

  /** @param now monotonic time in milliseconds, by which a short request counts as recent */
  constructor(now: () => number, clock = systemClock) {
    this.#now = now
    this.#clock = clock
  }

  /** Registers a body that is being read; `abortAll` and `abortSlow` call its `abort`. */
  beginRead(read: BodyRead): void {
    this.#reads.add(read)
  }

  endRead(read: BodyRead): void {
    this.#reads.remove(read)
  }

  /** Rejects every body that is being read. */
  abortAll(reason: Error): void {
    this.#reads.forEach((read) => read.abort(reason))
  }

  /** Calls `abortSlow` from now on until `stopChecks`. */
  startChecks(createReason: () => Error): void {
    this.#checkTimer = this.#clock.every(checkIntervalMs, () => this.abortSlow(createReason)).unref()
  }

  stopChecks(): void {
    this.#checkTimer?.cancel()
  }

  /** Rejects the bodies that have stopped arriving or are too slow; called every five seconds. */
  abortSlow(createReason: () => Error): void {
    this.#reads.forEach((read) => {
      if (isTooSlow(read)) read.abort(createReason())
    })
  }

  /** Records a small request; long bodies yield for the next 100 ms. */
  noteSmallRequest(): void {
    this.#smallRequestAt = this.#now()
  }

  /** Pauses a body that has sent a slice until its next slot. */
  yieldSlice(body: PausableBody): void {
    if (this.#now() - this.#smallRequestAt > quietWindowMs) return
    body.pause()
    if (this.#queue.push(body) === 1) this.#clock.after(sliceIntervalMs, () => this.#resumeNext())
  }

  #resumeNext(): void {
    this.#queue[0]?.resume()
    this.#queue.shift()
    if (this.#queue.length > 0) this.#clock.after(sliceIntervalMs, () => this.#resumeNext())
  }
}

/** Counts a check, and decides. */
function isTooSlow(read: BodyRead): boolean {
  const { declaredBytes, receivedBytes } = read
  const progress = (read.progress ??= { checks: 0, idleChecks: 0, bytesAtLastCheck: 0 })
  progress.checks++
  progress.idleChecks = receivedBytes === progress.bytesAtLastCheck ? progress.idleChecks + 1 : 0
  progress.bytesAtLastCheck = receivedBytes
  if (progress.idleChecks >= maxIdleChecks || progress.checks >= maxChecks) return true
  const expectedPart = (progress.checks - graceChecks) / (maxChecks - graceChecks)
  return declaredBytes !== null && receivedBytes < declaredBytes * expectedPart
}
