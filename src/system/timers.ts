/**
 * Waiting timers in the order in which they become due. It has no clock: its owner says when time has passed. A binary heap, so that starting
 * and cancelling one of many thousands stays cheap.
 */

/** Keeps its process running until it has fired or is cancelled, as Node's timers do. */
export interface Timer {
  cancel(): void
  /** Waits for the whole time again, also after it has fired or was cancelled. */
  restart(): void
  /** No longer keeps the process running. Returns itself. */
  unref(): Timer
}

interface TimersOptions {
  /** The time by which timers become due. */
  readonly now: () => number
  /** Called before the first timer waits, so that the owner's time is right. */
  readonly onFirst?: () => void
  /** Called when `nextDueMs` may be earlier than before, or `keepsRunning` may differ. */
  readonly onChange: () => void
}

interface TimerSettings {
  readonly ms: number
  readonly work: () => void
  readonly isRepeated: boolean
}

export class Timers {
  readonly #options: TimersOptions
  readonly #heap: HeapTimer[] = []
  /** Number of waiting timers that keep the process running. */
  #keepers = 0
  #startedCount = 0

  constructor(options: TimersOptions) {
    this.#options = options
  }

  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs
  }

  get keepsRunning(): boolean {
    return this.#keepers > 0
  }

  start(settings: TimerSettings): Timer {
    const timer = new HeapTimer(this, settings)
    this.restart(timer)
    return timer
  }

  /** Calls the work of the timers that are due at this time. If one throws, the others stay. */
  runDue(now: number): void {
    for (let timer = this.#heap[0]; timer !== undefined && timer.dueMs <= now; timer = this.#heap[0]) {
      this.#remove(timer)
      if (timer.isRepeated) this.#add(timer)
      timer.work()
    }
  }

  restart(timer: HeapTimer): void {
    this.#remove(timer)
    if (this.#heap.length === 0) this.#options.onFirst?.()
    this.#add(timer)
    this.#options.onChange()
  }

  cancel(timer: HeapTimer): void {
    this.#remove(timer)
    this.#options.onChange()
  }

  unref(timer: HeapTimer): void {
    if (timer.isKeeper && timer.heapIndex !== -1) this.#keepers--
    timer.isKeeper = false
    this.#options.onChange()
  }

  #add(timer: HeapTimer): void {
    timer.dueMs = this.#options.now() + timer.ms
    timer.order = this.#startedCount++
    if (timer.isKeeper) this.#keepers++
    this.#moveUp(timer, this.#heap.length)
  }

  #remove(timer: HeapTimer): void {
    const index = timer.heapIndex
    if (index === -1) return
    timer.heapIndex = -1
    if (timer.isKeeper) this.#keepers--
    const last = this.#heap.pop()
    if (last === undefined || last === timer) return
    this.#moveUp(last, index)
    this.#moveDown(last, last.heapIndex)
  }

  #moveUp(timer: HeapTimer, from: number): void {
    let index = from
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#heap[parentIndex]
      if (parent === undefined || isBefore(parent, timer)) break
      this.#place(parent, index)
      index = parentIndex
    }
    this.#place(timer, index)
  }

  #moveDown(timer: HeapTimer, from: number): void {
    let index = from
    for (;;) {
      const leftIndex = 2 * index + 1
      const [left, right] = [this.#heap[leftIndex], this.#heap[leftIndex + 1]]
      if (left === undefined) break
      const isRight = right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (isBefore(timer, child)) break
      this.#place(child, index)
      index = isRight ? leftIndex + 1 : leftIndex
    }
    this.#place(timer, index)
  }

  #place(timer: HeapTimer, index: number): void {
    this.#heap[index] = timer
    timer.heapIndex = index
  }
}

class HeapTimer implements Timer {
  readonly #timers: Timers
  readonly ms: number
  readonly work: () => void
  readonly isRepeated: boolean
  dueMs = 0
  /** Timers that are due at the same time fire in the order in which they were started. */
  order = 0
  /** -1 while it does not wait. */
  heapIndex = -1
  isKeeper = true

  constructor(timers: Timers, { ms, work, isRepeated }: TimerSettings) {
    this.#timers = timers
    // A timer never fires in the round in which it was started.
    this.ms = Math.max(1, ms)
    this.work = work
    this.isRepeated = isRepeated
  }

  cancel(): void {
    this.#timers.cancel(this)
  }

  restart(): void {
    this.#timers.restart(this)
  }

  unref(): Timer {
    this.#timers.unref(this)
    return this
  }
}

function isBefore(one: HeapTimer, other: HeapTimer): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order)
}
