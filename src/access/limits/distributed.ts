/**
 * Requests per minute that several nodes count together. The requests of one round of the event loop go in one call. If the store last refused
 * a subject, the subject is refused here until that time is over: other nodes can only have used more.
 *
 * If the store is lost or slow, no request is unlimited and none waits: each node allows its share, which it counts all along. One probe a
 * second, independent of requests, detects when the store is back.
 *
 * A store may also lose its data and live on (FLUSHALL, a restart without persistence, eviction). It then reports less usage than this node
 * alone has been granted, and the node's share is applied besides for a minute.
 */
import type { Clock, Timer } from '../../system/clock.ts'
import type { RateLimitRequest, RateLimitStore } from './rate-limit-store.ts'
import { probe } from './rate-limit-store.ts'
import type { DistributedRateLimitStats, LocalRateLimit, RateDecision, RateLimit } from './limits.ts'
import { decide, minuteMs, requestUnits, decayUnits } from './limits.ts'

interface DistributedRateLimitOptions {
  /** Opens the store, which has then answered once. */
  readonly open: () => Promise<RateLimitStore>
  /** The store's name for log messages. */
  readonly name: string
  /** Counts this node's own requests against its share. */
  readonly local: LocalRateLimit
  /** Current number of nodes that share the limits; at least 1. */
  readonly nodes: () => number
  readonly clock: Clock
  /** How long the store may take to answer; default 50 ms. */
  readonly timeoutMs?: number
  /** `reason`: a sentence without secrets. */
  readonly onUnavailable: (reason: string) => void
  readonly onRecovered: (unavailableMs: number) => void
}

/** Every turn waits for the store. */
const defaultTimeoutMs = 50
const retryDelayMs = 1_000
const sweepEveryMs = 30_000

interface QueuedRequest extends RateLimitRequest {
  count: number
  readonly resolvers: ((decision: RateDecision) => void)[]
}

/** A subject's usage when it was refused. */
interface ExhaustedLimit {
  readonly units: number
  readonly at: number
  readonly perMinute: number
}

/** Units that the store has granted this node for a subject, and until when the store's answers about it are not enough. */
interface OwnUsage {
  units: number
  at: number
  distrustedUntil: number
}

export class DistributedRateLimit implements RateLimit {
  readonly #options: DistributedRateLimitOptions
  readonly #timeoutMs: number
  #store: RateLimitStore | null = null
  #unavailableSince: number | null = null
  #fallbacks = 0
  #queue = new Map<string, QueuedRequest>()
  readonly #exhausted = new Map<string, ExhaustedLimit>()
  readonly #own = new Map<string, OwnUsage>()
  #sweptAt = 0
  #retryTimer: Timer | undefined
  #isClosed = false

  constructor(options: DistributedRateLimitOptions) {
    this.#options = options
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs
  }

  /** Resolves after the first attempt, whatever its result. */
  async open(): Promise<void> {
    const { open, clock, onUnavailable, onRecovered } = this.#options
    try {
      const store = await open()
      // The store must answer within the time that a turn would wait.
      await clock.within(this.#timeoutMs, store.consume(probe)).catch((error: unknown) => {
        store.close()
        throw error
      })
      if (this.#isClosed) return store.close()
      this.#store = store
      const unavailableSince = this.#unavailableSince
      this.#unavailableSince = null
      if (unavailableSince !== null) onRecovered(clock.now() - unavailableSince)
    } catch (error) {
      if (this.#isClosed) return
      if (this.#unavailableSince === null) {
        this.#unavailableSince = clock.now()
        onUnavailable(toMessage(error))
      }
      this.#scheduleRetry()
    }
  }

  consume(subject: string, perMinute: number, monotonicMs: number): RateDecision | Promise<RateDecision> {
    const refusal = this.#checkExhausted(subject, perMinute, monotonicMs)
    if (refusal !== undefined) return refusal
    if (this.#store === null) return this.#decideLocally(subject, perMinute, monotonicMs)
    return new Promise((resolve) => this.#enqueue(subject, perMinute, resolve))
  }

  restore(subject: string, perMinute: number, monotonicMs: number): void {
    this.#exhausted.delete(subject)
    this.#options.local.restore(subject, this.#getNodeShare(perMinute), monotonicMs)
    if (this.#store !== null) this.#enqueue(subject, perMinute, null)
  }

  get stats(): DistributedRateLimitStats {
    return {
      name: this.#options.name,
      unavailableSince: this.#unavailableSince,
      fallbacks: this.#fallbacks,
      nodes: this.#options.nodes(),
    }
  }

  /** Pending requests are decided by this node's share. */
  close(): void {
    this.#isClosed = true
    this.#retryTimer?.cancel()
    this.#store?.close()
    this.#store = null
  }

  #checkExhausted(subject: string, perMinute: number, monotonicMs: number): RateDecision | undefined {
    const exhaustedLimit = this.#exhausted.get(subject)
    if (exhaustedLimit === undefined) return undefined
    // For another limit only the store can decide.
    if (exhaustedLimit.perMinute === perMinute) {
      const decision = decide(
        decayUnits(exhaustedLimit.units, Math.max(0, Math.ceil(monotonicMs - exhaustedLimit.at)), perMinute),
        perMinute,
      )
      if (!decision.allowed) return decision
    }
    this.#exhausted.delete(subject)
    return undefined
  }

  #decideLocally(subject: string, perMinute: number, monotonicMs: number): RateDecision {
    this.#fallbacks += 1
    // A limit smaller than the number of nodes still admits one request on each.
    return { ...this.#options.local.consume(subject, this.#getNodeShare(perMinute), monotonicMs), limit: perMinute }
  }

  #getNodeShare(perMinute: number): number {
    return Math.max(1, Math.floor(perMinute / this.#options.nodes()))
  }

  /** Without `resolve` a request is given back. */
  #enqueue(subject: string, perMinute: number, resolve: ((decision: RateDecision) => void) | null): void {
    // A changed plan within this round begins another round.
    if (this.#queue.size > 0 && (this.#queue.get(subject)?.perMinute ?? perMinute) !== perMinute) this.#flush()
    if (this.#queue.size === 0) setImmediate(() => this.#flush())
    const queuedRequest = this.#queue.get(subject)
    const count = resolve === null ? -1 : 1
    const resolvers = resolve === null ? [] : [resolve]
    if (queuedRequest === undefined) this.#queue.set(subject, { subject, perMinute, count, resolvers })
    else {
      queuedRequest.count += count
      queuedRequest.resolvers.push(...resolvers)
    }
  }

  #flush(): void {
    const requests = [...this.#queue.values()]
    this.#queue = new Map()
    if (requests.length === 0) return
    const store = this.#store
    if (store === null) return this.#answerLocally(requests)
    this.#options.clock.within(this.#timeoutMs, store.consume(requests)).then(
      (used) => this.#answer(requests, used),
      (error: unknown) => {
        this.#markUnavailable(store, error)
        this.#answerLocally(requests)
      },
    )
  }

  #answer(requests: readonly QueuedRequest[], used: readonly number[]): void {
    const monotonicMs = this.#options.clock.monotonicMs()
    this.#sweep(monotonicMs)
    for (const [i, { subject, perMinute, resolvers }] of requests.entries()) {
      let units = used[i] ?? 0
      const ownUsage = this.#updateOwnUsage(subject, perMinute, units, monotonicMs)
      for (const resolve of resolvers) {
        const decision = decide(units, perMinute)
        if (decision.allowed) {
          units += requestUnits
          const share = this.#options.local.consume(subject, this.#getNodeShare(perMinute), monotonicMs)
          if (!share.allowed && ownUsage.distrustedUntil > monotonicMs) {
            resolve({ ...share, limit: perMinute })
            continue
          }
          ownUsage.units += requestUnits
        } else if (this.#exhausted.get(subject)?.at !== monotonicMs) {
          this.#exhausted.set(subject, { units, at: monotonicMs, perMinute })
          // The limit is used up, so this node's share is too, whichever nodes used it.
          while (this.#options.local.consume(subject, this.#getNodeShare(perMinute), monotonicMs).allowed);
        }
        resolve(decision)
      }
    }
  }

  /** @param storedUnits the subject's usage before, as the store reports it */
  #updateOwnUsage(subject: string, perMinute: number, storedUnits: number, now: number): OwnUsage {
    const ownUsage = this.#own.get(subject) ?? { units: 0, at: now, distrustedUntil: 0 }
    ownUsage.units = decayUnits(ownUsage.units, Math.max(0, now - ownUsage.at), perMinute)
    ownUsage.at = now
    // This node records a request when its answer arrives, so its record may be as much younger as an answer takes.
    const tolerance = requestUnits + 2 * this.#timeoutMs * perMinute
    if (ownUsage.units > storedUnits + tolerance) ownUsage.distrustedUntil = now + minuteMs
    this.#own.set(subject, ownUsage)
    return ownUsage
  }

  #answerLocally(requests: readonly QueuedRequest[]): void {
    const monotonicMs = this.#options.clock.monotonicMs()
    for (const { subject, perMinute, resolvers } of requests)
      for (const resolve of resolvers) resolve(this.#decideLocally(subject, perMinute, monotonicMs))
  }

  #markUnavailable(store: RateLimitStore, error: unknown): void {
    // Several calls may have been in flight to the store that is lost.
    if (this.#store !== store) return
    this.#store = null
    this.#unavailableSince = this.#options.clock.now()
    store.close()
    this.#options.onUnavailable(toMessage(error))
    this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    this.#retryTimer = this.#options.clock.after(retryDelayMs, () => void this.open()).unref()
  }

  /** A refusal lasts a minute at most, and so does usage. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEveryMs) return
    this.#sweptAt = now
    for (const [subject, { at }] of this.#exhausted) if (now - at >= minuteMs) this.#exhausted.delete(subject)
    for (const [subject, { at }] of this.#own) if (now - at >= minuteMs) this.#own.delete(subject)
  }
}

/** Describes the current state for the operator; null if there is nothing to report. */
export function describeFallback({ name, unavailableSince, nodes }: DistributedRateLimitStats): string | null {
  if (unavailableSince === null) return null
  const share = nodes === 1 ? 'the whole of each limit' : `1/${nodes} of each limit`
  return `${name} is lost since ${new Date(unavailableSince).toISOString()}; until it is back this node allows ${share} by itself`
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
