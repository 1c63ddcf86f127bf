/**
 * Calls the targets of a turn. Only this file uses http-proxy-3.
 *
 * The proxy runs each call through its list of passes. Our pass replaces the proxy's own sender with undici's dispatcher, which closes what
 * that sender would leave open: no client header goes up and no upstream header comes down, a reset in mid-stream is a failure, a client
 * that disconnects ends the upstream call, and connect, first byte, idle and total time each have a deadline.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createProxyServer } from 'http-proxy-3'
import type { ProxyServer } from 'http-proxy-3'
import type { GatewayConfig } from '../config/config.ts'
import type { CallResult, UpstreamRequestMode, Candidate, Exchange, Route, Slots } from '../exchange/exchange.ts'
import { zeroUsage, ClientDisconnected } from '../exchange/exchange.ts'
import { changeCallContext } from '../exchange/plugins/plugin-chain.ts'
import type { CallContext } from '../exchange/plugins/plugin-chain.ts'
import { isCapAdjustable } from '../exchange/request/chat-request.ts'
import { listMedia } from '../exchange/request/form/media-notes.ts'
import type { Clock, Timer } from '../system/clock.ts'
import { Attempt } from './attempt.ts'
import type { AttemptResult } from './attempt.ts'
import { ConnectionTracker } from './connection-tracker.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import type { FailureFacts } from '../exchange/upstream-failure.ts'
import { isSafeToRetry, wasNeverSent } from './errors/retry-policy.ts'
import { isCapacityExhausted } from './errors/classify-failure.ts'
import { identifyCaller } from './target/target-caller.ts'
import { adaptToRejection } from './target/request-adaptation.ts'
import type { RequestAdaptation } from './target/request-adaptation.ts'
import { chatMode, documentMode, longDocumentMode } from './response/response-mode.ts'
import type { LongDocument, ResponseMode, UpstreamDocument } from './response/response-mode.ts'
import { IndexedList } from '../system/indexed-list.ts'
import type { Upstream, Upstreams } from './target/upstreams.ts'

interface ForwarderOptions {
  readonly config: GatewayConfig
  readonly upstreams: Pick<Upstreams, 'get' | 'getDialect' | 'getHealth' | 'retryBudget' | 'capabilities' | 'promptRatios'>
  readonly clock: Clock
  /** Called for each attempt with its outcome, for the metrics. */
  readonly onAttempt: (target: string, outcome: string) => void
}

/** Interval at which the deadlines of running calls are checked. */
const deadlineCheckMs = 100

export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #proxy: ProxyServer
  readonly #attempts = new IndexedList<Pick<Attempt<unknown>, 'shutDown' | 'checkDeadlines' | 'listIndex'>>()
  readonly #connections = new ConnectionTracker()
  #deadlineTimer: Timer | undefined

  constructor(options: ForwarderOptions) {
    this.#options = options
    this.#proxy = createProxyServer()
    this.#proxy.before('web', 'stream', (request) => {
      ;(request as unknown as StubRequest).attempt.send()
      return true
    })
  }

  /** Number of turns whose upstream call is running. */
  get running(): number {
    return this.#attempts.size
  }

  /** Calls the upstream for a turn and streams the response to the client. */
  readonly call = async (x: Exchange & Partial<Slots>, callContext: CallContext): Promise<CallResult> => {
    const { result, ending } = await this.#tryCandidates(x, x.route, callContext, chatMode)
    return ending.causedBy === 'client' ? { ...result, isAbandoned: true } : result
  }

  /**
   * Fetches the upstream's whole JSON document, for products that process it first. Nothing of it reaches the client, which receives only
   * keep-alive comments while it awaits a stream. `candidates` hold the request that is sent instead of the member's own.
   */
  fetchDocument(
    x: Exchange & Partial<Slots>,
    candidates: readonly Candidate[],
    callContext: CallContext,
  ): Promise<UpstreamDocument> {
    return this.#fetch(x, candidates, callContext, documentMode)
  }

  /** The same; a long document stays bytes, for a caller that parses it in another thread. */
  fetchLongDocument(
    x: Exchange & Partial<Slots>,
    candidates: readonly Candidate[],
    callContext: CallContext,
  ): Promise<LongDocument> {
    return this.#fetch(x, candidates, callContext, longDocumentMode)
  }

  async #fetch<Result>(
    x: Exchange & Partial<Slots>,
    candidates: readonly Candidate[],
    callContext: CallContext,
    responseMode: ResponseMode<Result>,
  ): Promise<Result> {
    const route = x.route === undefined ? undefined : { ...x.route, candidates }
    const quietContext: CallContext = {
      ...changeCallContext(callContext, {}),
      onUpstreamHeaders: () => undefined,
      onEvent: null,
    }
    return (await this.#tryCandidates(x, route, quietContext, responseMode)).result
  }

  /**
   * Tries each candidate once, and the next one only if the last cannot have acted on the request. An unreachable target costs nothing; a
   * target that rejected the turn costs one retry of the budget. A target that rejects a field that the gateway added is called again
   * without it.
   */
  async #tryCandidates<Result>(
    x: Exchange & Partial<Slots>,
    route: Route | undefined,
    callContext: CallContext,
    responseMode: ResponseMode<Result>,
  ): Promise<AttemptResult<Result>> {
    if (route === undefined)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no plugin maps products to upstreams' }, null)
    const { upstreams, clock, onAttempt } = this.#options
    upstreams.retryBudget.earn(clock.monotonicMs())
    const caller = identifyCaller(x)
    let adaptations = 0
    let adaptedMode: AdaptedMode = {}
    /** Why the last target that was tried, or left out, could not serve. */
    let failure: UpstreamFailure | undefined
    for (let i = 0; ;) {
      const candidate = route.candidates[i]
      if (candidate === undefined)
        throw failure ?? new UpstreamFailure({ kind: 'unconfigured', reason: 'no target can be called' }, null)
      if (callContext.client.disconnected) throw new ClientDisconnected(zeroUsage)
      const startedAt = clock.monotonicMs()
      const health = upstreams.getHealth(candidate.name)
      const isLast = !route.candidates.slice(i + 1).some(({ name }) => upstreams.getHealth(name).wouldAdmit(startedAt, caller))
      // An open breaker admits single turns as probes; the other turns go to another target if one can be called.
      if (!health.admits(startedAt, !isLast, caller)) {
        // What an earlier target answered is worth more than that this one rests.
        if (failure === undefined || failure.facts.kind === 'unconfigured' || failure.facts.kind === 'resting') {
          failure = health.refuse(startedAt, caller)
          x.lastAttempt.target = candidate.name
        }
        i++
        continue
      }
      try {
        const attemptResult = await this.#callTarget(
          x,
          route,
          withAdaptedMode(candidate, adaptedMode),
          callContext,
          responseMode,
          isLast,
        )
        const { kind, causedBy } = attemptResult.ending
        onAttempt(candidate.name, kind === 'complete' || kind === 'output_cap' ? 'ok' : kind)
        // What a slow client has caused says nothing about the target.
        if (causedBy !== 'client') health.recordSuccess(clock.monotonicMs(), startedAt, caller)
        return attemptResult
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) {
          onAttempt(candidate.name, toFailureName(error))
          throw error
        }
        failure = error
        failure.redact = [candidate.model, ...(upstreams.get(candidate.upstream)?.redact ?? [])]
        onAttempt(candidate.name, toFailureName(failure))
        health.recordFailure(failure, clock.monotonicMs(), startedAt, caller)
        if (callContext.client.headersSent) throw failure
        const adaptation = this.#adaptToRejection(x, candidate, failure, adaptedMode.outputCap)
        if (adaptation !== null) {
          if (!adaptation.retryable || ++adaptations > maxAdaptations) throw markAddedField(failure, adaptation)
          adaptedMode = toAdaptedMode(adaptedMode, adaptation)
          continue
        }
        if (!isSafeToRetry(failure.facts) || isLast) throw failure
        if (!wasNeverSent(failure.facts) && !upstreams.retryBudget.spend(clock.monotonicMs())) throw failure
        adaptedMode = {}
        i++
      }
    }
  }

  /** Learns from a rejection of a field that the gateway added or changed. */
  #adaptToRejection(
    { caller, chat, hold }: Partial<Slots>,
    candidate: Candidate,
    { facts }: UpstreamFailure,
    outputCap: number | undefined,
  ): RequestAdaptation | null {
    const { upstreams } = this.#options
    const upstream = upstreams.get(candidate.upstream)
    if (upstream === undefined || facts.kind !== 'status') return null
    const dialect = upstreams.getDialect(candidate.name, upstream)
    const promptTokens = hold?.inputEstimate ?? 0
    const isCapAdded = chat === undefined || isCapAdjustable(chat)
    const sentCap = outputCap ?? dialect.computeOutputCap(hold?.outputCap ?? Number.MAX_SAFE_INTEGER, isCapAdded, promptTokens)
    return adaptToRejection(
      facts,
      {
        outputCap: sentCap,
        isCapAdded,
        isStreamAdded: chat?.stream !== true,
        isTranslated: chat?.format !== undefined,
        format: upstream.format,
        promptTokens,
        account: caller?.account.id ?? '',
        ...(chat === undefined ? {} : { listMedia: () => listMedia(chat.messages) }),
      },
      dialect,
    )
  }

  /** Ends all running calls with this failure at once: the drain time is over. */
  abortAll(reason: Error): void {
    this.#attempts.forEach((attempt) => attempt.shutDown(reason))
  }

  close(): void {
    this.#deadlineTimer?.cancel()
    this.#connections.close()
    this.#proxy.close()
  }

  /** Calls the target in the mode that it supports. If it rejects a field that requests the stream, calls again without that field. */
  async #callTarget<Result>(
    x: Exchange & Partial<Slots>,
    route: Route,
    candidate: Candidate,
    callContext: CallContext,
    responseMode: ResponseMode<Result>,
    mayQueue: boolean,
  ): Promise<AttemptResult<Result>> {
    const { upstreams, clock, onAttempt } = this.#options
    const upstream = upstreams.get(candidate.upstream)
    if (upstream === undefined) throw new UpstreamFailure({ kind: 'unconfigured', reason: 'unknown upstream' }, null)
    let newConnection = false
    let isWholeOnly = false
    const member = { stream: route.stream, choices: x.chat?.choices ?? 1 }
    for (;;) {
      const requestMode = isWholeOnly
        ? { stream: false, includeUsage: false }
        : this.#options.upstreams.capabilities.chooseRequestMode(candidate, upstream, member, clock.monotonicMs())
      try {
        return await this.#sendAttempt({
          x,
          route,
          candidate,
          callContext,
          responseMode,
          requestMode,
          upstream,
          mayQueue,
          newConnection,
        })
      } catch (error) {
        if (!(error instanceof UpstreamFailure) || callContext.client.disconnected) throw error
        const { facts } = error
        const now = clock.monotonicMs()
        // The first two happen once, and each rejection removes one field, so the loop ends. A rejected call has produced nothing.
        if (!newConnection && facts.kind === 'network' && facts.staleConnection === true) newConnection = true
        else if (requestMode.stream && isEmpty(facts) && !callContext.client.headersSent) {
          // Some servers answer with an empty stream where a whole response would be an error that names the cause.
          this.#options.upstreams.capabilities.recordEmptyStream(candidate.name, now)
          isWholeOnly = true
        } else if (!this.#options.upstreams.capabilities.recordRejection(candidate.name, requestMode, facts, now)) throw error
        onAttempt(candidate.name, facts.kind)
      }
    }
  }

  async #sendAttempt<Result>(call: AttemptInput<Result>): Promise<AttemptResult<Result>> {
    const { x, candidate, upstream, callContext, mayQueue } = call
    const { config, clock } = this.#options
    // What an earlier target answered says nothing about this one.
    const { name: target, cost = null } = candidate
    Object.assign(x.lastAttempt, { target, status: null, cost, model: null, responseId: null, failedUsage: null })
    if (x.debug.upstreamStatus !== undefined) delete x.debug.upstreamStatus
    const { limiter } = upstream
    if (
      !limiter.tryAcquire() &&
      !(mayQueue && (await limiter.acquire(clock, (giveUp) => callContext.client.onDisconnect(giveUp))))
    ) {
      if (callContext.client.disconnected) throw new ClientDisconnected(zeroUsage)
      throw new UpstreamFailure({ kind: 'queue_full' }, upstream.host)
    }
    const attempt = new Attempt({
      ...call,
      capabilities: this.#options.upstreams.capabilities,
      promptRatios: this.#options.upstreams.promptRatios,
      connections: this.#connections,
      clock,
      config,
    })
    this.#attempts.add(attempt)
    const startedMs = clock.monotonicMs()
    let failure: string | null = null
    this.#deadlineTimer ??= clock.every(deadlineCheckMs, () => this.#checkDeadlines()).unref()
    try {
      this.#proxy.web(new StubRequest(attempt) as unknown as IncomingMessage, stubResponse, { target: upstream.url })
      return await attempt.result
    } catch (error) {
      failure = toFailureName(error)
      throw error
    } finally {
      const [from, to] = [startedMs, clock.monotonicMs()].map((at) => Math.round(at - x.startedMonotonicMs))
      ;(x.attempts ??= []).push({ target, startedMs: from ?? 0, endedMs: to ?? 0, status: x.lastAttempt.status, failure })
      limiter.release()
      this.#attempts.remove(attempt)
      if (this.#attempts.size === 0) {
        this.#deadlineTimer?.cancel()
        this.#deadlineTimer = undefined
      }
    }
  }

  #checkDeadlines(): void {
    this.#attempts.forEach((attempt) => attempt.checkDeadlines())
  }
}

/** As the metric of attempts names it. */
function toFailureName(error: unknown): string {
  if (error instanceof UpstreamFailure) return isCapacityExhausted(error.facts) ? 'queue_full' : error.facts.kind
  return error instanceof ClientDisconnected ? 'client_disconnected' : 'aborted'
}

function isEmpty(facts: FailureFacts): boolean {
  return facts.kind === 'in_band' && facts.reason === 'empty'
}

/** How often one turn's body is sent again to adapt to its target. */
const maxAdaptations = 3

/** How this turn's body differs from that of other turns to its target. */
type AdaptedMode = Pick<UpstreamRequestMode, 'outputCap' | 'withoutEncryptedReasoning'>

function toAdaptedMode(before: AdaptedMode, { outputCap, withoutEncryptedReasoning }: RequestAdaptation): AdaptedMode {
  return {
    ...(outputCap === null ? {} : { outputCap }),
    ...(withoutEncryptedReasoning === true || before.withoutEncryptedReasoning === true
      ? { withoutEncryptedReasoning: true }
      : {}),
  }
}

function withAdaptedMode(candidate: Candidate, adapted: AdaptedMode): Candidate {
  return Object.keys(adapted).length === 0
    ? candidate
    : { ...candidate, body: (requestMode) => candidate.body({ ...requestMode, ...adapted }) }
}

/** The same failure, marked as caused by a field that the gateway added. */
function markAddedField(failure: UpstreamFailure, { rejectedField }: RequestAdaptation): UpstreamFailure {
  const { facts, upstreamHost } = failure
  return facts.kind === 'status'
    ? new UpstreamFailure({ ...facts, addedField: rejectedField }, upstreamHost, { cause: failure })
    : failure
}

interface AttemptInput<Result> {
  readonly x: Exchange & Partial<Slots>
  readonly route: Route
  readonly candidate: Candidate
  readonly callContext: CallContext
  readonly responseMode: ResponseMode<Result>
  readonly requestMode: UpstreamRequestMode
  readonly upstream: Upstream
  readonly newConnection: boolean
  /** Whether to queue for a slot: true if there is no other target. */
  readonly mayQueue: boolean
}

/**
 * Stand-ins for the request and response that the proxy receives. It never gets the client's own: it could only copy from them, listen to
 * them or write to them, and each of those is this file's task.
 */
class StubRequest {
  readonly method = 'POST'
  readonly url = '/'
  readonly headers = {}
  readonly attempt: Pick<Attempt<unknown>, 'send'>

  constructor(attempt: Pick<Attempt<unknown>, 'send'>) {
    this.attempt = attempt
  }
}

const stubResponse = {} as ServerResponse
