/** The lane, seen from the thread that serves: a thread of its own has it, so that what it costs stands in nobody's way. */
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import type { BookResult } from '../ledger/operations.ts'
import type { LaneOp } from './batch.ts'
import { unavailable } from './failures.ts'

export interface LaneFigures {
  readonly queue: number
  readonly commits: number
  readonly operations: number
  readonly commitSeconds: readonly number[]
  readonly holdsOpen: number
  readonly syncs: number
  readonly writable: boolean
  /** Endings that wait because no transaction can be made. */
  readonly owed: number
  readonly owedSince: number | null
}

/** What a lane does, wherever it runs. */
export interface LedgerLane {
  submit(op: LaneOp): Promise<BookResult>
  giveBack(owner: number, at: number, until?: number): Promise<number>
  figures(): LaneFigures
  close(ms: number): Promise<void>
}

export interface LaneStart {
  readonly url: string
}

export type Numbered<What> = readonly [number: number, what: What]

export type ToLane =
  /** `owner`: this node, as the database knows it now. `isAgain`: another thread may have done these already. */
  | readonly [kind: 'ops', owner: number, isAgain: boolean, ops: readonly Numbered<LaneOp>[]]
  | readonly [kind: 'give back', owner: number, call: Numbered<readonly [whose: number, at: number, until: number | undefined]>]
  | readonly [kind: 'close', ms: number]

export type Answered = BookResult | readonly [kind: 'given', count: number] | LaneFault
export type LaneFault = readonly [kind: 'fault', isUnavailable: boolean, message: string]

/** Answers as they come, and how the lane is; after the last one of a closed lane, the thread ends. */
export type FromLane = readonly [answers: readonly Numbered<Answered>[], figures: LaneFigures]

interface Call {
  /** Null: not for a new thread to do again. */
  readonly op: LaneOp | null
  readonly settle: (answer: Answered) => void
}

const noFigures: LaneFigures = {
  queue: 0,
  commits: 0,
  operations: 0,
  syncs: 0,
  commitSeconds: [],
  holdsOpen: 0,
  writable: true,
  owed: 0,
  owedSince: null,
}

export class LaneLink implements LedgerLane {
  readonly #start: LaneStart
  readonly #owner: () => number
  readonly #calls = new Map<number, Call>()
  #worker: Worker
  #count = 0
  /** Of this round of the loop. */
  #leaving: Numbered<LaneOp>[] = []
  #figures = noFigures
  /** Of commits since somebody asked. */
  #seconds: number[] = []
  #isClosed = false
  #gone: Promise<void> | undefined

  constructor(start: LaneStart, owner: () => number) {
    this.#start = start
    this.#owner = owner
    this.#worker = this.#open()
  }

  async submit(op: LaneOp): Promise<BookResult> {
    const answer = await this.#call(op, (number) => {
      this.#leaving.push([number, op])
      if (this.#leaving.length === 1) setImmediate(() => this.#leave())
    })
    if (answer[0] === 'given') throw new Error('the lane answered another question')
    return answer
  }

  async giveBack(whose: number, at: number, until?: number): Promise<number> {
    const answer = await this.#call(null, (number) => this.#post(['give back', this.#owner(), [number, [whose, at, until]]]))
    if (answer[0] !== 'given') throw new Error('the lane answered another question')
    return answer[1]
  }

  figures(): LaneFigures {
    const commitSeconds = this.#seconds
    this.#seconds = []
    return { ...this.#figures, queue: this.#calls.size, commitSeconds }
  }

  close(ms: number): Promise<void> {
    return (this.#gone ??= this.#close(ms))
  }

  async #close(ms: number): Promise<void> {
    this.#isClosed = true
    const worker = this.#worker
    const gone = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    setImmediate(() => worker.postMessage(['close', ms] satisfies ToLane))
    await gone
  }

  async #call(op: LaneOp | null, send: (number: number) => void): Promise<Exclude<Answered, LaneFault>> {
    if (this.#isClosed) throw unavailable()
    const answer = await new Promise<Answered>((settle) => {
      this.#count += 1
      this.#calls.set(this.#count, { op, settle })
      send(this.#count)
    })
    if (answer[0] !== 'fault') return answer
    const [, isUnavailable, message] = answer
    const cause = new Error(message)
    throw isUnavailable ? unavailable(cause) : new GatewayError('internal_error', { retryAfter: 1, cause })
  }

  #leave(): void {
    const ops = this.#leaving
    this.#leaving = []
    this.#post(['ops', this.#owner(), false, ops])
  }

  #post(message: ToLane): void {
    this.#worker.postMessage(message)
  }

  #open(): Worker {
    // In the checkout this file and the thread's are TypeScript, in the published package both are JavaScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
    const worker = new Worker(new URL(`./lane-thread${extension}`, import.meta.url), { workerData: this.#start })
    worker.unref()
    worker.on('message', ([answers, figures]: FromLane) => {
      this.#figures = figures
      for (const seconds of figures.commitSeconds) this.#seconds.push(seconds)
      for (const [number, answer] of answers) this.#answer(number, answer)
    })
    let why = 'the thread of the ledger has ended'
    worker.on('error', (error) => (why = `the thread of the ledger died: ${String(error)}`))
    worker.on('exit', () => this.#ended(worker, why))
    return worker
  }

  #answer(number: number, answer: Answered): void {
    const call = this.#calls.get(number)
    this.#calls.delete(number)
    call?.settle(answer)
  }

  /** What names what it makes is done again by a new thread; a hold whose name died with the old one ends with its lease. */
  #ended(worker: Worker, why: string): void {
    if (worker !== this.#worker) return
    const again: Numbered<LaneOp>[] = []
    const leaving = new Set(this.#leaving.map(([number]) => number))
    for (const [number, { op }] of this.#calls) {
      if (leaving.has(number)) continue
      if (this.#isClosed || op === null || op[0] === 'reserve') this.#answer(number, ['fault', this.#isClosed, why])
      else again.push([number, op])
    }
    if (this.#isClosed) return
    this.#worker = this.#open()
    if (again.length > 0) this.#post(['ops', this.#owner(), true, again])
  }
}
