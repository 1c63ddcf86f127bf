/** One call to one target, from the first byte of the request to the last byte of the response, and every way in which it can end early. */
import type { Dispatcher } from 'undici'
import { zeroUsage, ClientDisconnected } from '../exchange/exchange.ts'
import type { Usage } from '../exchange/exchange.ts'
import { openStream } from '../exchange/response-headers.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import type { FailureFacts } from '../exchange/upstream-failure.ts'
import type { Clock, Timer } from '../system/clock.ts'
import { AttemptConnection } from './attempt-connection.ts'
import { createAttemptRequest } from './attempt-request.ts'
import { BoundedBody } from './bounded-body.ts'
import type { Connection, ConnectionTracker, ConnectionUser } from './connection-tracker.ts'
import { Deadlines } from './deadlines.ts'
import { DisconnectedCall } from './disconnected-call.ts'
import { ClientStream } from './client-stream.ts'
import { findEndingRule, toEndingKind } from './call-ending.ts'
import type { EndingKind, EndingRule } from './call-ending.ts'
import { toConnectionFacts, getHeader, maxErrorBodyBytes, toStatusFacts } from './errors/failure-facts.ts'
import type { ResponseHeaders } from './errors/failure-facts.ts'
import { createResponseReader, getPromptEstimate } from './response/response-reader.ts'
import type { ResponseReader, ResponseReaderOptions } from './response/response-reader.ts'
import type { IndexedItem } from '../system/indexed-list.ts'

interface AttemptOptions<Result> extends ResponseReaderOptions<Result> {
  readonly clock: Clock
  readonly connections: ConnectionTracker
  /** Send on a connection that no request has used. */
  readonly newConnection: boolean
}

/** After `[DONE]` the upstream may take this long to close; then the connection is dropped instead of reused. */
const closeGraceMs = 5_000

/** State of the call. `ended` is final: later events are ignored. */
type Phase = 'sending' | 'rejected' | 'accepted' | 'responding' | 'ended'

/** The result of a call, and how it ended: complete, or cut off. */
export interface AttemptResult<Result> {
  readonly result: Result
  readonly ending: Pick<EndingRule, 'kind' | 'causedBy'>
}

export class Attempt<Result> implements Dispatcher.DispatchHandler, IndexedItem, ConnectionUser {
  listIndex = -1
  /** Resolves with the result, or rejects with `UpstreamFailure` or `ClientDisconnected`. */
  readonly result: Promise<AttemptResult<Result>>
  readonly #options: AttemptOptions<Result>
  readonly #deadlines: Deadlines
  /** The total time covers the turn over all its targets. */
  readonly #turnStartedAt: number
  /** Set when the client requested a stream. */
  readonly #clientStream: ClientStream | null
  #resolve!: (result: AttemptResult<Result>) => void
  #reject!: (error: unknown) => void
  #phase: Phase = 'sending'
  #controller: Dispatcher.DispatchController | null = null
  readonly #connection = new AttemptConnection()
  #head: { readonly status: number; readonly headers: ResponseHeaders } = { status: 0, headers: {} }
  /** Body of an error response. */
  #errorBody: BoundedBody | null = null
  #reader: ResponseReader<Result> | null = null
  readonly #disconnectedCall: DisconnectedCall
  /** The response is complete, or was cut off; only frames that a plugin delays are unsent. */
  #isComplete = false
  #ending: AttemptResult<Result>['ending'] = { kind: 'complete', causedBy: 'nothing' }
  #closeTimer: Timer | undefined

  constructor(options: AttemptOptions<Result>) {
    const { x, route, callContext, clock } = options
    this.#options = options
    this.#disconnectedCall = new DisconnectedCall(options)
    this.#turnStartedAt = x.callStartedMonotonicMs ?? clock.monotonicMs()
    this.#deadlines = new Deadlines(getTimeouts(options), clock.activeMs())
    this.#clientStream = route.stream
      ? new ClientStream({
          x,
          callContext,
          clock,
          deadlines: this.#deadlines,
          pause: () => this.#controller?.pause(),
          resume: () => this.#resume(),
          isActive: () => this.#phase !== 'ended' || this.#isComplete,
          onReleased: () => {
            if (this.#isComplete) this.#settle()
          },
          onRejected: (error) => this.#rejectAtHeaders(error),
        })
      : null
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    callContext.client.onDisconnect(() => this.#handleDisconnect())
  }

  /** Sends the request. This handler reads the response. */
  send(): void {
    if (this.#phase === 'ended') return
    const { upstream, newConnection } = this.#options
    try {
      const dispatcher = newConnection ? upstream.newConnectionDispatcher : upstream.dispatcher
      dispatcher.dispatch(createAttemptRequest(this.#options), this)
    } catch (error) {
      this.#endWith(error)
    }
  }

  /** Ends the call unless it has ended: the time for the shutdown is over. */
  shutDown(reason: Error): void {
    this.#endEarly('shutdown', reason)
  }

  /** Ends the call with an error that was thrown while it ran. */
  #endWith(error: unknown): void {
    this.#endEarly(toEndingKind(error), error instanceof Error ? error : new Error(String(error)))
  }

  /** Ends the call before its answer is complete. Every such way ends here; the table of `call-ending.ts` decides what follows. */
  #endEarly(kind: EndingKind, failure: Error): void {
    if (this.#phase === 'ended') return
    const now = this.#options.clock.activeMs()
    const rule = findEndingRule({
      kind,
      isForwarded: this.#reader?.isForwarded === true && this.#reader.outputCount > 0,
      isClientSlow: this.#deadlines.isClientSlow(now),
      isUpstreamSilent: this.#deadlines.isUpstreamSilent(now),
    })
    if (rule.clientReceives === 'cut_off') this.#cutOff(rule)
    else if (rule.credits === 'charge') this.#fail(new ClientDisconnected(this.#usageSoFar()))
    else this.#fail(rule.causedBy === 'time_limit' ? this.#createTotalTimeout({ isOwnLimit: true }) : failure)
  }

  /** Ends the answer as at a limit of tokens. */
  #cutOff(rule: EndingRule): void {
    this.#ending = rule
    let frames: string
    try {
      frames = this.#reader?.cutOff() ?? ''
    } catch (error) {
      return this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
    if (frames !== '') this.#clientStream?.write(frames)
    const connection = this.#connection.release()
    this.#complete()
    this.#controller?.abort(new Error(`the answer was cut off: ${rule.kind}`))
    connection?.destroy()
  }

  #fail(failure: Error): void {
    this.#recordAnswer()
    if (!(failure instanceof ClientDisconnected)) this.#options.x.lastAttempt.failedUsage = this.#reader?.getUsageSoFar() ?? null
    // Some servers close after an error without saying so, and the next request would be lost. A rejected request does no harm.
    const isReusable = this.#phase === 'rejected' && this.#head.status < 500
    this.#phase = 'ended'
    this.#controller?.abort(failure)
    if (isReusable) this.#connection.release()
    else this.#connection.destroy()
    this.#reject(failure)
  }

  setConnection(connection: Connection, isKept: boolean): void {
    this.#connection.use(connection, isKept, this.#options.clock.monotonicMs())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#phase === 'ended') controller.abort(new Error('the call ended before it was sent'))
    else this.#options.connections.expectConnection(this)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200 || this.#phase === 'ended') return
    const { x, requestMode, clock } = this.#options
    this.#deadlines.recordHead(clock.activeMs())
    x.lastAttempt.status = status
    x.debug.upstreamStatus = status
    this.#head = { status, headers }
    if (status !== 200) {
      this.#deadlines.recordActivity(clock.activeMs())
      this.#errorBody = new BoundedBody(maxErrorBodyBytes)
      this.#phase = 'rejected'
    } else if (identityEncodings.has((getHeader(headers, 'content-encoding') ?? '').trim().toLowerCase()))
      this.#phase = 'accepted'
    else this.#failWith({ kind: 'in_band', status, reason: requestMode.stream ? 'not_sse' : 'not_json' })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'accepted') this.#startReading(chunk)
    if (this.#phase === 'responding') this.#consume(chunk)
    else if (this.#phase === 'rejected' && this.#errorBody?.append(chunk) === false) this.#failRejected()
  }

  onResponseEnd(): void {
    this.#closeTimer?.cancel()
    if (this.#phase === 'accepted') this.#failWith({ kind: 'in_band', status: 200, reason: 'empty' })
    else if (this.#phase === 'responding') this.#endReading()
    else if (this.#phase === 'rejected') this.#failRejected()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#closeTimer?.cancel()
    if (this.#phase === 'rejected') this.#failRejected()
    // Only `[DONE]` is missing.
    else if (this.#phase === 'responding' && this.#reader?.allChoicesFinished === true) this.#endReading()
    else this.#failWith(this.#markIfStale(toConnectionFacts(error)))
  }

  #markIfStale(facts: FailureFacts): FailureFacts {
    const isStale = this.#phase === 'sending' && this.#connection.isStale(this.#options.clock.monotonicMs())
    return isStale && facts.kind === 'network' ? { ...facts, staleConnection: true } : facts
  }

  /** Checks the deadlines; called every `deadlineCheckMs` while the call runs. */
  checkDeadlines(): void {
    if (this.#phase === 'ended') return
    const { clock, callContext } = this.#options
    const now = clock.monotonicMs()
    const dueDeadline = this.#deadlines.findDue(clock.activeMs(now), {
      turnMs: now - this.#turnStartedAt,
      isStreamOpen: callContext.client.headersSent,
    })
    if (dueDeadline !== 'total' && this.#disconnectedCall.canStop(this.#reader, now)) return this.#abandon('client_gone')
    if (dueDeadline === 'slow_reader') this.#abandon('client_timeout')
    else if (dueDeadline === 'heartbeat') this.#clientStream?.keepAlive()
    // Only `[DONE]` is missing. The client must not wait longer for it, nor lose a complete response.
    else if (dueDeadline !== null && this.#reader?.allChoicesFinished === true) this.#endWithoutDone()
    else if (dueDeadline !== null && this.#phase === 'rejected') this.#failRejected()
    else if (dueDeadline === 'total') this.#endEarly('total_time', this.#createTotalTimeout())
    else if (dueDeadline !== null) this.#failWith({ kind: 'timeout', phase: dueDeadline })
  }

  #createTotalTimeout(details: { readonly isOwnLimit?: true } = {}): UpstreamFailure {
    return new UpstreamFailure({ kind: 'timeout', phase: 'total', ...details }, this.#options.upstream.host)
  }

  /** The first bytes show whether the response is a stream or a document. */
  #startReading(first: Buffer): void {
    this.#reader = createResponseReader(first, getHeader(this.#head.headers, 'content-type') ?? '', this.#options)
    this.#phase = 'responding'
  }

  #consume(chunk: Buffer): void {
    const reader = this.#reader
    if (reader === null) return
    const { eventCount, outputCount } = reader
    const { clock } = this.#options
    const monotonicMs = clock.monotonicMs()
    let frames: string
    try {
      frames = reader.consume(chunk, monotonicMs)
    } catch (error) {
      return this.#endWith(error)
    }
    const now = clock.activeMs(monotonicMs)
    // Comments, pings and events of progress prove life, but none that only delays the end of an answer that is complete.
    if (reader.eventCount > eventCount || !reader.allChoicesFinished) this.#deadlines.recordActivity(now)
    if (reader.outputCount > outputCount) this.#deadlines.recordOutput(now)
    if (frames !== '') this.#clientStream?.write(frames)
    if (!reader.isComplete) return
    if (reader.isCutOff) this.#ending = { kind: 'output_cap', causedBy: 'upstream' }
    this.#complete()
    if (reader.isCutOff) this.#controller?.abort(new Error('the upstream ignores the cap of the output'))
    else this.#awaitClose()
  }

  #endReading(): void {
    try {
      const frames = this.#reader?.end() ?? ''
      if (frames !== '') this.#clientStream?.write(frames)
    } catch (error) {
      return this.#endWith(error)
    }
    this.#complete()
  }

  #endWithoutDone(): void {
    this.#endReading()
    this.#controller?.abort(new Error('the upstream sent no [DONE]'))
  }

  #complete(): void {
    this.#phase = 'ended'
    this.#isComplete = true
    if (this.#reader?.isForwarded === true) this.#options.callContext.client.expectEnd?.()
    if (this.#clientStream?.isHolding !== true) this.#settle()
    this.#connection.release()
  }

  #awaitClose(): void {
    this.#closeTimer = this.#options.clock
      .after(closeGraceMs, () => this.#controller?.abort(new Error('the upstream did not close after its last event')))
      .unref()
  }

  #settle(): void {
    const reader = this.#reader
    if (reader === null) return
    try {
      const result = reader.result()
      this.#recordAnswer()
      if (reader.isForwarded) this.#resolve({ result, ending: this.#ending })
      else this.#deliverWhole(result)
    } catch (error) {
      this.#connection.destroy()
      this.#reject(error)
    }
  }

  /** For the turn's record. */
  #recordAnswer(): void {
    const { lastAttempt } = this.#options.x
    const { id, model } = this.#reader?.answer ?? {}
    lastAttempt.responseId = id
    lastAttempt.model = model
  }

  /** A response that arrived whole: plugins see its head before anything is sent. */
  #deliverWhole(result: Result): void {
    const { route, responseMode, callContext, clock, x } = this.#options
    const isSingleChunkStream = route.stream && responseMode.fromStream !== null
    x.firstTokenMonotonicMs ??= clock.monotonicMs()
    const hookResult = callContext.onUpstreamHeaders({ status: 200, stream: isSingleChunkStream })
    const deliver = (): void => {
      if (isSingleChunkStream) openStream(callContext)
      this.#resolve({ result, ending: this.#ending })
    }
    if (hookResult instanceof Promise) hookResult.then(deliver).catch(this.#reject)
    else deliver()
  }

  /** The client has drained, or the `onResponse` hooks have finished. */
  #resume(): void {
    this.#deadlines.recordResume(this.#options.clock.activeMs())
    this.#controller?.resume()
  }

  #rejectAtHeaders(error: unknown): void {
    // The upstream may have completed meanwhile; that response is discarded.
    this.#phase = 'ended'
    this.#controller?.abort(new Error('rejected by an onResponse hook'))
    this.#reject(error)
  }

  #handleDisconnect(): void {
    if (this.#phase === 'ended') return
    // Otherwise the upstream has done no work: there is no connection, or it rejected the request.
    const isWorking = this.#controller !== null && this.#phase !== 'rejected'
    const now = this.#options.clock.monotonicMs()
    if (!isWorking || !this.#disconnectedCall.continueUnseen(this.#reader, now)) this.#abandon('client_gone')
  }

  /** Aborts the call because the client disconnected or reads nothing. */
  #abandon(kind: 'client_gone' | 'client_timeout'): void {
    this.#endEarly(kind, new ClientDisconnected(this.#usageSoFar()))
  }

  #usageSoFar(): Usage {
    if (this.#controller === null || this.#phase === 'rejected') return zeroUsage
    const { promptRatios, candidate } = this.#options
    const inputTokens = promptRatios.estimate(candidate.name, getPromptEstimate(this.#options))
    return this.#reader?.getUsageSoFar() ?? { inputTokens, outputTokens: 0, estimated: true }
  }

  /** The status is known, and enough of the body: the rest is not needed, or lost. */
  #failRejected(): void {
    const { status, headers } = this.#head
    this.#failWith(toStatusFacts(status, headers, this.#errorBody?.text() ?? ''))
  }

  #failWith(facts: FailureFacts): void {
    this.#endWith(new UpstreamFailure(facts, this.#options.upstream.host))
  }
}

/** The upstream's own times stand for those of all. */
function getTimeouts({ config: { timeouts }, upstream }: Pick<AttemptOptions<unknown>, 'config' | 'upstream'>) {
  const { firstByteMs, idleMs } = upstream.config
  return { ...timeouts, firstByteMs: firstByteMs ?? timeouts.firstByteMs, idleMs: idleMs ?? timeouts.idleMs }
}

/**
 * Content codings that change no byte. `none` is not in the standard, but a common recipe against proxies that buffer what they compress.
 */
const identityEncodings: ReadonlySet<string> = new Set(['', 'identity', 'none'])
