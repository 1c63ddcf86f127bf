/**
 * Reads long bodies one slice per millisecond, round robin: however much members upload, most of the thread is left to short requests.
 * The limit is half a gigabit a second, above most clients' bandwidth. It applies only if a short request arrived recently.
 */

const sliceIntervalMs = 1
/** Minimum bytes per slice, in however small chunks they arrive; one read of a socket may return twice as much. */
export const sliceBytes = 32 * 1024
const quietWindowMs = 100

interface PausableBody {
  pause(): unknown
  resume(): unknown
}

export class BodyReadScheduler {
  readonly #queue: PausableBody[] = []
  readonly #now: () => number
  readonly #reads = new Set<(reason: Error) => void>()
  #smallRequestAt = -Infinity

  /** @param now monotonic time in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Registers a body that is being read; `abortAll` calls `abort`. */
  beginRead(abort: (reason: Error) => void): void {
    this.#reads.add(abort)
  }

  endRead(abort: (reason: Error) => void): void {
    this.#reads.delete(abort)
  }

  /** Rejects every body that is being read. */
  abortAll(reason: Error): void {
    for (const abort of this.#reads) abort(reason)
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
