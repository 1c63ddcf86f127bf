/** One call to one target, from the first byte of the request to the last of the answer, with every way it can be cut short. */
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { nothingUsed } from '../exchange/exchange.ts'
import type { Usage } from '../exchange/exchange.ts'
import type { LargeBody } from '../exchange/large/printed.ts'
import { ClientLeft } from '../exchange/outcome.ts'
import { openStream } from '../exchange/stream.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'
import type { Clock } from '../system/clock.ts'
import { BoundedBody } from './bounded-body.ts'
import { Deadlines } from './deadlines.ts'
import { Delivery } from './delivery.ts'
import { brokenFacts, headerOf, refusalBytes, refusalFacts } from './http-facts.ts'
import type { AnswerHeaders } from './http-facts.ts'
import { incomingOf } from './incoming.ts'
import type { Incoming, IncomingOptions } from './incoming.ts'
import type { Placed } from './running.ts'

export interface AttemptOptions<Result> extends IncomingOptions<Result> {
  readonly clock: Clock
}

/** An upstream that has said `[DONE]` may take this long to close before its connection is dropped instead of kept. */
const lingerMs = 5_000

/** After the client has left: how long output is awaited on, to tell an answer that grows from one that comes at once. */
const lookOnMs = 100

/** Where the call stands. `over` is final: whatever comes after it is ignored. */
type Phase = 'sending' | 'refused' | 'accepted' | 'answering' | 'over'

export class Attempt<Result> implements Dispatcher.DispatchHandler, Placed {
  place = -1
  /** Resolves with the answer, or rejects with `UpstreamFailure` or `ClientLeft`. */
  readonly answer: Promise<Result>
  readonly #options: AttemptOptions<Result>
  readonly #deadlines: Deadlines
  /** The client's side, where the client awaits a stream. */
  readonly #delivery: Delivery | null
  #resolve!: (result: Result) => void
  #reject!: (error: unknown) => void
  #phase: Phase = 'sending'
  #controller: Dispatcher.DispatchController | null = null
  #head: { readonly status: number; readonly headers: AnswerHeaders } = { status: 0, headers: {} }
  /** What a refusal explains. */
  #refusal: BoundedBody | null = null
  #incoming: Incoming<Result> | null = null
  /** When the client left and the call went on, to learn what is being made. */
  #aloneSince: number | null = null
  /** The answer is whole; only its frames are still held. */
  #whole = false
  #linger: NodeJS.Timeout | undefined

  constructor(options: AttemptOptions<Result>) {
    const { x, route, wire, clock, config } = options
    const startedAt = clock.ticks()
    this.#options = options
    this.#deadlines = new Deadlines(config.timeouts, { startedAt, turnStartedAt: x.callStartedTicks ?? startedAt })
    this.#delivery = route.stream
      ? new Delivery({
          x,
          wire,
          clock,
          deadlines: this.#deadlines,
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

  /** Sends the request; what comes back is read by this handler. */
  send(): void {
    if (this.#phase === 'over') return
    const { x, candidate, upstream, asking } = this.#options
    try {
      const body = candidate.body(asking)
      const headers: Record<string, string> = { ...upstream.headers, 'x-request-id': x.id }
      if (typeof body !== 'string') headers['content-length'] = String(body.bytes)
      upstream.dispatcher.dispatch(
        {
          origin: upstream.origin,
          path: upstream.basePath + candidate.path,
          method: 'POST',
          headers,
          body: typeof body === 'string' ? body : streamOf(body),
        },
        this,
      )
    } catch (error) {
      this.fail(error)
    }
  }

  /** Ends the call with this failure unless it has ended. */
  fail(error: unknown): void {
    if (this.#phase === 'over') return
    const failure = error instanceof Error ? error : new Error(String(error))
    this.#phase = 'over'
    this.#controller?.abort(failure)
    this.#reject(failure)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#phase === 'over') controller.abort(new Error('ended before it was sent'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (status < 200 || this.#phase === 'over') return
    const { x, asking, clock } = this.#options
    this.#deadlines.heard(clock.ticks())
    x.attempted.status = status
    x.debug.upstreamStatus = status
    this.#head = { status, headers }
    if (status !== 200) {
      this.#refusal = new BoundedBody(refusalBytes)
      this.#phase = 'refused'
    } else if (asItIs.has((headerOf(headers, 'content-encoding') ?? '').trim().toLowerCase())) this.#phase = 'accepted'
    else this.#failWith({ kind: 'in_band', status, reason: asking.stream ? 'not_sse' : 'not_json' })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'accepted') this.#begin(chunk)
    if (this.#phase === 'answering') this.#take(chunk)
    else if (this.#phase === 'refused') this.#refusal?.take(chunk)
  }

  onResponseEnd(): void {
    clearTimeout(this.#linger)
    if (this.#phase === 'accepted') this.#failWith({ kind: 'in_band', status: 200, reason: 'empty' })
    else if (this.#phase === 'answering') this.#end()
    else if (this.#phase === 'refused') this.#failRefused()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#linger)
    // The status has been said; the rest of its explanation is all that was lost.
    if (this.#phase === 'refused') this.#failRefused()
    else this.#failWith(brokenFacts(error))
  }

  /** Looks at the deadlines; called several times a second while the call runs. */
  tick(now: number): void {
    if (this.#phase === 'over') return
    const due = this.#deadlines.due(now, this.#options.wire.client.opened)
    if (due !== 'total' && this.#isSeenAlone(now)) return this.#leave()
    if (due === 'slow_reader') this.#leave()
    else if (due === 'heartbeat') this.#delivery?.keepAlive()
    // Nothing of the answer is missing but the mark at its end, for which nobody shall wait longer, or be refused what he has.
    else if (due === 'idle' && this.#incoming?.isAnswered === true) this.#endUnmarked()
    else if (due !== null) this.#failWith({ kind: 'timeout', phase: due })
  }

  /** The first bytes show what the answer is. */
  #begin(first: Buffer): void {
    this.#incoming = incomingOf(first, headerOf(this.#head.headers, 'content-type') ?? '', this.#options)
    this.#phase = 'answering'
  }

  #take(chunk: Buffer): void {
    const incoming = this.#incoming
    if (incoming === null) return
    const { words } = incoming
    const now = this.#options.clock.ticks()
    let frames: string
    try {
      frames = incoming.take(chunk, now)
    } catch (error) {
      return this.fail(error)
    }
    if (incoming.words > words) this.#deadlines.heard(now)
    if (frames !== '') this.#delivery?.take(frames)
    if (!incoming.isWhole) return
    this.#complete()
    this.#awaitClose()
  }

  #end(): void {
    try {
      const frames = this.#incoming?.end() ?? ''
      if (frames !== '') this.#delivery?.take(frames)
    } catch (error) {
      return this.fail(error)
    }
    this.#complete()
  }

  #endUnmarked(): void {
    this.#end()
    this.#controller?.abort(new Error('the upstream did not say that this was all'))
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
    const incoming = this.#incoming
    if (incoming === null) return
    try {
      const result = incoming.result()
      if (incoming.isPassedOn) this.#resolve(result)
      else this.#handOver(result)
    } catch (error) {
      this.#reject(error)
    }
  }

  /** What came whole: the plugins see its head before anything of it is sent. */
  #handOver(result: Result): void {
    const { route, reading, wire, clock, x } = this.#options
    const inOnePiece = route.stream && reading.streamed !== null
    x.firstTokenTicks ??= clock.ticks()
    const looking = wire.accepted({ status: 200, stream: inOnePiece })
    const deliver = (): void => {
      if (inOnePiece) openStream(wire)
      this.#resolve(result)
    }
    if (looking instanceof Promise) looking.then(deliver).catch(this.#reject)
    else deliver()
  }

  /** The client took what it was sent, or the plugins have looked. */
  #goOn(): void {
    this.#deadlines.resumed(this.#options.clock.ticks())
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
    return this.#incoming?.isShown === false || habits.work(candidate, upstream) !== 'shown'
  }

  /** Nobody listens, and what is made is seen after all. */
  #isSeenAlone(now: number): boolean {
    const { habits, candidate, upstream } = this.#options
    const firstOutputAt = this.#incoming?.firstOutputAt ?? null
    if (this.#aloneSince === null || firstOutputAt === null) return false
    if (now - Math.max(this.#aloneSince, firstOutputAt) < lookOnMs) return false
    return habits.work(candidate, upstream) !== 'hidden'
  }

  /** Hangs up for a client that has gone, or is given up for gone. */
  #leave(): void {
    this.fail(new ClientLeft(this.#used()))
  }

  #used(): Usage {
    if (this.#controller === null || this.#phase === 'refused') return nothingUsed
    const { inputEstimate } = this.#options.route
    return this.#incoming?.usageSoFar() ?? { inputTokens: inputEstimate, outputTokens: 0, estimated: true }
  }

  #failRefused(): void {
    const { status, headers } = this.#head
    this.#failWith(refusalFacts(status, headers, this.#refusal?.text() ?? ''))
  }

  #failWith(facts: UpstreamFacts): void {
    this.fail(new UpstreamFailure(facts, this.#options.upstream.host))
  }
}

/** Codings that change no byte. `none` is not one of the standard's, but a common recipe against proxies that gather what they compress. */
const asItIs: ReadonlySet<string> = new Set(['', 'identity', 'none'])

/**
 * The dispatcher looks into a body before it asks whether the call is still wanted, and then listens to it no more. That a request is over
 * would be an error that nobody hears, which ends the process.
 */
function streamOf(body: LargeBody): Readable {
  return Readable.from(body, { objectMode: false }).on('error', () => undefined)
}
