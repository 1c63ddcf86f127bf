/** One call to one target, from the first byte of the request to the last of the answer, with every way it can be cut short. */
import type { Dispatcher } from 'undici'
import type { GatewayConfig } from '../config/config.ts'
import { nothingUsed } from '../exchange/exchange.ts'
import type { Asking, Candidate, Exchange, Route, Slots, Usage } from '../exchange/exchange.ts'
import { ClientLeft } from '../exchange/outcome.ts'
import type { Wire } from '../exchange/run.ts'
import type { Clock } from '../system/clock.ts'
import { Assembly } from './assembly.ts'
import { documentOf } from './completion.ts'
import type { Whole } from './completion.ts'
import { Delivery, openStream } from './delivery.ts'
import { UpstreamFailure } from './failure.ts'
import type { UpstreamFacts } from './failure.ts'
import { Frames } from './frames.ts'
import type { Habits } from './habits.ts'
import type { Reading } from './reading.ts'
import type { Placed } from './running.ts'
import { beginsAsEvents } from './sse.ts'
import { StreamReader } from './stream-reader.ts'
import type { Upstream } from './upstreams.ts'

export interface AttemptOptions<Result> {
  readonly x: Exchange & Partial<Slots>
  readonly candidate: Candidate
  readonly upstream: Upstream
  readonly route: Route
  readonly asking: Asking
  readonly reading: Reading<Result>
  readonly habits: Habits
  readonly wire: Wire
  readonly clock: Clock
  readonly config: GatewayConfig
}

/** As much of a refusal's body as is kept to classify it. */
const refusalBytes = 64 * 1024
/** An upstream that has said `[DONE]` may take this long to close before its connection is dropped instead of kept. */
const lingerMs = 5_000

/** After the client has left: how long output is awaited on, to tell an answer that grows from one that comes at once. */
const lookOnMs = 100

/** Where the call stands. `over` is final: whatever comes after it is ignored. */
type Phase = 'sending' | 'refused' | 'accepted' | 'collecting' | 'streaming' | 'over'

export class Attempt<Result> implements Dispatcher.DispatchHandler, Placed {
  place = -1
  /** Resolves with the answer, or rejects with `UpstreamFailure` or `ClientLeft`. */
  readonly answer: Promise<Result>
  readonly #options: AttemptOptions<Result>
  readonly #startedAt: number
  /** The total time is the turn's, whichever target it has come to: its hold lasts no longer. */
  readonly #turnStartedAt: number
  /** The client's side, where the client awaits a stream. */
  readonly #delivery: Delivery | null
  #resolve!: (result: Result) => void
  #reject!: (error: unknown) => void
  #phase: Phase = 'sending'
  #controller: Dispatcher.DispatchController | null = null
  #refusal: { readonly status: number; readonly contentType: string; readonly retryAfter: string | null } | null = null
  #contentType = ''
  #reader: StreamReader | null = null
  /** What a stream becomes: frames for the client, or a whole answer. */
  #frames: Frames | null = null
  #assembly: Assembly | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  /** When the upstream last sent an event. */
  #eventAt: number
  #firstOutputAt: number | null = null
  #lastOutputAt = 0
  #firstByte = false
  /** When the client left and the call went on, to learn what is being made. */
  #aloneSince: number | null = null
  /** The answer is whole; only its frames are still held. */
  #whole = false
  #linger: NodeJS.Timeout | undefined

  constructor(options: AttemptOptions<Result>) {
    const { x, route, wire, clock, config } = options
    this.#options = options
    this.#startedAt = clock.ticks()
    this.#turnStartedAt = x.callStartedTicks ?? this.#startedAt
    this.#eventAt = this.#startedAt
    this.#delivery = route.stream
      ? new Delivery({
          x,
          wire,
          clock,
          config,
          pause: () => this.#controller?.pause(),
          resume: () => this.#goOn(),
          isWanted: () => this.#phase !== 'over' || this.#whole,
          released: () => {
            if (this.#whole) this.#finish()
          },
          refused: (error) => this.#refusedAtHead(error),
        })
      : null
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    wire.client.onLeave(() => this.#clientLeft())
  }

  /** The proxy's `fetch`: sends the request; what comes back is read by this handler, so the response it returns is empty. */
  readonly fetch = (): Promise<Response> => {
    const { x, candidate, upstream, asking } = this.#options
    if (this.#phase !== 'over') {
      upstream.dispatcher.dispatch(
        {
          origin: upstream.origin,
          path: upstream.basePath + candidate.path,
          method: 'POST',
          headers: { ...upstream.headers, 'x-request-id': x.id },
          body: candidate.body(asking),
        },
        this,
      )
    }
    return emptyResponse
  }

  /** The proxy is done when the answer is, whichever way. */
  readonly settled = (): Promise<void> =>
    this.answer.then(
      () => undefined,
      () => undefined,
    )

  /** Ends the call with this failure unless it has ended. */
  readonly fail = (error: Error): void => {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.#controller?.abort(error)
    this.#reject(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#phase === 'over') controller.abort(new Error('ended before it was sent'))
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#phase === 'over') return
    const { x, asking } = this.#options
    this.#eventAt = this.#options.clock.ticks()
    this.#firstByte = true
    x.attempted.status = status
    x.debug.upstreamStatus = status
    this.#contentType = one(headers['content-type']) ?? ''
    if (status !== 200) {
      this.#refusal = { status, contentType: this.#contentType, retryAfter: one(headers['retry-after']) }
      this.#phase = 'refused'
      return
    }
    if (one(headers['content-encoding']) !== null && one(headers['content-encoding']) !== 'identity') {
      this.#failWith({ kind: 'in_band', status, reason: asking.stream ? 'not_sse' : 'not_json' })
      return
    }
    this.#phase = 'accepted'
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'accepted') this.#begin(chunk)
    switch (this.#phase) {
      case 'streaming':
        return this.#stream(chunk)
      case 'refused':
        if (this.#bytes < refusalBytes) this.#keep(chunk.subarray(0, refusalBytes - this.#bytes))
        return
      case 'collecting':
        this.#eventAt = this.#options.clock.ticks()
        this.#keep(chunk)
        if (this.#bytes > this.#options.config.limits.answerBytes) this.#tooLarge()
    }
  }

  onResponseEnd(): void {
    clearTimeout(this.#linger)
    switch (this.#phase) {
      case 'accepted':
        return this.#failWith({ kind: 'in_band', status: 200, reason: 'empty' })
      case 'streaming':
        return this.#endStream()
      case 'refused':
        if (this.#refusal !== null) this.#failWith({ kind: 'status', ...this.#refusal, body: this.#body() })
        return
      case 'collecting':
        return this.#endDocument()
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error & { code?: string; cause?: { code?: string } }): void {
    clearTimeout(this.#linger)
    if (this.#phase === 'refused' && this.#refusal !== null) {
      // The status has been said; the rest of its explanation is all that was lost.
      this.#failWith({ kind: 'status', ...this.#refusal, body: this.#body() })
      return
    }
    const code = error.code ?? error.cause?.code ?? error.name
    this.#failWith(code === 'UND_ERR_CONNECT_TIMEOUT' ? { kind: 'timeout', phase: 'connect' } : { kind: 'network', code })
  }

  /** Looks at the deadlines; called several times a second while the call runs. */
  tick(now: number): void {
    const { timeouts } = this.#options.config
    if (this.#phase === 'over') return
    if (now - this.#turnStartedAt >= timeouts.totalMs) return this.#outOfTime(now)
    if (this.#isSeenAlone(now)) return this.#leave()
    const blockedAt = this.#delivery?.blockedAt ?? null
    if (!this.#firstByte) {
      if (now - this.#startedAt >= timeouts.firstByteMs) return this.#failWith({ kind: 'timeout', phase: 'first_byte' })
    } else if (blockedAt !== null) {
      // The client is the slow one: the upstream is paused, so its silence says nothing.
      if (now - blockedAt >= timeouts.slowReaderMs) return this.#leave()
      return
    } else if (now - this.#eventAt >= timeouts.idleMs) return this.#failWith({ kind: 'timeout', phase: 'idle' })
    this.#delivery?.heartbeat(now)
  }

  /** Whoever took most of the time is the one who ran out of it: an answer read slowly to the end of all time is not free. */
  #outOfTime(now: number): void {
    const blockedMs = this.#delivery?.blockedMs(now) ?? 0
    if (blockedMs > (now - this.#turnStartedAt) / 2) this.#leave()
    else this.#failWith({ kind: 'timeout', phase: 'total' })
  }

  /** The first bytes show what the answer is. */
  #begin(chunk: Buffer): void {
    const { route, reading, wire, upstream } = this.#options
    if (!(beginsAsEvents(chunk) ?? this.#contentType.includes('text/event-stream'))) {
      this.#phase = 'collecting'
      return
    }
    this.#phase = 'streaming'
    if (route.stream && reading.streamed !== null)
      this.#frames = new Frames({ view: this.#view(), includeUsage: route.includeUsage, onEvent: wire.event })
    const sink = this.#frames ?? (this.#assembly = new Assembly())
    this.#reader = new StreamReader({ measure: this.#measure(), upstreamHost: upstream.host, take: sink.take })
  }

  #stream(chunk: Buffer): void {
    const reader = this.#reader
    if (reader === null) return
    const { events, produced } = reader
    let frames: string
    try {
      frames = reader.push(chunk)
    } catch (error) {
      return this.fail(error instanceof Error ? error : new Error(String(error)))
    }
    // Comments do not count: an upstream that only keeps its connection warm is not answering.
    if (reader.events > events) this.#eventAt = this.#options.clock.ticks()
    if (reader.produced > produced) {
      this.#lastOutputAt = this.#eventAt
      this.#firstOutputAt ??= this.#eventAt
    }
    if (frames !== '') this.#delivery?.take(frames)
    if (reader.done) {
      this.#complete()
      return this.#awaitClose()
    }
    // What is passed on is not kept.
    if (this.#assembly !== null && (this.#bytes += chunk.length) > this.#options.config.limits.answerBytes) this.#tooLarge()
  }

  #endStream(): void {
    const reader = this.#reader
    if (reader === null) return
    try {
      const frames = reader.end()
      if (frames !== '') this.#delivery?.take(frames)
    } catch (error) {
      return this.fail(error instanceof Error ? error : new Error(String(error)))
    }
    this.#complete()
  }

  #complete(): void {
    this.#phase = 'over'
    this.#whole = true
    if (this.#delivery?.isHolding !== true) this.#finish()
  }

  #awaitClose(): void {
    this.#linger = setTimeout(
      () => this.#controller?.abort(new Error('the upstream did not close after its last event')),
      lingerMs,
    )
    this.#linger.unref()
  }

  #finish(): void {
    const { reading, habits, candidate } = this.#options
    if (this.#reader === null) return
    const { produced, report } = this.#reader
    const usage = this.#reader.usage()
    const overMs = this.#firstOutputAt === null ? 0 : this.#lastOutputAt - this.#firstOutputAt
    habits.streamed(candidate.name, { counted: produced, charged: usage.outputTokens, overMs })
    if (this.#assembly !== null) this.#endWhole(this.#assembly.document(), { usage, report })
    else if (this.#frames !== null && reading.streamed !== null)
      this.#resolve(reading.streamed({ usage, last: { kind: 'tail', frames: this.#frames.tail(usage, report) } }))
  }

  #endDocument(): void {
    const { habits, candidate, upstream } = this.#options
    this.#phase = 'over'
    try {
      const document = documentOf(this.#body(), upstream.host)
      habits.answeredWhole(candidate.name)
      this.#endWhole(document)
    } catch (error) {
      this.#reject(error)
    }
  }

  #endWhole(document: Record<string, unknown>, metered?: Whole['metered']): void {
    const { route, asking, upstream, wire, clock, x, reading } = this.#options
    const inOnePiece = route.stream && reading.streamed !== null
    try {
      const whole: Whole = {
        document,
        view: this.#view(),
        measure: this.#measure(),
        upstreamHost: upstream.host,
        ...(metered === undefined ? {} : { metered }),
      }
      const result = reading.whole(whole, { route, asking, wire })
      x.firstTokenTicks ??= clock.ticks()
      const looking = wire.accepted({ status: 200, stream: inOnePiece })
      const deliver = (): void => {
        if (inOnePiece) openStream(wire)
        this.#resolve(result)
      }
      if (looking instanceof Promise) looking.then(deliver).catch(this.#reject)
      else deliver()
    } catch (error) {
      this.#reject(error)
    }
  }

  #view(): Whole['view'] {
    const { route, upstream } = this.#options
    return { productId: route.productId, more: upstream.config.answerFields }
  }

  #measure(): Whole['measure'] {
    const { route, x } = this.#options
    const outputCap = x.hold === undefined ? Number.POSITIVE_INFINITY : x.hold.outputCap * (x.chat?.choices ?? 1)
    return { inputEstimate: route.inputEstimate, outputCap }
  }

  /** The client took what it was sent, or the plugins have looked: it was not the upstream that was silent. */
  #goOn(): void {
    this.#eventAt = this.#options.clock.ticks()
    this.#controller?.resume()
  }

  #refusedAtHead(error: unknown): void {
    // The upstream may have said its last word meanwhile; that is no answer any more.
    this.#phase = 'over'
    this.#controller?.abort(new Error('refused at the head'))
    this.#reject(error)
  }

  /**
   * A client that leaves must cost what was made for it. Where that is seen as it is made, we hang up at once; where it may be made unseen,
   * the call goes on as if the client had stayed, until the answer shows it.
   */
  #clientLeft(): void {
    if (this.#phase === 'over') return
    if (this.#mayWorkUnseen()) this.#aloneSince = this.#options.clock.ticks()
    else this.#leave()
  }

  #mayWorkUnseen(): boolean {
    const { route, asking, reading, habits, candidate, upstream } = this.#options
    // Without a connection, or turned away: the upstream has not worked for it.
    if (this.#controller === null || this.#phase === 'refused') return false
    if (!asking.stream) return true
    if (route.stream && reading.streamed !== null) return false
    return this.#phase === 'collecting' || habits.work(candidate, upstream) !== 'shown'
  }

  /** Nobody listens, and what is made is seen after all. */
  #isSeenAlone(now: number): boolean {
    const { habits, candidate, upstream } = this.#options
    if (this.#aloneSince === null || this.#firstOutputAt === null) return false
    if (now - Math.max(this.#aloneSince, this.#firstOutputAt) < lookOnMs) return false
    return habits.work(candidate, upstream) !== 'hidden'
  }

  /** Hangs up for a client that has gone, or is given up for gone. */
  #leave(): void {
    this.fail(new ClientLeft(this.#used()))
  }

  #used(): Usage {
    if (this.#controller === null || this.#phase === 'refused') return nothingUsed
    return this.#reader?.usageSoFar() ?? { inputTokens: this.#options.route.inputEstimate, outputTokens: 0, estimated: true }
  }

  #tooLarge(): void {
    this.#failWith({ kind: 'in_band', status: 200, reason: 'too_large' })
  }

  #failWith(facts: UpstreamFacts): void {
    this.fail(new UpstreamFailure(facts, this.#options.upstream.host))
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
  }

  #body(): string {
    return (this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks))?.toString('utf8') ?? ''
  }
}

const emptyResponse = Promise.resolve({ status: 200, statusText: '', headers: new Headers(), body: null } as Response)

function one(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}
