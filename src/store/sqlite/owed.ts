/**
 * Endings of turns on their way to the ledger. One that the database cannot take just now is *owed*: written to the journal, so that it
 * outlives the process, and tried again until the ledger has it. Trying again is safe also where a commit is in doubt, because a hold ends once.
 */
import { GatewayError } from '../../errors.ts'
import type { Result } from './protocol.ts'
import type { EndingOrder } from '../ledger/endings.ts'
import { toOp } from '../ledger/endings.ts'
import type { OwedJournal } from './owed-journal.ts'
import type { Writer } from './writer.ts'
import { isNotFlushed, isRefusal } from './database-error.ts'

/** More than this many owed, and no new turn is begun: each would only owe one more. */
export const owedLimit = 1_000
/** An ending that the writer has had for so long goes to the journal as well: what holds it up may last. */
const patienceMs = 1_000
/** So long whoever waits for an ending that neither ledger nor journal takes is kept waiting; it stays owed all the same. */
const defaultAnswerWithinMs = 5_000
const lookEveryMs = 100
const firstPauseMs = 100
const longestPauseMs = 5_000
/** Tried at a time: one commit's worth. */
const atOnce = 512

/** What the operator hears of it. */
export interface OwedLog {
  info(facts: object, text: string): void
  error(facts: object, text: string): void
  fatal(facts: object, text: string): void
}

type Journal = Pick<OwedJournal, 'write' | 'clear' | 'close'>

interface Owing {
  readonly order: EndingOrder
  /** By the clock of durations. */
  readonly from: number
  readonly resolve: (result: Result | 'journaled') => void
  readonly reject: (error: unknown) => void
  /** In the list, which each that goes gives to the last. */
  place: number
  /** How often the writer has refused it. */
  tries: number
  underway: boolean
  owed: boolean
  journal: 'none' | 'writing' | 'has it'
  /** Whoever waits for it has heard. */
  told: boolean
  refusal: unknown
}

export class Owed {
  readonly #writer: Writer
  readonly #journal: Journal
  readonly #log: OwedLog
  readonly #answerWithinMs: number
  /** All that the ledger does not have yet; a plain list, as for everything that comes and goes with turns. */
  readonly #all: Owing[] = []
  readonly #timer: NodeJS.Timeout
  #count = 0
  /**
   * How often the disk was found not to have taken the database's log. Holds may be missing on it from then on, until the ledger has taken
   * something that was given to it later: it mends its log first.
   */
  #doubts = 0
  /** Up to which of these that is so. */
  #mended = 0
  /** Written since the first of these was owed. */
  #written = 0
  #retrying = false
  #isClosed = false
  #pauseMs = 0
  #nextTry = 0

  constructor(writer: Writer, journal: Journal, log: OwedLog, answerWithinMs = defaultAnswerWithinMs) {
    this.#answerWithinMs = answerWithinMs
    this.#writer = writer
    this.#journal = journal
    this.#log = log
    this.#timer = setInterval(() => this.#look(performance.now()), lookEveryMs).unref()
  }

  /** Endings that a dead process owed, and that its sweep has written. */
  inherited(count: number): void {
    if (count > 0) this.#log.info({ written: count }, 'the ledger has taken what a process owed when it died')
  }

  get count(): number {
    return this.#count
  }

  /** When the oldest of them became known. */
  get since(): number | null {
    if (this.#count === 0) return null
    return this.#all.reduce((since, { owed, order }) => (owed && order.at < since ? order.at : since), Infinity)
  }

  /** Holds whose ending is known. */
  holds(): readonly number[] {
    return this.#all.map(({ order }) => order.hold)
  }

  /**
   * Resolves once the ending is durable: in the ledger, or in the journal with its hold on the disk. Throws when it is in neither after some
   * seconds, though it stays owed; and when the ending itself is at fault.
   */
  end(order: EndingOrder): Promise<Result | 'journaled'> {
    if (this.#isClosed) {
      this.#log.fatal({ lost: [order] }, 'a settlement came after the store was closed, and is lost')
      return Promise.reject(closed())
    }
    return new Promise((resolve, reject) => {
      const owing: Owing = {
        order,
        from: performance.now(),
        resolve,
        reject,
        place: this.#all.length,
        tries: 0,
        underway: false,
        owed: false,
        journal: 'none',
        told: false,
        refusal: undefined,
      }
      this.#all.push(owing)
      void this.#try(owing)
      // The last commit was refused: this one may be as well, and its client need not wait for that.
      if (!this.#writer.writable) this.#owe(owing)
    })
  }

  /** Tries until nothing is owed or the time is over. */
  async drain(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs
    while (this.#all.length > 0 && performance.now() < deadline) {
      this.#nextTry = 0
      this.#look(performance.now())
      await new Promise((resolve) => setTimeout(resolve, Math.min(lookEveryMs, withinMs)))
    }
  }

  /** After the writer has gone. What is still owed stays in the journal for the next start. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#isClosed = true
    const left = [...this.#all]
    for (const owing of left) this.#write(owing)
    await this.#journal.close(left.length > 0)
    if (left.length === 0) return
    // Whoever still waits hears no more of it; where the journal has it they have been told.
    for (const owing of left) owing.reject(owing.refusal ?? closed())
    const lost = left.filter(({ journal }) => journal !== 'has it').map(({ order }) => order)
    if (lost.length === 0) this.#log.error({ owed: left.length }, 'settlements are owed; the journal has them for the next start')
    else this.#log.fatal({ owed: left.length, lost }, 'settlements are lost: neither the ledger nor the journal could be written')
  }

  async #try(owing: Owing): Promise<void> {
    owing.underway = true
    const doubts = this.#doubts
    try {
      const result = await this.#writer.submit(toOp(owing.order), true)
      this.#mended = Math.max(this.#mended, doubts)
      this.#remove(owing)
      owing.resolve(result)
    } catch (error) {
      owing.underway = false
      owing.tries += 1
      owing.refusal = error
      if (isNotFlushed(error)) this.#doubts += 1
      if (isRefusal(error)) return this.#owe(owing)
      // The database could be written, and this ending could not: no later try would go better.
      if (owing.owed) this.#log.fatal({ err: error, lost: [owing.order] }, 'a settlement that was owed cannot be written')
      this.#remove(owing)
      owing.reject(error)
    }
  }

  #owe(owing: Owing): void {
    if (!owing.owed) {
      owing.owed = true
      this.#count += 1
      if (this.#count === 1) {
        this.#written = 0
        this.#log.error(
          { err: causeOf(owing.refusal) },
          'settlements are owed: the ledger does not take them, and is asked again until it does',
        )
      }
    }
    this.#write(owing)
  }

  #write(owing: Owing): void {
    if (owing.journal !== 'none') return
    owing.journal = 'writing'
    this.#journal.write(owing.order).then(
      (hasHold) => {
        owing.journal = 'has it'
        if (!hasHold) this.#doubts += 1
        if (this.#doubts > this.#mended) return
        owing.told = true
        owing.resolve('journaled')
      },
      (error: unknown) => {
        owing.journal = 'none'
        owing.refusal ??= error
      },
    )
  }

  /** The ledger has it, or never will. */
  #remove(owing: Owing): void {
    const last = this.#all.pop()
    if (last !== undefined && last !== owing) {
      this.#all[owing.place] = last
      last.place = owing.place
    }
    if (!owing.owed) return
    this.#count -= 1
    this.#written += 1
    if (this.#count > 0) return
    this.#journal.clear()
    this.#log.info({ written: this.#written }, 'the ledger has taken what was owed')
  }

  #look(now: number): void {
    if (this.#all.length === 0) return
    for (const owing of this.#all) {
      if (owing.owed || now - owing.from >= patienceMs) this.#owe(owing)
      if (owing.owed && !owing.told && now - owing.from >= this.#answerWithinMs)
        owing.reject(owing.refusal ?? new GatewayError('internal_error', { cause: new Error('the ledger does not answer') }))
    }
    if (this.#count > 0 && !this.#retrying && now >= this.#nextTry) void this.#retry()
  }

  /** Those first that have been tried least, so that one which can never be written stands in nobody's way. */
  async #retry(): Promise<void> {
    this.#retrying = true
    const waiting = this.#all.filter(({ underway }) => !underway)
    const some = waiting.toSorted((one, other) => one.tries - other.tries).slice(0, atOnce)
    await Promise.all(some.map((owing) => this.#try(owing)))
    const progress = some.length === 0 || some.some(({ underway }) => underway)
    this.#pauseMs = progress ? 0 : Math.min(Math.max(firstPauseMs, this.#pauseMs * 2), longestPauseMs)
    this.#nextTry = performance.now() + this.#pauseMs
    this.#retrying = false
  }
}

function closed(): GatewayError {
  return new GatewayError('internal_error', { cause: new Error('the store is closed') })
}

/** What the database said, without our own words around it. */
function causeOf(refusal: unknown): unknown {
  return refusal instanceof GatewayError ? (refusal.cause ?? refusal) : refusal
}
