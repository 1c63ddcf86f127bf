/** What a 200 brings, from its first bytes to what is made of it: a stream, passed on or put together, or a document. */
import type { GatewayConfig } from '../config/config.ts'
import type { Asking, Candidate, Exchange, Route, Slots, Usage } from '../exchange/exchange.ts'
import type { Wire } from '../exchange/run.ts'
import { Assembly } from './assembly.ts'
import { BoundedBody } from './bounded-body.ts'
import type { Whole } from './completion.ts'
import { Frames } from './frames.ts'
import type { Habits } from './habits.ts'
import type { Reading } from './reading.ts'
import { beginsAsEvents } from './sse.ts'
import { StreamReader } from './stream-reader.ts'
import type { ChunkTaker } from './stream-reader.ts'
import { documentOf, noSuccess } from './success.ts'
import type { Upstream } from './upstreams.ts'

export interface IncomingOptions<Result> {
  readonly x: Exchange & Partial<Slots>
  readonly candidate: Candidate
  readonly upstream: Upstream
  readonly route: Route
  readonly asking: Asking
  readonly reading: Reading<Result>
  readonly habits: Habits
  readonly wire: Wire
  readonly config: GatewayConfig
}

export interface Incoming<Result> {
  /** The frames for the client that these bytes completed; empty where there are none. @throws UpstreamFailure */
  take(chunk: Buffer, now: number): string
  /** Words heard so far. A comment is none: an upstream that only keeps its connection warm is not answering. */
  readonly words: number
  /** It has said its last word, whatever it may still send. */
  readonly isWhole: boolean
  /** Each choice has come to its end, and only the mark behind them all is missing. */
  readonly isAnswered: boolean
  /** The bytes are at their end: the frames still owed. @throws UpstreamFailure where the answer is not whole */
  end(): string
  /** What it all comes to. @throws UpstreamFailure */
  result(): Result
  /** Whether the client has been sent it as it came. */
  readonly isPassedOn: boolean
  /** Whether what is made is seen as it is made. */
  readonly isShown: boolean
  /** Null where it is not. */
  usageSoFar(): Usage | null
  /** When output was first seen. */
  readonly firstOutputAt: number | null
}

/** The first bytes show which it is, whatever was asked for. */
export function incomingOf<Result>(first: Buffer, contentType: string, options: IncomingOptions<Result>): Incoming<Result> {
  const isStream = beginsAsEvents(first) ?? contentType.includes('text/event-stream')
  return isStream ? new IncomingStream(options) : new IncomingDocument(options)
}

class IncomingStream<Result> implements Incoming<Result> {
  readonly isShown = true
  readonly isPassedOn: boolean
  firstOutputAt: number | null = null
  readonly #options: IncomingOptions<Result>
  readonly #reader: StreamReader
  /** What is made of it at its end: the client's last frames, or a whole answer. */
  readonly #making: Making<Result>
  #keptBytes = 0
  #lastOutputAt = 0

  constructor(options: IncomingOptions<Result>) {
    const { route, reading, upstream } = options
    const { streamed } = reading
    const isPassedOn = route.stream && streamed !== null
    this.#options = options
    this.isPassedOn = isPassedOn
    this.#making = isPassedOn ? passingOn(streamed, options) : puttingTogether(options)
    this.#reader = new StreamReader({ measure: measureOf(options), upstreamHost: upstream.host, taker: this.#making.taker })
  }

  get words(): number {
    return this.#reader.events
  }

  get isWhole(): boolean {
    return this.#reader.done
  }

  get isAnswered(): boolean {
    return this.#reader.answered
  }

  take(chunk: Buffer, now: number): string {
    const reader = this.#reader
    const { produced } = reader
    const frames = reader.push(chunk)
    if (reader.produced > produced) {
      this.#lastOutputAt = now
      this.firstOutputAt ??= now
    }
    // What is passed on is not kept.
    if (!this.isPassedOn && !reader.done) this.#keep(chunk.length)
    return frames
  }

  end(): string {
    return this.#reader.end()
  }

  result(): Result {
    const { habits, candidate } = this.#options
    const { produced, report } = this.#reader
    const usage = this.#reader.usage()
    const overMs = this.firstOutputAt === null ? 0 : this.#lastOutputAt - this.firstOutputAt
    habits.streamed(candidate.name, { counted: produced, charged: usage.outputTokens, overMs })
    return this.#making.made({ usage, report })
  }

  usageSoFar(): Usage {
    return this.#reader.usageSoFar()
  }

  #keep(bytes: number): void {
    const { config, upstream } = this.#options
    this.#keptBytes += bytes
    if (this.#keptBytes > config.limits.answerBytes) throw noSuccess('too_large', upstream.host)
  }
}

/**
 * What takes a stream's chunks, and what they come to. Functions of a literal, and not written into a property: V8 makes such a one old, and
 * the whole turn would live with it until the slow collector comes.
 */
interface Making<Result> {
  readonly taker: ChunkTaker
  made(metered: NonNullable<Whole['metered']>): Result
}

function passingOn<Result>(streamed: NonNullable<Reading<Result>['streamed']>, options: IncomingOptions<Result>): Making<Result> {
  const { route, wire } = options
  const frames = new Frames({ view: viewOf(options), includeUsage: route.includeUsage, onEvent: wire.event })
  return {
    taker: frames,
    made: ({ usage, report }) => streamed({ usage, last: { kind: 'tail', frames: frames.tail(usage, report) } }),
  }
}

function puttingTogether<Result>(options: IncomingOptions<Result>): Making<Result> {
  const assembly = new Assembly()
  return { taker: assembly, made: (metered) => madeOf(assembly.document(), options, metered) }
}

class IncomingDocument<Result> implements Incoming<Result> {
  readonly isShown = false
  readonly isWhole = false
  readonly isAnswered = false
  readonly isPassedOn = false
  readonly firstOutputAt = null
  readonly #options: IncomingOptions<Result>
  readonly #body: BoundedBody
  words = 0

  constructor(options: IncomingOptions<Result>) {
    this.#options = options
    this.#body = new BoundedBody(options.config.limits.answerBytes)
  }

  take(chunk: Buffer): '' {
    this.words++
    if (!this.#body.take(chunk)) throw noSuccess('too_large', this.#options.upstream.host)
    return ''
  }

  end(): '' {
    return ''
  }

  result(): Result {
    const { habits, candidate, upstream } = this.#options
    const document = documentOf(this.#body.text(), upstream.host)
    habits.answeredWhole(candidate.name)
    return madeOf(document, this.#options)
  }

  usageSoFar(): null {
    return null
  }
}

function madeOf<Result>(document: Record<string, unknown>, options: IncomingOptions<Result>, metered?: Whole['metered']): Result {
  const { route, asking, upstream, wire, reading } = options
  const whole: Whole = {
    document,
    view: viewOf(options),
    measure: measureOf(options),
    upstreamHost: upstream.host,
    ...(metered === undefined ? {} : { metered }),
  }
  return reading.whole(whole, { route, asking, wire })
}

function viewOf({ route, upstream }: Pick<IncomingOptions<unknown>, 'route' | 'upstream'>): Whole['view'] {
  return { productId: route.productId, more: upstream.config.answerFields }
}

function measureOf({ route, x }: Pick<IncomingOptions<unknown>, 'route' | 'x'>): Whole['measure'] {
  const outputCap = x.hold === undefined ? Number.POSITIVE_INFINITY : x.hold.outputCap * (x.chat?.choices ?? 1)
  return { inputEstimate: route.inputEstimate, outputCap }
}
