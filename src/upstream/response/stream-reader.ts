/**
 * Reads a streamed response: bytes in, validated and measured chunks out. It is pure, so that tests cover every bad ending with a table of
 * bytes.
 *
 * Each event is parsed, or matches the previous one except for its text (`chunk-template.ts`). An event that is no JSON object, or that
 * holds an error, fails the stream. An event without a list of choices is not part of the response and is skipped. Other events go to the
 * sink, which forwards (`client-events.ts`) or aggregates them (`stream-aggregator.ts`).
 *
 * An upstream that ignores the cap is cut off: the unfinished choices end with `length`.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { Usage } from '../../exchange/exchange.ts'
import type { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { ChunkTemplateMatcher } from '../../codecs/chat/chunk-template.ts'
import { EventSplitter } from './sse.ts'
import { isOutput } from '../../conversation/answer-event.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import type { AnswerSink } from '../../codecs/answer-sink.ts'
import type { AnswerDecoder, DecodedEvent } from '../../codecs/answer-decoder.ts'
import { AnswerRepair } from '../../codecs/chat/repair/answer-repair.ts'
import type { RepairContext } from '../../codecs/chat/repair/answer-repair.ts'
import { isEmptyMessage } from '../../codecs/chat/choice-ends.ts'
import { AnswerTooLargeError, checkEventValues, maxChoices, TooManyCallsError } from '../../codecs/answer-bounds.ts'
import type { ServerEvent } from './sse.ts'
import { checkFinish, hasFinished, inBandFailure, parseObject } from './validate-completion.ts'
import { reconcileUsage, isBetter, OutputCounter, findUsageReport, parseUsage, toMaxOutput } from './usage.ts'
import type { UsageBounds } from './usage.ts'
import { parseJson } from '../../system/parse-json.ts'

type FinishEvent = Extract<AnswerEvent, { kind: 'finish' }>

interface StreamReaderOptions {
  readonly bounds: UsageBounds
  readonly upstreamHost: string | null
  readonly sink: AnswerSink
  /** Ids that the upstream gave none are derived from it. */
  readonly context?: RepairContext
  /** Characters of one event at most; by default what a chat may have. */
  readonly maxEventLength?: number
  /** Set if the upstream does not send chat completions. */
  readonly decoder?: AnswerDecoder | null
  /**
   * Whether a stream without output and without a usage report is a failure, so that the response can be requested whole: while nothing of
   * it has been sent. Chunks without output are then held until output or a report arrives.
   */
  readonly isEmptyFailure?: () => boolean
}

export class StreamReader {
  readonly #options: StreamReaderOptions
  readonly #splitter: EventSplitter
  readonly #output = new OutputCounter()
  readonly #repair: AnswerRepair
  #report: Record<string, unknown> | null = null
  /** Our own count at the upstream's last report. */
  #countedTokensAtReport = 0
  #eventCount = 0
  /** Whether each choice has finished. */
  readonly #finished = new Map<number, boolean>()
  #done = false
  #cutOff = false
  /** Output bytes from which on the cap may have been ignored. A comparison of bytes alone is what each event costs. */
  readonly #maxBytes: number
  /** The last chunk with a list of choices, for the fields of chunks that the gateway adds; of another API, the id and the model. */
  #lastChunk: Readonly<Record<string, unknown>> = {}
  readonly #template = new ChunkTemplateMatcher()
  /** The end of an answer of another API, until the stream ends. */
  #heldFinish: FinishEvent | null = null
  /** Such an answer went on after its end. */
  #hasUncertainEnd = false
  /** Frames of the chunk that is being read, for the client if it fails. */
  #framesOfChunk = ''
  /** Passes on what has no output from the start of the stream; null once all is passed on at once. */
  #held: (() => string)[] | null

  constructor(options: StreamReaderOptions) {
    this.#options = options
    this.#splitter = new EventSplitter(options.maxEventLength)
    this.#repair = new AnswerRepair(options.context ?? { requestId: '', startedAt: 0 })
    this.#held = options.isEmptyFailure === undefined ? null : []
    this.#maxBytes = toMaxOutput(options.bounds.outputCap) * minBytesPerToken
  }

  /** The stream was ended here, before the upstream's end and without its last report. */
  #isInterrupted = false
  /** The stream was ended here, because the upstream ignores the cap. */
  get isCutOff(): boolean {
    return this.#cutOff
  }

  /** The upstream has sent its last event; anything after it is ignored. */
  get isDone(): boolean {
    return this.#done
  }

  /** Every choice seen has finished, and no upstream that names a finish reason with each piece may go on. */
  get allChoicesFinished(): boolean {
    if (this.#hasUncertainEnd || this.#repair.hasUncertainEnds) return false
    return this.#finished.size > 0 && [...this.#finished.values()].every(Boolean)
  }

  /** Number of events with data. */
  get eventCount(): number {
    return this.#eventCount
  }

  /** Output tokens so far, by our own count. */
  get countedTokens(): number {
    return this.#output.tokens
  }

  /** With the id and the model that the upstream names. */
  get lastChunk(): Readonly<Record<string, unknown>> {
    return this.#lastChunk
  }

  /** The upstream's last usage report that had content. */
  get report(): Record<string, unknown> | null {
    return this.#report
  }

  /** Frames for the client; empty if the chunk completed none. @throws UpstreamFailure */
  push(chunk: Buffer): string {
    this.#framesOfChunk = ''
    try {
      for (const event of this.#splitter.push(chunk)) {
        if (this.#done) break
        this.#framesOfChunk += this.#processEvent(event)
        if (this.#output.bytes > this.#maxBytes && !this.#done) this.#framesOfChunk += this.#cutOffIfOverCap()
      }
    } catch (error) {
      throw this.#toFailure(error)
    }
    const frames = this.#framesOfChunk
    this.#framesOfChunk = ''
    return frames
  }

  /** Ends the input and returns the remaining frames. @throws UpstreamFailure if the response is incomplete */
  end(): string {
    if (this.#done) return ''
    const rest = this.#splitter.end()
    const frames = rest === null ? '' : this.#processRest(rest)
    return this.#done ? frames : frames + this.#endStream()
  }

  /** Ends the stream here, as at a limit of tokens; returns the frames that end it, after those of a chunk that then failed. */
  cutOff(): string {
    const frames = this.#framesOfChunk + this.#releaseHeld() + this.#endOpenChoices(() => 'length', { isCut: true })
    this.#isInterrupted = true
    this.#done = true
    return frames
  }

  /** No text, no call and no report. Nothing shows that the upstream has read the prompt. */
  get #isEmpty(): boolean {
    return this.#report === null && this.#output.isEmpty
  }

  /** The upstream's last report if it is plausible, else our own count. A stream that ends with nothing is free. */
  getUsage(): Usage {
    if (this.#isInterrupted) return this.getUsageSoFar()
    if (this.#isEmpty && this.#done) return { inputTokens: 0, outputTokens: 0, estimated: true }
    return this.#reconcileReport()
  }

  #reconcileReport(): Usage {
    return reconcileUsage(parseUsage(this.#report), this.#output, this.#options.bounds)
  }

  /**
   * Usage of an interrupted response: output since the last report counts as well, because the report may have been made before any output.
   * What is counted never exceeds the cap.
   */
  getUsageSoFar(): Usage {
    const report = parseUsage(this.#report)
    if (report === null) return this.#isInterrupted ? this.#reconcileReport() : this.getUsage()
    const since = Math.max(0, this.#output.tokens - this.#countedTokensAtReport)
    const { outputTokens } = report
    const sum = {
      ...report,
      outputTokens: Math.max(outputTokens, Math.min(outputTokens + since, this.#options.bounds.outputCap)),
    }
    const usage = reconcileUsage(sum, this.#output, this.#options.bounds)
    return since > 0 ? { ...usage, estimated: true } : usage
  }

  /** The event at the end of the input. Servers leave its empty line out; if it is no JSON, the connection ended within it. */
  #processRest(rest: ServerEvent): string {
    let frames = ''
    try {
      frames = this.#processEvent(rest)
    } catch (error) {
      const { facts } = error as Partial<UpstreamFailure>
      if (this.#eventCount === 0 || facts?.kind !== 'in_band' || facts.reason !== 'not_json') throw this.#toFailure(error)
    }
    return frames
  }

  /** An answer beyond its bounds is a failure of the upstream; any other error stays as it is. */
  #toFailure(error: unknown): unknown {
    if (error instanceof TooManyCallsError) return inBandFailure('too_many_calls', this.#options.upstreamHost)
    if (error instanceof AnswerTooLargeError) return inBandFailure('too_large', this.#options.upstreamHost)
    return error
  }

  #processEvent({ data, isError }: ServerEvent): string {
    checkEventValues(data)
    const templateMatch = isError ? null : this.#template.match(data)
    if (templateMatch !== null) {
      this.#eventCount++
      this.#output.addBytes(Buffer.byteLength(templateMatch.value))
      return this.#options.sink.consumeTemplated(templateMatch.value, templateMatch.escaped)
    }
    if (data.startsWith('[DONE]') && data.trim() === '[DONE]') return this.#processEnd()
    if (data.trim() === '') return ''
    const { upstreamHost, decoder = null } = this.#options
    if (isError) throw inBandFailure('error_object', upstreamHost, parseErrorEvent(data))
    const sentEvent = parseObject(data, upstreamHost)
    if (decoder === null) return this.#processChunk(sentEvent, data)
    return this.#processDecoded(decoder.decode(sentEvent))
  }

  #processDecoded(decoded: readonly DecodedEvent[]): string {
    const passedEvents: AnswerEvent[] = []
    let hasEnded = false
    for (const event of decoded) {
      if (event.kind === 'error') throw inBandFailure('error_object', this.#options.upstreamHost, event.error)
      hasEnded = event.kind === 'end'
      if (event.kind !== 'end') this.#readDecoded(event, passedEvents)
    }
    const { sink } = this.#options
    const frames = passedEvents.length === 0 ? '' : this.#pass(passedEvents.some(isOutput), () => sink.push(passedEvents))
    return hasEnded ? frames + this.#processEnd() : frames
  }

  /** Measures an event, and adds it to those to pass on. */
  #readDecoded(event: AnswerEvent, passed: AnswerEvent[]): void {
    this.#eventCount++
    if (event.kind === 'usage') return this.#recordUsage(event.usage)
    if (event.kind === 'start') this.#lastChunk = { id: event.id, model: event.model }
    if (event.kind === 'finish') return this.#holdFinish(event)
    if (this.#finished.get(0) !== true) this.#finished.set(0, false)
    else if (isOutput(event)) this.#hasUncertainEnd = true
    this.#output.addEvent(event)
    passed.push(event)
  }

  /** Gemini's API names a finish reason with each piece in some versions: the last one counts, and it is passed on when the stream ends. */
  #holdFinish(finish: FinishEvent): void {
    checkFinish(finish.reason, this.#options.upstreamHost)
    this.#finished.set(0, true)
    this.#heldFinish = finish
  }

  #takeFinish({ isCut }: { readonly isCut: boolean }): readonly FinishEvent[] {
    const heldFinish = this.#heldFinish
    this.#heldFinish = null
    if (heldFinish === null) return []
    return [isCut && this.#hasUncertainEnd ? { kind: 'finish', reason: 'length' } : heldFinish]
  }

  #processEnd(): string {
    const frames = this.#report === null ? '' : this.#releaseHeld() + this.#finishOpenChoices()
    return frames + this.#endStream()
  }

  #endStream(): string {
    const ends = this.#passEnds([], { isCut: false })
    this.#finish()
    return ends + this.#releaseHeld()
  }

  /** A chunk of a chat completion. */
  #processChunk(sent: Record<string, unknown>, text: string): string {
    this.#eventCount++
    const { choices } = sent
    if (Array.isArray(choices)) for (const choice of choices as unknown[]) this.#checkChoice(choice)
    const report = findUsageReport(sent)
    this.#recordUsage(report)
    // A ping, a note or an error under an unknown name: not part of the response, and not for the client.
    if (!Array.isArray(choices)) return ''
    this.#lastChunk = sent
    const frames = this.#passChunks(this.#repair.repairChunk(sent))
    const { sink } = this.#options
    if (report !== null) this.#template.forget()
    else if (this.#held === null) this.#template.learn(sent, text, sink, (probe) => this.#repair.repairChunk(probe)[0] ?? probe)
    return frames
  }

  #passChunks(chunks: readonly Record<string, unknown>[]): string {
    const { sink } = this.#options
    let frames = ''
    for (const chunk of chunks) {
      const isHeld = this.#held !== null && (chunk['choices'] as readonly unknown[]).every(isWithoutOutput)
      frames += isHeld ? this.#pass(false, () => sink.consume(chunk)) : this.#releaseHeld() + sink.consume(chunk)
    }
    return frames
  }

  /** Sends at once, or holds what has no output at the start of the stream. */
  #pass(hasOutput: boolean, send: () => string): string {
    if (!hasOutput && this.#held !== null && this.#held.length < maxHeldChunks && this.#report === null) {
      this.#held.push(send)
      return ''
    }
    return this.#releaseHeld() + send()
  }

  #releaseHeld(): string {
    const heldSends = this.#held
    this.#held = null
    return heldSends === null ? '' : heldSends.map((send) => send()).join('')
  }

  /** Some upstreams stream several choices and finish only the first. If all else is complete, the others have ended with it. */
  #finishOpenChoices(): string {
    const hasEnd = [...this.#finished.values()].includes(true)
    return hasEnd ? this.#endOpenChoices((index) => (this.#output.hasCalls(index) ? 'tool_calls' : 'stop'), { isCut: false }) : ''
  }

  #cutOffIfOverCap(): string {
    if (this.#output.provenTokens <= toMaxOutput(this.#options.bounds.outputCap)) return ''
    const frames = this.#endOpenChoices(() => 'length', { isCut: true })
    this.#cutOff = true
    this.#done = true
    return frames
  }

  #endOpenChoices(getReason: (index: number) => string, { isCut }: { readonly isCut: boolean }): string {
    const open = [...this.#finished].filter(([, finished]) => !finished).map(([index]) => [index, getReason(index)] as const)
    for (const [index] of open) this.#finished.set(index, true)
    return this.#passEnds(open, { isCut })
  }

  /** The ends of the choices that have finished, and of those in the list. */
  #passEnds(open: readonly (readonly [index: number, reason: string])[], { isCut }: { readonly isCut: boolean }): string {
    const { sink, decoder = null } = this.#options
    if (decoder === null) {
      const ends = this.#repair.endChoices({ isCut })
      return this.#passChunks(open.length === 0 ? ends : [...ends, this.#repair.createEnd(open)])
    }
    const finishes = [...this.#takeFinish({ isCut }), ...open.map(([, reason]): FinishEvent => ({ kind: 'finish', reason }))]
    return finishes.length === 0 ? '' : this.#pass(false, () => sink.push(finishes))
  }

  #finish(): void {
    const { upstreamHost } = this.#options
    if (this.#eventCount === 0) throw inBandFailure('empty', upstreamHost)
    if (this.#finished.size === 0) throw inBandFailure('no_finish', upstreamHost)
    for (const finished of this.#finished.values()) if (!finished) throw inBandFailure('no_finish', upstreamHost)
    if (this.#held !== null && this.#report === null && this.#options.isEmptyFailure?.() === true)
      throw inBandFailure('empty', upstreamHost)
    this.#done = true
  }

  #checkChoice(choice: unknown): void {
    if (!isRecord(choice)) return
    const { delta, message } = choice
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0
    const ends = hasFinished(choice, this.#options.upstreamHost)
    if (ends || this.#finished.get(index) !== true) this.#finished.set(index, ends)
    if (this.#finished.size > maxChoices) throw new AnswerTooLargeError('too many choices')
    const output = isRecord(delta) ? delta : isRecord(message) ? message : null
    if (output === null) return
    this.#output.add(output, index)
  }

  #recordUsage(report: Record<string, unknown> | null): void {
    const reportedUsage = parseUsage(report)
    if (reportedUsage === null || !isBetter(reportedUsage, parseUsage(this.#report))) return
    this.#report = report
    this.#countedTokensAtReport = this.#output.tokens
  }
}

/** More chunks without output at the start are passed on. Servers send one or two. */
const maxHeldChunks = 16

/** Whether a choice of a chunk only announces the role or ends the choice. */
function isWithoutOutput(choice: unknown): boolean {
  if (!isRecord(choice)) return false
  const { delta, message } = choice
  return isEmptyMessage(delta ?? message)
}

/** Fewer bytes are no proof of a token (`OutputCounter.provenTokens`). */
const minBytesPerToken = 4

/** The error in an `event: error`, in any form. */
function parseErrorEvent(data: string): unknown {
  try {
    const value: unknown = parseJson(data)
    return isRecord(value) ? (value['error'] ?? value) : value
  } catch {
    return data
  }
}
