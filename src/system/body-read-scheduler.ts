/**
 * Reads long bodies one slice per millisecond, round robin: however much members upload, most of the thread is left to short requests.
 * The limit is half a gigabit a second, above most clients' bandwidth. It applies only if a short request arrived recently.
 *
 * A body that stops arriving, or that arrives too slowly to be whole within the time of a request, is ended, so that it cannot hold its part
 * of the budget (`src/access/limits/body-budget.ts`) for minutes.
 */

const sliceIntervalMs = 1
/** Minimum bytes per slice, in however small chunks they arrive; one read of a socket may return twice as much. */
export const sliceBytes = 32 * 1024
const quietWindowMs = 100
/** Time is counted in checks: a process that was stalled has not looked at what arrived meanwhile. */
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
export interface BodyRead {
  /** Null for a chunked body. */
  readonly declaredBytes: number | null
  receivedBytes: number
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
  readonly #reads = new Map<BodyRead, ReadProgress>()
  #checkTimer: NodeJS.Timeout | undefined
  #smallRequestAt = -Infinity

  /** @param now monotonic time in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Registers a body that is being read; `abortAll` and `abortSlow` call its `abort`. */
  beginRead(read: BodyRead): void {
    this.#reads.set(read, { checks: 0, idleChecks: 0, bytesAtLastCheck: 0 })
  }

  endRead(read: BodyRead): void {
    this.#reads.delete(read)
  }

  /** Rejects every body that is being read. */
  abortAll(reason: Error): void {
    for (const read of this.#reads.keys()) read.abort(reason)
  }

  /** Calls `abortSlow` from now on until `stopChecks`. */
  startChecks(createReason: () => Error): void {
    this.#checkTimer = setInterval(() => this.abortSlow(createReason), checkIntervalMs).unref()
  }

  stopChecks(): void {
    clearInterval(this.#checkTimer)
  }

  /** Rejects the bodies that have stopped arriving or are too slow; called every five seconds. */
  abortSlow(createReason: () => Error): void {
    for (const [read, progress] of this.#reads) if (isTooSlow(read, progress)) read.abort(createReason())
  }

  /** Records a small request; long bodies yield for the next 100 ms. */
  noteSmallRequest(): void {
    this.#smallRequestAt = this.#now()
  }

  /** Pauses a body that has sent a slice until its next slot. */
  yieldSlice(body: PausableBody): void {
    if (this.#now() - this.#smallRequestAt > quietWindowMs) return
    body.pause()
    if (this.#queue.push(body) === 1) setTimeout(() => this.#resumeNext(), sliceIntervalMs)
  }

  #resumeNext(): void {
    this.#queue[0]?.resume()
    this.#queue.shift()
    if (this.#queue.length > 0) setTimeout(() => this.#resumeNext(), sliceIntervalMs)
  }
}

/** Counts a check, and decides. */
function isTooSlow({ declaredBytes, receivedBytes }: BodyRead, progress: ReadProgress): boolean {
  progress.checks++
  progress.idleChecks = receivedBytes === progress.bytesAtLastCheck ? progress.idleChecks + 1 : 0
  progress.bytesAtLastCheck = receivedBytes
  if (progress.idleChecks >= maxIdleChecks || progress.checks >= maxChecks) return true
  const expectedPart = (progress.checks - graceChecks) / (maxChecks - graceChecks)
  return declaredBytes !== null && receivedBytes < declaredBytes * expectedPart
}
