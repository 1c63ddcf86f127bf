/**
 * Requests a minute that several nodes count together. What is asked within one round of the event loop goes in one call. Where the last word
 * on a subject was a refusal, it is refused here until that time is over: others can only have used more.
 *
 * A book that is lost, or slow, lets nobody in without a limit and keeps nobody out: each node then allows its share, which it has counted all
 * along. A try a second, beside the requests, finds out when the book is back.
 */
import type { Clock } from '../../system/clock.ts'
import { answered } from '../answered.ts'
import type { Ask, LimitBook } from './book.ts'
import { proof } from './book.ts'
import type { ElsewhereVitals, OwnRateLimit, RateDecision, RateLimit } from './limits.ts'
import { decide, minuteMs, requestUnits, unitsLeft } from './limits.ts'

export interface ElsewhereOptions {
  /** Opens the book, which has then answered once. */
  readonly open: () => Promise<LimitBook>
  /** As it is called in sentences. */
  readonly name: string
  /** Counts this node's own requests, against its share. */
  readonly own: OwnRateLimit
  /** How many nodes share the limits now; at least 1. */
  readonly nodes: () => number
  readonly clock: Clock
  /** A book that takes longer to answer has not answered; default 50 ms. */
  readonly patienceMs?: number
  /** In words, without secrets. */
  readonly onLost: (why: string) => void
  readonly onBack: (lostMs: number) => void
}

/** A turn waits for it. */
const defaultPatienceMs = 50
const retryMs = 1_000
const sweepEveryMs = 30_000

interface Waiting extends Ask {
  count: number
  readonly resolvers: ((decision: RateDecision) => void)[]
}

/** What a subject had used when it was refused. */
interface Full {
  readonly units: number
  readonly at: number
  readonly perMinute: number
}

export class LimitsElsewhere implements RateLimit {
  readonly #options: ElsewhereOptions
  readonly #patienceMs: number
  #book: LimitBook | null = null
  #lostSince: number | null = null
  #alone = 0
  #round = new Map<string, Waiting>()
  readonly #full = new Map<string, Full>()
  #sweptAt = 0
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ElsewhereOptions) {
    this.#options = options
    this.#patienceMs = options.patienceMs ?? defaultPatienceMs
  }

  /** Resolves when the first try is over, whatever came of it. */
  async open(): Promise<void> {
    const { open, clock, onLost, onBack } = this.#options
    try {
      const book = await open()
      // The time a turn would wait is the time it has to show.
      await answered(book.take(proof), this.#patienceMs).catch((error: unknown) => {
        book.close()
        throw error
      })
      if (this.#isClosed) return book.close()
      this.#book = book
      const since = this.#lostSince
      this.#lostSince = null
      if (since !== null) onBack(clock.now() - since)
    } catch (error) {
      if (this.#isClosed) return
      if (this.#lostSince === null) {
        this.#lostSince = clock.now()
        onLost(sentenceOf(error))
      }
      this.#tryLater()
    }
  }

  take(subject: string, perMinute: number, ticks: number): RateDecision | Promise<RateDecision> {
    const refused = this.#stillFull(subject, perMinute, ticks)
    if (refused !== undefined) return refused
    if (this.#book === null) return this.#decideAlone(subject, perMinute, ticks)
    return new Promise((resolve) => this.#ask(subject, perMinute, resolve))
  }

  get vitals(): ElsewhereVitals {
    return { name: this.#options.name, lostSince: this.#lostSince, alone: this.#alone, nodes: this.#options.nodes() }
  }

  /** What was asked is decided by this node's share. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#book?.close()
    this.#book = null
  }

  #stillFull(subject: string, perMinute: number, ticks: number): RateDecision | undefined {
    const full = this.#full.get(subject)
    if (full === undefined) return undefined
    // By another limit only the book can tell.
    if (full.perMinute === perMinute) {
      const decision = decide(unitsLeft(full.units, Math.max(0, Math.ceil(ticks - full.at)), perMinute), perMinute)
      if (!decision.allowed) return decision
    }
    this.#full.delete(subject)
    return undefined
  }

  #decideAlone(subject: string, perMinute: number, ticks: number): RateDecision {
    this.#alone += 1
    // A limit smaller than the number of nodes still lets one in at each.
    return { ...this.#options.own.take(subject, this.#share(perMinute), ticks), limit: perMinute }
  }

  #share(perMinute: number): number {
    return Math.max(1, Math.floor(perMinute / this.#options.nodes()))
  }

  #ask(subject: string, perMinute: number, resolve: (decision: RateDecision) => void): void {
    // Who gets another plan in this very round begins another one.
    if (this.#round.size > 0 && (this.#round.get(subject)?.perMinute ?? perMinute) !== perMinute) this.#send()
    if (this.#round.size === 0) setImmediate(() => this.#send())
    const waiting = this.#round.get(subject)
    if (waiting === undefined) this.#round.set(subject, { subject, perMinute, count: 1, resolvers: [resolve] })
    else {
      waiting.count += 1
      waiting.resolvers.push(resolve)
    }
  }

  #send(): void {
    const asked = [...this.#round.values()]
    this.#round = new Map()
    if (asked.length === 0) return
    const book = this.#book
    if (book === null) return this.#answerAlone(asked)
    answered(book.take(asked), this.#patienceMs).then(
      (used) => this.#answer(asked, used),
      (error: unknown) => {
        this.#lose(book, error)
        this.#answerAlone(asked)
      },
    )
  }

  #answer(asked: readonly Waiting[], used: readonly number[]): void {
    const ticks = this.#options.clock.ticks()
    this.#sweep(ticks)
    for (const [i, { subject, perMinute, resolvers }] of asked.entries()) {
      let units = used[i] ?? 0
      for (const resolve of resolvers) {
        const decision = decide(units, perMinute)
        if (decision.allowed) {
          units += requestUnits
          this.#options.own.take(subject, this.#share(perMinute), ticks)
        } else if (this.#full.get(subject)?.at !== ticks) {
          this.#full.set(subject, { units, at: ticks, perMinute })
          // Where all is used, so is this node's share, whoever of them used it.
          while (this.#options.own.take(subject, this.#share(perMinute), ticks).allowed);
        }
        resolve(decision)
      }
    }
  }

  #answerAlone(asked: readonly Waiting[]): void {
    const ticks = this.#options.clock.ticks()
    for (const { subject, perMinute, resolvers } of asked)
      for (const resolve of resolvers) resolve(this.#decideAlone(subject, perMinute, ticks))
  }

  #lose(book: LimitBook, error: unknown): void {
    // Several calls may have been under way to the one that is lost.
    if (this.#book !== book) return
    this.#book = null
    this.#lostSince = this.#options.clock.now()
    book.close()
    this.#options.onLost(sentenceOf(error))
    this.#tryLater()
  }

  #tryLater(): void {
    this.#retry = setTimeout(() => void this.open(), retryMs).unref()
  }

  /** A refusal is over within a minute. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEveryMs) return
    this.#sweptAt = now
    for (const [subject, { at }] of this.#full) if (now - at >= minuteMs) this.#full.delete(subject)
  }
}

/** What an operator should know of it now; null: nothing. */
export function aloneSentence({ name, lostSince, nodes }: ElsewhereVitals): string | null {
  if (lostSince === null) return null
  const share = nodes === 1 ? 'the whole of each limit' : `1/${nodes} of each limit`
  return `${name} is lost since ${new Date(lostSince).toISOString()}; until it is back this node allows ${share} by itself`
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
