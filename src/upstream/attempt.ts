/** One call to one target, from the first byte of the request to the last of the answer, with every way it can be cut short. */
import type { Dispatcher } from 'undici'
import type { GatewayConfig } from '../config.ts'
import { nothingUsed } from '../exchange/exchange.ts'
import type { Answer, Candidate, Exchange, Route, Slots, Usage } from '../exchange/exchange.ts'
import { ClientLeft } from '../exchange/outcome.ts'
import type { Wire } from '../exchange/run.ts'
import type { Clock } from '../clock.ts'
import { completionOf } from './completion.ts'
import { UpstreamFailure } from './failure.ts'
import type { UpstreamFacts } from './failure.ts'
import type { Placed } from './running.ts'
import { StreamReader } from './stream-reader.ts'
import type { Upstream } from './upstreams.ts'

export interface AttemptOptions<Result> {
  readonly x: Exchange & Partial<Slots>
  readonly candidate: Candidate
  readonly upstream: Upstream
  readonly route: Route
  readonly reading: Reading<Result>
  readonly wire: Wire
  readonly clock: Clock
  readonly config: GatewayConfig
}

/** What is made of a 200. */
export interface Reading<Result> {
  /** A whole document. @throws UpstreamFailure when it is no success */
  whole(text: string, route: Route, upstreamHost: string): Result
  /** The end of a stream that has been passed on. Null: nothing is passed on, the document is wanted whole. */
  readonly streamed: ((answer: Answer) => Result) | null
}

/** The member's own chat: a stream goes straight through. */
export const chatReading: Reading<Answer> = {
  whole(text, route, upstreamHost) {
    const answer = completionOf(text, route, upstreamHost)
    // Asked for a stream and got a document: an error in it is worth more than the wrong type.
    if (route.stream) throw new UpstreamFailure({ kind: 'in_band', status: 200, reason: 'not_sse' }, upstreamHost)
    return answer
  },
  streamed: (answer) => answer,
}

/** As much of a refusal's body as is kept to classify it. */
const refusalBytes = 64 * 1024
/** An upstream that has said `[DONE]` may take this long to close before its connection is dropped instead of kept. */
const lingerMs = 5_000

/** Where the call stands. `over` is final: whatever comes after it is ignored. */
type Phase = 'sending' | 'refused' | 'collecting' | 'streaming' | 'over'

export class Attempt<Result> implements Dispatcher.DispatchHandler, Placed {
  place = -1
  /** Resolves with the answer, or rejects with `UpstreamFailure` or `ClientLeft`. */
  readonly answer: Promise<Result>
  readonly #options: AttemptOptions<Result>
  readonly #startedAt: number
  /** The total time is the turn's, whichever target it has come to: its hold lasts no longer. */
  readonly #turnStartedAt: number
  #resolve!: (result: Result) => void
  #reject!: (error: unknown) => void
  #phase: Phase = 'sending'
  #controller: Dispatcher.DispatchController | null = null
  #refusal: { readonly status: number; readonly contentType: string; readonly retryAfter: string | null } | null = null
  #reader: StreamReader | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  /** When the upstream last sent an event, and when the client was last sent anything. */
  #eventAt: number
  #sentAt: number
  /** When the client stopped taking; null while it takes. */
  #blockedAt: number | null = null
  /** How long it did not take before that, in all. */
  #blockedMs = 0
  #firstByte = false
  #accepted = false
  /** Frames that wait for a plugin's asynchronous look at the head. */
  #held: string | null = null
  /** The answer is whole; only its frames are still held. */
  #whole = false
  #linger: NodeJS.Timeout | undefined

  constructor(options: AttemptOptions<Result>) {
    this.#options = options
    this.#startedAt = options.clock.ticks()
    this.#turnStartedAt = options.x.callStartedTicks ?? this.#startedAt
    this.#eventAt = this.#startedAt
    this.#sentAt = this.#startedAt
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    options.wire.client.onLeave(() => this.#clientLeft())
  }

  /** The proxy's `fetch`: sends the request; what comes back is read by this handler, so the response it returns is empty. */
  readonly fetch = (): Promise<Response> => {
    const { x, candidate, upstream } = this.#options
    if (this.#phase !== 'over') {
      upstream.dispatcher.dispatch(
        {
          origin: upstream.origin,
          path: upstream.basePath + candidate.path,
          method: 'POST',
          headers: { ...upstream.headers, 'x-request-id': x.id },
          body: candidate.body(),
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
    const { x, route, upstream, wire, reading } = this.#options
    this.#eventAt = this.#options.clock.ticks()
    this.#firstByte = true
    x.attempted.status = status
    x.debug.upstreamStatus = status
    const contentType = one(headers['content-type']) ?? ''
    if (status !== 200) {
      this.#refusal = { status, contentType, retryAfter: one(headers['retry-after']) }
      this.#phase = 'refused'
      return
    }
    if (one(headers['content-encoding']) !== null && one(headers['content-encoding']) !== 'identity') {
      this.#failWith({ kind: 'in_band', status, reason: route.stream ? 'not_sse' : 'not_json' })
      return
    }
    if (route.stream && reading.streamed !== null && contentType.includes('text/event-stream')) {
      this.#phase = 'streaming'
      this.#reader = new StreamReader({
        productId: route.productId,
        includeUsage: route.includeUsage,
        inputEstimate: route.inputEstimate,
        upstreamHost: upstream.host,
        onEvent: wire.event,
      })
      return
    }
    this.#phase = 'collecting'
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    switch (this.#phase) {
      case 'streaming':
        return this.#stream(chunk)
      case 'refused':
        if (this.#bytes < refusalBytes) this.#keep(chunk.subarray(0, refusalBytes - this.#bytes))
        return
      case 'collecting':
        this.#eventAt = this.#options.clock.ticks()
        this.#keep(chunk)
        if (this.#bytes > this.#options.config.limits.answerBytes)
          this.#failWith({ kind: 'in_band', status: 200, reason: 'too_large' })
    }
  }

  onResponseEnd(): void {
    clearTimeout(this.#linger)
    switch (this.#phase) {
      case 'streaming':
        return this.#endStream()
      case 'refused':
        if (this.#refusal !== null) this.#failWith({ kind: 'status', ...this.#refusal, body: this.#body() })
        return
      case 'collecting':
        return this.#endWhole()
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
    if (!this.#firstByte) {
      if (now - this.#startedAt >= timeouts.firstByteMs) return this.#failWith({ kind: 'timeout', phase: 'first_byte' })
    } else if (this.#blockedAt !== null) {
      // The client is the slow one: the upstream is paused, so its silence says nothing.
      if (now - this.#blockedAt >= timeouts.slowReaderMs) return this.#clientLeft()
      return
    } else if (now - this.#eventAt >= timeouts.idleMs) return this.#failWith({ kind: 'timeout', phase: 'idle' })
    this.#heartbeat(now)
  }

  /** Whoever took most of the time is the one who ran out of it: an answer read slowly to the end of all time is not free. */
  #outOfTime(now: number): void {
    const blockedMs = this.#blockedMs + (this.#blockedAt === null ? 0 : now - this.#blockedAt)
    if (blockedMs > (now - this.#turnStartedAt) / 2) this.#clientLeft()
    else this.#failWith({ kind: 'timeout', phase: 'total' })
  }

  /** Proxies between us and the client drop a silent stream; a comment keeps it, and is nothing to the client's parser. */
  #heartbeat(now: number): void {
    const { route, wire, config } = this.#options
    if (!route.stream || this.#held !== null) return
    const { client } = wire
    const wait = client.opened ? config.timeouts.heartbeatEveryMs : config.timeouts.heartbeatAfterMs
    if (now - this.#sentAt < wait || client.left) return
    if (!client.opened) client.open(200, { ...wire.headers(), ...streamHeaders })
    this.#send(': keep-alive\n\n')
  }

  #stream(chunk: Buffer): void {
    const reader = this.#reader
    if (reader === null) return
    const before = reader.events
    let frames: string
    try {
      frames = reader.push(chunk)
    } catch (error) {
      return this.fail(error instanceof Error ? error : new Error(String(error)))
    }
    // Comments do not count: an upstream that only keeps its connection warm is not answering.
    if (reader.events > before) this.#eventAt = this.#options.clock.ticks()
    if (frames !== '') this.#deliver(frames)
    if (!reader.done) return
    this.#complete()
    this.#linger = setTimeout(
      () => this.#controller?.abort(new Error('the upstream did not close after its last event')),
      lingerMs,
    )
    this.#linger.unref()
  }

  #endStream(): void {
    const reader = this.#reader
    if (reader === null) return
    try {
      const frames = reader.end()
      if (frames !== '') this.#deliver(frames)
    } catch (error) {
      return this.fail(error instanceof Error ? error : new Error(String(error)))
    }
    this.#complete()
  }

  /** The first frames open the stream, after the plugins have seen the head; the rest just pass. */
  #deliver(frames: string): void {
    if (this.#held !== null) {
      this.#held += frames
      return
    }
    if (this.#accepted) return this.#send(frames)
    this.#accepted = true
    const looking = this.#options.wire.accepted({ status: 200, stream: true })
    if (!(looking instanceof Promise)) return this.#open(frames)
    this.#held = frames
    this.#controller?.pause()
    looking.then(
      () => {
        const held = this.#held ?? ''
        this.#held = null
        if (this.#phase === 'over' && !this.#whole) return
        this.#open(held)
        this.#controller?.resume()
        if (this.#whole) this.#finish()
      },
      (error: unknown) => {
        // The upstream may have said its last word meanwhile; that is no answer any more.
        this.#phase = 'over'
        this.#controller?.abort(new Error('refused at the head'))
        this.#reject(error)
      },
    )
  }

  #open(frames: string): void {
    const { wire, x, clock } = this.#options
    if (!wire.client.opened) wire.client.open(200, { ...wire.headers(), ...streamHeaders })
    x.firstTokenTicks ??= clock.ticks()
    this.#send(frames)
  }

  #send(frames: string): void {
    const { client } = this.#options.wire
    this.#sentAt = this.#options.clock.ticks()
    if (client.left || client.write(frames, 'latin1') || this.#blockedAt !== null) return
    const blockedAt = this.#sentAt
    this.#blockedAt = blockedAt
    this.#controller?.pause()
    client.onDrain(() => {
      this.#blockedAt = null
      this.#eventAt = this.#options.clock.ticks()
      this.#blockedMs += this.#eventAt - blockedAt
      this.#controller?.resume()
    })
  }

  #complete(): void {
    this.#phase = 'over'
    this.#whole = true
    if (this.#held === null) this.#finish()
  }

  #finish(): void {
    const reader = this.#reader
    const { streamed } = this.#options.reading
    if (reader !== null && streamed !== null)
      this.#resolve(streamed({ usage: reader.usage(), last: { kind: 'tail', frames: reader.tail() } }))
  }

  #endWhole(): void {
    const { route, upstream, wire, clock, x, reading } = this.#options
    this.#phase = 'over'
    try {
      const result = reading.whole(this.#body(), route, upstream.host)
      x.firstTokenTicks ??= clock.ticks()
      const looking = wire.accepted({ status: 200, stream: false })
      if (looking instanceof Promise) looking.then(() => this.#resolve(result), this.#reject)
      else this.#resolve(result)
    } catch (error) {
      this.#reject(error)
    }
  }

  #clientLeft(): void {
    if (this.#phase === 'over') return
    this.fail(new ClientLeft(this.#used()))
  }

  #used(): Usage {
    // Without a connection, or turned away: the upstream has not worked for it.
    if (this.#controller === null || this.#phase === 'refused') return nothingUsed
    return this.#reader?.usageSoFar() ?? { inputTokens: this.#options.route.inputEstimate, outputTokens: 0, estimated: true }
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

/** Of a stream of events. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

const emptyResponse = Promise.resolve({ status: 200, statusText: '', headers: new Headers(), body: null } as Response)

function one(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null
}
