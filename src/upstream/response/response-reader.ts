/** Reads a 200 from its first bytes to its result: a stream that is forwarded or aggregated, or a document. */
import type { GatewayConfig } from '../../config/config.ts'
import type { UpstreamRequestMode, Candidate, Exchange, Route, Slots, Usage } from '../../exchange/exchange.ts'
import { workerThresholdBytes } from '../../exchange/request/chat-request.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { AnswerDecoder } from '../../codecs/answer-decoder.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import type { ChatAnswerContext } from '../../codecs/chat/chat-encoder.ts'
import { AnswerRepair } from '../../codecs/chat/repair/answer-repair.ts'
import {
  AnswerTooLargeError,
  forwardedAnswerFactor,
  hasTooManyParts,
  hasTooManyValues,
  maxChatDocumentBytes,
} from '../../codecs/answer-bounds.ts'
import { StreamAggregator } from '../../codecs/chat/stream-aggregator.ts'
import { BoundedBody } from '../bounded-body.ts'
import type { BufferedCompletion } from './buffered-completion.ts'
import { ClientEvents } from '../../codecs/chat/client-events.ts'
import type { PromptRatios } from '../target/prompt-ratios.ts'
import type { TargetCapabilities } from '../target/target-capabilities.ts'
import type { ResponseMode } from './response-mode.ts'
import { looksLikeEventStream } from './sse.ts'
import { StreamReader } from './stream-reader.ts'
import type { AnswerSink } from '../../codecs/answer-sink.ts'
import { parseDocument, inBandFailure } from './validate-completion.ts'
import { parseUsage, toPublicUsage } from './usage.ts'
import { CompletionAnswer, DecodedAnswer } from './whole-answer.ts'
import type { WholeAnswer } from './whole-answer.ts'
import type { Upstream } from '../target/upstreams.ts'

export interface ResponseReaderOptions<Result> {
  readonly x: Exchange & Partial<Slots>
  readonly candidate: Candidate
  readonly upstream: Upstream
  readonly route: Route
  readonly requestMode: UpstreamRequestMode
  readonly responseMode: ResponseMode<Result>
  readonly capabilities: TargetCapabilities
  readonly promptRatios: PromptRatios
  readonly callContext: CallContext
  readonly config: GatewayConfig
}

export interface ResponseReader<Result> {
  /** Returns the frames for the client that these bytes complete. @throws UpstreamFailure */
  consume(chunk: Buffer, now: number): string
  /** Grows with each piece of output: text, reasoning, calls. */
  readonly outputCount: number
  /** Number of events so far, without comments. */
  readonly eventCount: number
  /** The upstream has sent its last event; anything after it is ignored. */
  readonly isComplete: boolean
  /** The gateway ended the response, because the upstream ignores the cap; the upstream may still be sending. */
  readonly isCutOff: boolean
  /** Each choice has finished, and only `[DONE]` is missing. */
  readonly allChoicesFinished: boolean
  /** Ends the input and returns the remaining frames. @throws UpstreamFailure if the response is incomplete */
  end(): string
  /** Ends a forwarded answer as at a limit of tokens; returns the frames that end it. Its usage is what was produced. */
  cutOff(): string
  /** The result. @throws UpstreamFailure */
  result(): Result
  /** Whether the client received the response as it arrived. */
  readonly isForwarded: boolean
  /** Whether output is visible while it is produced. */
  readonly isVisible: boolean
  /** Null if the output is not visible. */
  getUsageSoFar(): Usage | null
  /** When output was first seen. */
  readonly firstOutputAt: number | null
  /** The document, or the last chunk that has choices: with the id and the model that the upstream names. */
  readonly answer: Readonly<Record<string, unknown>>
}

/** The first bytes decide the kind, whatever was requested. */
export function createResponseReader<Result>(
  first: Buffer,
  contentType: string,
  options: ResponseReaderOptions<Result>,
): ResponseReader<Result> {
  const isStream = looksLikeEventStream(first) ?? contentType.includes('text/event-stream')
  return isStream ? new StreamResponseReader(options) : new DocumentResponseReader(options)
}

class StreamResponseReader<Result> implements ResponseReader<Result> {
  readonly isVisible = true
  readonly isForwarded: boolean
  firstOutputAt: number | null = null
  readonly #options: ResponseReaderOptions<Result>
  readonly #reader: StreamReader
  /** Produces the result: the client's last frames, or a complete response. */
  readonly #output: StreamOutput<Result>
  #receivedBytes = 0
  #lastOutputAt = 0

  constructor(options: ResponseReaderOptions<Result>) {
    const { route, responseMode, upstream, callContext } = options
    const { fromStream } = responseMode
    const isForwarded = route.stream && fromStream !== null
    this.#options = options
    this.isForwarded = isForwarded
    this.#output = isForwarded ? createForwardingOutput(fromStream, options) : createAggregatingOutput(options)
    // A document for further processing may hold images, whose bytes are no tokens, so it is not cut off at the cap.
    const bounds =
      fromStream === null ? { ...toUsageBounds(options), outputCap: Number.POSITIVE_INFINITY } : toUsageBounds(options)
    this.#reader = new StreamReader({
      bounds,
      decoder: createDecoder(options),
      upstreamHost: upstream.host,
      context: toChatContext(options),
      sink: this.#output.sink,
      // Documents may hold images.
      ...(fromStream === null ? { maxEventLength: options.config.limits.answerBytes } : {}),
      // A keep-alive comment may have opened the client's stream; then the response cannot become an error of the catalogue.
      ...(fromStream === null ? {} : { isEmptyFailure: () => !isForwarded || !callContext.client.headersSent }),
    })
  }

  get eventCount(): number {
    return this.#reader.eventCount
  }

  get answer(): Readonly<Record<string, unknown>> {
    return this.#reader.lastChunk
  }

  get outputCount(): number {
    return this.#reader.countedTokens
  }

  get isComplete(): boolean {
    return this.#reader.isDone
  }

  get isCutOff(): boolean {
    return this.#reader.isCutOff
  }

  get allChoicesFinished(): boolean {
    return this.#reader.allChoicesFinished
  }

  consume(chunk: Buffer, now: number): string {
    const reader = this.#reader
    const { countedTokens } = reader
    if (!reader.isDone) this.#countReceived(chunk.length)
    const frames = reader.push(chunk)
    if (reader.countedTokens > countedTokens) {
      this.#lastOutputAt = now
      this.firstOutputAt ??= now
    }
    return frames
  }

  end(): string {
    return this.#reader.end()
  }

  cutOff(): string {
    return this.#reader.cutOff()
  }

  result(): Result {
    const { capabilities, candidate } = this.#options
    const { countedTokens, report } = this.#reader
    const usage = this.#reader.getUsage()
    recordPromptReport(parseUsage(report), this.#options)
    const durationMs = this.firstOutputAt === null ? 0 : this.#lastOutputAt - this.firstOutputAt
    capabilities.recordStream(candidate.name, { countedTokens: countedTokens, chargedTokens: usage.outputTokens, durationMs })
    return this.#output.finish({ usage, report })
  }

  getUsageSoFar(): Usage {
    return this.#reader.getUsageSoFar()
  }

  /** Forwarded chunks are not buffered, but what is known of them grows. A member makes them long by requesting log probabilities. */
  #countReceived(bytes: number): void {
    const { config, upstream } = this.#options
    this.#receivedBytes += bytes
    const maxBytes = config.limits.answerBytes * (this.isForwarded ? forwardedAnswerFactor : 1)
    if (this.#receivedBytes > maxBytes) throw inBandFailure(this.isForwarded ? 'too_long' : 'too_large', upstream.host)
  }
}

/**
 * Receives a stream's chunks and produces the result. The functions are created in an object literal and not assigned to a property: V8
 * treats an assigned function as old, and the whole turn would stay in memory until a major garbage collection.
 */
interface StreamOutput<Result> {
  readonly sink: AnswerSink
  finish(streamUsage: NonNullable<BufferedCompletion['streamUsage']>): Result
}

function createForwardingOutput<Result>(
  streamed: NonNullable<ResponseMode<Result>['fromStream']>,
  options: ResponseReaderOptions<Result>,
): StreamOutput<Result> {
  const { route, callContext } = options
  const events = new ClientEvents({
    allowlist: toAllowlist(options),
    context: toChatContext(options),
    includeUsage: route.includeUsage,
    onEvent: callContext.onEvent,
    encoder: callContext.encoder,
  })
  return {
    sink: events,
    finish: ({ usage, report }) =>
      streamed({
        usage,
        final: {
          kind: 'trailer',
          frames: events.buildTrailer(toPublicUsage(report, usage), callContext.describeCharge?.(usage)),
        },
      }),
  }
}

function createAggregatingOutput<Result>(options: ResponseReaderOptions<Result>): StreamOutput<Result> {
  const aggregator = new StreamAggregator()
  const isDecoded = options.upstream.format !== null
  return {
    sink: aggregator,
    finish(streamUsage) {
      const answer = isDecoded
        ? new DecodedAnswer(aggregator.events, toChatContext(options))
        : new CompletionAnswer(aggregator.toDocument())
      return toResult(answer, options, streamUsage)
    },
  }
}

class DocumentResponseReader<Result> implements ResponseReader<Result> {
  readonly isVisible = false
  readonly isComplete = false
  readonly isCutOff = false
  readonly allChoicesFinished = false
  readonly isForwarded = false
  readonly firstOutputAt = null
  readonly #options: ResponseReaderOptions<Result>
  readonly #body: BoundedBody
  eventCount = 0
  /** Empty before the result, and for a long document. */
  answer: Readonly<Record<string, unknown>> = {}

  constructor(options: ResponseReaderOptions<Result>) {
    this.#options = options
    const { answerBytes } = options.config.limits
    const { fromStream, fromLongDocument } = options.responseMode
    const maxBytes = fromStream === null ? answerBytes : Math.min(answerBytes, maxChatDocumentBytes)
    // Such a document has no client that pauses it; a paused chunk is used by undici again.
    this.#body = new BoundedBody(maxBytes, { ownsChunks: fromLongDocument !== undefined })
  }

  consume(chunk: Buffer): '' {
    this.eventCount++
    if (!this.#body.append(chunk)) throw inBandFailure('too_large', this.#options.upstream.host)
    return ''
  }

  end(): '' {
    return ''
  }

  cutOff(): '' {
    return ''
  }

  get outputCount(): number {
    return this.eventCount
  }

  result(): Result {
    const { capabilities, candidate, upstream, responseMode } = this.#options
    if (responseMode.fromLongDocument !== undefined && this.#body.size > workerThresholdBytes) {
      capabilities.recordWholeResponse(candidate.name)
      return responseMode.fromLongDocument(this.#body.chunks, upstream.host)
    }
    const text = this.#body.text()
    const isChat = responseMode.fromStream !== null
    if (isChat && hasTooManyValues(text)) throw inBandFailure('too_large', upstream.host)
    const sentDocument = parseDocument(text, upstream.host)
    const decoder = createDecoder(this.#options)
    const answer = decoder === null ? this.#readCompletion(sentDocument, { isChat }) : this.#decode(decoder, sentDocument)
    this.answer = sentDocument
    capabilities.recordWholeResponse(candidate.name)
    const result = toResult(answer, this.#options)
    recordPromptReport(parseUsage(answer.report), this.#options)
    return result
  }

  #readCompletion(sent: Record<string, unknown>, { isChat }: { readonly isChat: boolean }): WholeAnswer {
    if (!isChat) return new CompletionAnswer(sent)
    if (hasTooManyParts(sent)) throw inBandFailure('too_large', this.#options.upstream.host)
    return new CompletionAnswer(new AnswerRepair(toChatContext(this.#options)).repairCompletion(sent))
  }

  #decode(decoder: AnswerDecoder, sent: Record<string, unknown>): WholeAnswer {
    const { host } = this.#options.upstream
    try {
      const decodedEvents = decoder.decodeWhole(sent)
      const events: AnswerEvent[] = []
      for (const event of decodedEvents ?? [])
        if (event.kind === 'error') throw inBandFailure('error_object', host, event.error)
        else events.push(event)
      if (decodedEvents !== null) return new DecodedAnswer(events, toChatContext(this.#options))
    } catch (error) {
      throw error instanceof AnswerTooLargeError ? inBandFailure('too_large', host) : error
    }
    throw inBandFailure('empty', host)
  }

  getUsageSoFar(): null {
    return null
  }
}

function createDecoder({ upstream, x }: Pick<ResponseReaderOptions<unknown>, 'upstream' | 'x'>): AnswerDecoder | null {
  return upstream.format?.createDecoder(x.id) ?? null
}

function toChatContext({ route, x }: Pick<ResponseReaderOptions<unknown>, 'route' | 'x'>): ChatAnswerContext {
  return { requestId: x.id, model: route.productId, startedAt: x.startedAt }
}

function toResult<Result>(
  answer: WholeAnswer,
  options: ResponseReaderOptions<Result>,
  streamUsage?: BufferedCompletion['streamUsage'],
): Result {
  const { route, upstream, callContext, responseMode } = options
  const completion: BufferedCompletion = {
    answer,
    context: toChatContext(options),
    allowlist: toAllowlist(options),
    bounds: toUsageBounds(options),
    upstreamHost: upstream.host,
    ...(streamUsage === undefined ? {} : { streamUsage }),
  }
  return responseMode.fromDocument(completion, { route, callContext })
}

function toAllowlist({
  route,
  upstream,
}: Pick<ResponseReaderOptions<unknown>, 'route' | 'upstream'>): BufferedCompletion['allowlist'] {
  return { productId: route.productId, extraFields: upstream.config.passResponseFields }
}

function toUsageBounds(options: ResponseReaderOptions<unknown>): BufferedCompletion['bounds'] {
  const { x, candidate, promptRatios } = options
  const prompt = getPromptEstimate(options)
  const outputCap = x.hold === undefined ? Number.POSITIVE_INFINITY : x.hold.outputCap * (x.chat?.choices ?? 1)
  const { mediaEstimate } = prompt
  const { maxInput, maxMediaInput } = x.hold ?? {}
  return {
    inputEstimate: promptRatios.estimate(candidate.name, prompt),
    mediaEstimate,
    outputCap,
    // Calls of the service itself add texts that are no part of the member's prompt.
    ...(maxInput === undefined ? {} : { maxInput, maxMediaInput }),
  }
}

/** The estimate of the member's prompt, before the target's own ratio. */
export function getPromptEstimate({ route, x }: Pick<ResponseReaderOptions<unknown>, 'route' | 'x'>) {
  return { inputEstimate: route.inputEstimate, mediaEstimate: x.hold?.mediaEstimate ?? 0 }
}

/** Learns how many tokens the target makes of a prompt. A document for further processing answers another prompt than the member's. */
function recordPromptReport(report: ReturnType<typeof parseUsage>, options: ResponseReaderOptions<unknown>): void {
  const { promptRatios, candidate, responseMode } = options
  if (report === null || responseMode.fromStream === null) return
  promptRatios.record(candidate.name, getPromptEstimate(options), report.inputTokens)
}
