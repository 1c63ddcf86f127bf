/** A whole answer, as a document of the upstream or aggregated from its stream: a chat completion, or the events of another API. */
import { ChatEncoder } from '../../codecs/chat/chat-encoder.ts'
import type { ChatAnswerContext } from '../../codecs/chat/chat-encoder.ts'
import { isOutput } from '../../conversation/answer-event.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { isEmptyMessage, pickAround } from '../../codecs/chat/choice-ends.ts'
import { readAnswerEvents } from '../../codecs/chat/read-events.ts'
import { clampCompletionCitations } from '../../codecs/chat/clamp-citations.ts'
import { StreamAggregator } from '../../codecs/chat/stream-aggregator.ts'
import type { AnswerSink } from '../../codecs/answer-sink.ts'
import { findUsageReport } from './usage.ts'
import type { OutputCounter } from './usage.ts'
import { checkFinish, inBandFailure, validateChoices } from './validate-completion.ts'

export interface WholeAnswer {
  readonly report: Record<string, unknown> | null
  /** Counts the output. Returns whether the answer has any. @throws UpstreamFailure when the answer is no success */
  measure(output: OutputCounter, upstreamHost: string): boolean
  /** Without usage. */
  toEvents(): readonly AnswerEvent[]
  toCompletion(): Record<string, unknown>
  /** As a stream; returns the frames. */
  writeTo(sink: AnswerSink): string
}

export class CompletionAnswer implements WholeAnswer {
  readonly #document: Record<string, unknown>

  constructor(document: Record<string, unknown>) {
    this.#document = document
  }

  get report(): Record<string, unknown> | null {
    return findUsageReport(this.#document)
  }

  measure(output: OutputCounter, upstreamHost: string): boolean {
    const choices = validateChoices(this.#document, upstreamHost)
    for (const [index, { message }] of choices.entries()) if (isRecord(message)) output.add(message, index)
    return choices.some(({ message }) => !isEmptyMessage(message))
  }

  toEvents(): readonly AnswerEvent[] {
    const { usage: _, ...document } = clampCompletionCitations(this.#document)
    return readAnswerEvents(document)
  }

  toCompletion(): Record<string, unknown> {
    return this.#document
  }

  /** One chunk per choice, and its end. */
  writeTo(sink: AnswerSink): string {
    const { choices, usage: _, ...around } = this.#document
    const head = { ...around, object: 'chat.completion.chunk' }
    const pieces = (choices as Record<string, unknown>[]).flatMap(({ message, finish_reason: finish, ...choice }) => [
      { ...choice, delta: toDelta(message), finish_reason: null },
      { index: choice['index'], delta: {}, logprobs: null, finish_reason: finish },
    ])
    return pieces.map((piece, at) => sink.consume({ ...pickAround(head, at), choices: [piece] })).join('')
  }
}

export class DecodedAnswer implements WholeAnswer {
  readonly #events: readonly AnswerEvent[]
  readonly #context: ChatAnswerContext
  readonly report: Record<string, unknown> | null

  constructor(events: readonly AnswerEvent[], context: ChatAnswerContext) {
    this.#events = events.filter(({ kind }) => kind !== 'usage')
    this.#context = context
    this.report = events.findLast((event) => event.kind === 'usage')?.usage ?? null
  }

  measure(output: OutputCounter, upstreamHost: string): boolean {
    const finish = this.#events.findLast((event) => event.kind === 'finish')
    if (finish === undefined) throw inBandFailure('no_finish', upstreamHost)
    checkFinish(finish.reason, upstreamHost)
    output.addWhole(this.#events)
    return this.#events.some(isOutput)
  }

  toEvents(): readonly AnswerEvent[] {
    return this.#events
  }

  toCompletion(): Record<string, unknown> {
    const encoder = new ChatEncoder(this.#context)
    const aggregator = new StreamAggregator()
    for (const event of this.#events) {
      const chunk = encoder.toChunk(event)
      if (chunk !== null) aggregator.consume(chunk)
    }
    const completion = aggregator.toDocument()
    return this.report === null ? completion : { ...completion, usage: this.report }
  }

  writeTo(sink: AnswerSink): string {
    return sink.push(this.#events)
  }
}

/** A message as a single delta. In a stream, tool calls are numbered. */
function toDelta(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message['tool_calls'])) return message
  const calls = message['tool_calls'].map((call: unknown, index) => (isRecord(call) ? { index, ...call } : call))
  return { ...message, tool_calls: calls }
}
