/**
 * The call to an upstream: the only file that knows http-proxy-3.
 *
 * The proxy takes each call through its list of passes, and ours stands in front of its own sender: what is sent is sent by undici's dispatcher.
 * What the proxy's sender would leave open is closed by that: no header of the client's goes up and none of the upstream's comes down,
 * a reset in mid-stream is a failure and not a silence, a client that leaves takes the upstream call with it, and connect, first byte,
 * idle and total each have a deadline.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createProxyServer } from 'http-proxy-3'
import type { ProxyServer } from 'http-proxy-3'
import type { GatewayConfig } from '../config/config.ts'
import type { Answer, Asking, Candidate, Exchange, Route, Slots } from '../exchange/exchange.ts'
import { nothingUsed } from '../exchange/exchange.ts'
import { ClientLeft } from '../exchange/outcome.ts'
import type { Wire } from '../exchange/run.ts'
import type { Clock } from '../system/clock.ts'
import { Attempt } from './attempt.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import { countsAgainstBreaker, isRefusedWhole, wasNeverSent } from './fallback.ts'
import { isFull } from './failure.ts'
import { Habits } from './habits.ts'
import { lessonOf } from './lesson.ts'
import type { Lesson } from './lesson.ts'
import { chatReading, documentReading } from './reading.ts'
import type { Reading, UpstreamDocument } from './reading.ts'
import { Running } from './running.ts'
import type { Upstream, Upstreams } from './upstreams.ts'

export interface ForwardOptions {
  readonly config: GatewayConfig
  readonly upstreams: Upstreams
  readonly clock: Clock
  /** Told of each attempt and how it went, for the metrics. */
  readonly onAttempt: (target: string, outcome: string) => void
}

/** How often the deadlines of running calls are looked at. */
const sweepEveryMs = 100

export class Forwarder {
  readonly #options: ForwardOptions
  readonly #proxy: ProxyServer
  readonly #running = new Running<Pick<Attempt<unknown>, 'fail' | 'tick' | 'place'>>()
  readonly #habits = new Habits()
  #sweep: NodeJS.Timeout | undefined

  constructor(options: ForwardOptions) {
    this.#options = options
    this.#proxy = createProxyServer()
    this.#proxy.before('web', 'stream', (request) => {
      ;(request as unknown as ClosedRequest).attempt.send()
      return true
    })
  }

  /** Turns whose upstream is being called. */
  get running(): number {
    return this.#running.size
  }

  /** The call of a turn: the answer on its way to the client. */
  readonly call = (x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> => this.#tryEach(x, x.route, wire, chatReading)

  /**
   * The upstream's whole JSON document, for products that make something of it first. Nothing of it reaches the client, who is only kept
   * with comments while a stream is awaited. `candidates` say what is sent instead of the member's request.
   */
  document(x: Exchange & Partial<Slots>, candidates: readonly Candidate[], wire: Wire): Promise<UpstreamDocument> {
    const route = x.route === undefined ? undefined : { ...x.route, candidates }
    const quiet: Wire = { client: wire.client, headers: () => wire.headers(), accepted: () => undefined, event: null }
    return this.#tryEach(x, route, quiet, documentReading)
  }

  /**
   * Each candidate once, the next only where the last cannot have acted on anything. One that was never reached is passed over as often as
   * there are others; one that has turned the turn away costs a retry of the budget. A target that refuses what we have added is asked
   * again in its own way.
   */
  async #tryEach<Result>(
    x: Exchange & Partial<Slots>,
    route: Route | undefined,
    wire: Wire,
    reading: Reading<Result>,
  ): Promise<Result> {
    if (route === undefined)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no plugin maps products to upstreams' }, null)
    const { upstreams, clock } = this.#options
    upstreams.budget.earn(clock.ticks())
    let lessons = 0
    let cap: number | undefined
    for (let i = 0; ;) {
      const candidate = route.candidates[i]
      if (candidate === undefined) throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no target can be called' }, null)
      if (wire.client.left) throw new ClientLeft(nothingUsed)
      const isLast = i + 1 >= route.candidates.length
      const startedAt = clock.ticks()
      // One turn a second may try a target that is down; where another target is left, the others go there.
      if (!upstreams.breaker(candidate.name).allows(startedAt) && !isLast) {
        i++
        continue
      }
      try {
        const answer = await this.#attempt(x, route, capped(candidate, cap), wire, reading, isLast)
        this.#record(candidate, startedAt, 'ok', true)
        return answer
      } catch (error) {
        const failure = error instanceof UpstreamFailure ? error : null
        this.#record(
          candidate,
          startedAt,
          failure === null ? 'left' : isFull(failure.facts) ? 'full' : failure.facts.kind,
          failure === null ? null : !countsAgainstBreaker(failure.facts),
        )
        if (failure === null || wire.client.opened) throw error
        const lesson = this.#lesson(x, candidate, failure, cap)
        if (lesson !== null) {
          if (!lesson.learnt || ++lessons > mostLessons) throw blamedOnUs(failure, lesson)
          cap = lesson.cap ?? undefined
          continue
        }
        if (!isRefusedWhole(failure.facts) || isLast) throw error
        if (!wasNeverSent(failure.facts) && !upstreams.budget.spend(clock.ticks())) throw error
        cap = undefined
        i++
      }
    }
  }

  /** What the refusal teaches about this target, if it is about something of ours. */
  #lesson(
    { chat, hold }: Partial<Slots>,
    candidate: Candidate,
    { facts }: UpstreamFailure,
    cap: number | undefined,
  ): Lesson | null {
    const { upstreams } = this.#options
    const upstream = upstreams.get(candidate.upstream)
    if (upstream === undefined || facts.kind !== 'status') return null
    const dialect = upstreams.dialect(candidate.name, upstream)
    const promptTokens = hold?.inputEstimate ?? 0
    const capIsOurs = (chat?.maxTokens ?? null) === null
    const sent = cap ?? dialect.capFor(hold?.outputCap ?? Number.MAX_SAFE_INTEGER, capIsOurs, promptTokens)
    return lessonOf(facts, { cap: sent, capIsOurs, streamIsOurs: chat?.stream !== true, promptTokens }, dialect)
  }

  /** Ends every running call with this failure, at once: the drain time is over. */
  abortAll(reason: Error): void {
    this.#running.each((attempt) => attempt.fail(reason))
  }

  close(): void {
    clearInterval(this.#sweep)
    this.#proxy.close()
  }

  #record(candidate: Candidate, startedAt: number, outcome: string, ok: boolean | null): void {
    const { upstreams, clock, onAttempt } = this.#options
    onAttempt(candidate.name, outcome)
    if (ok !== null) upstreams.breaker(candidate.name).record(ok, clock.ticks(), startedAt)
  }

  /** Asks the target as it is known to take it; where it refuses a field that asks for the stream, again without that. */
  async #attempt<Result>(
    x: Exchange & Partial<Slots>,
    route: Route,
    candidate: Candidate,
    wire: Wire,
    reading: Reading<Result>,
    mayWait: boolean,
  ): Promise<Result> {
    const { upstreams, clock } = this.#options
    const upstream = upstreams.get(candidate.upstream)
    if (upstream === undefined) throw new UpstreamFailure({ kind: 'unconfigured', reason: 'unknown upstream' }, null)
    for (;;) {
      const asking = this.#habits.asking(candidate, upstream, clock.ticks())
      try {
        return await this.#ask({ x, route, candidate, wire, reading, asking, upstream, mayWait })
      } catch (error) {
        if (!(error instanceof UpstreamFailure) || wire.client.left) throw error
        // What was refused has produced nothing; each refusal takes a field away, so this ends.
        if (!this.#habits.learns(candidate.name, asking, error.facts, clock.ticks())) throw error
      }
    }
  }

  async #ask<Result>(call: Called<Result>): Promise<Result> {
    const { x, candidate, upstream, wire, mayWait } = call
    const { config, clock } = this.#options
    x.attempted.target = candidate.name
    // What an earlier target has answered says nothing about this one.
    x.attempted.status = null
    if (x.debug.upstreamStatus !== undefined) delete x.debug.upstreamStatus
    const { gate } = upstream
    if (!gate.enter() && !(mayWait && (await gate.wait((giveUp) => wire.client.onLeave(giveUp))))) {
      if (wire.client.left) throw new ClientLeft(nothingUsed)
      throw new UpstreamFailure({ kind: 'full' }, upstream.host)
    }
    const attempt = new Attempt({ ...call, habits: this.#habits, clock, config })
    this.#running.add(attempt)
    this.#sweep ??= setInterval(() => this.#lookAtDeadlines(), sweepEveryMs).unref()
    try {
      this.#proxy.web(new ClosedRequest(attempt) as unknown as IncomingMessage, closedResponse, { target: upstream.url })
      return await attempt.answer
    } finally {
      gate.leave()
      this.#running.remove(attempt)
      if (this.#running.size === 0) {
        clearInterval(this.#sweep)
        this.#sweep = undefined
      }
    }
  }

  #lookAtDeadlines(): void {
    const now = this.#options.clock.ticks()
    this.#running.each((attempt) => attempt.tick(now))
  }
}

/** A turn's body is sent again at most so often for what its target has taught. */
const mostLessons = 3

function capped(candidate: Candidate, cap: number | undefined): Candidate {
  return cap === undefined ? candidate : { ...candidate, body: (asking) => candidate.body({ ...asking, cap }) }
}

/** The same refusal, with the mark that it is none of the caller's making. */
function blamedOnUs(failure: UpstreamFailure, { blamed }: Lesson): UpstreamFailure {
  const { facts, upstreamHost } = failure
  return facts.kind === 'status' ? new UpstreamFailure({ ...facts, ours: blamed }, upstreamHost, { cause: failure }) : failure
}

interface Called<Result> {
  readonly x: Exchange & Partial<Slots>
  readonly route: Route
  readonly candidate: Candidate
  readonly wire: Wire
  readonly reading: Reading<Result>
  readonly asking: Asking
  readonly upstream: Upstream
  /** Whether a place is worth waiting for: there is no other target. */
  readonly mayWait: boolean
}

/**
 * What the proxy is given for a request and a response. The client's own never go in: it could only copy from them, listen to them or
 * write to them, and each of those is ours to do.
 */
class ClosedRequest {
  readonly method = 'POST'
  readonly url = '/'
  readonly headers = {}
  readonly attempt: Pick<Attempt<unknown>, 'send'>

  constructor(attempt: Pick<Attempt<unknown>, 'send'>) {
    this.attempt = attempt
  }
}

const closedResponse = {} as ServerResponse
