/**
 * Aggregates a stream's chunks to the complete response, for members who requested no stream: so usage is measured while it is produced,
 * and the call can be aborted.
 *
 * Id and date come from the first chunk that has them; for other fields outside the deltas the last value wins. Deltas are merged as
 * OpenAI's own clients do: strings are concatenated, lists appended (items with an `index` by that index), objects merged by field, other
 * values replaced. A null never replaces a value.
 */
import { AnswerCollector } from '../../conversation/collect-answer.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { LearnedTemplate, TextField } from './chunk-template.ts'
import { copyValue, DeltaMerger } from './delta-merger.ts'
import type { AnswerSink } from '../answer-sink.ts'

type Fields = Record<string, unknown>

interface Choice {
  readonly index: number
  /** Fields outside the message. */
  readonly fields: Fields
  message: Fields
  logprobs: unknown
}

export class StreamAggregator implements AnswerSink {
  #fields: Fields = {}
  readonly #choices = new Map<number, Choice>()
  readonly #collector = new AnswerCollector()
  readonly #merger = new DeltaMerger()
  /** Target of the next chunk's text if it matches the template. */
  #textTarget: { readonly message: Fields; readonly field: TextField } | null = null

  /** Takes a chunk with a list of choices. */
  consume(chunk: Fields): '' {
    const { choices, ...around } = chunk
    for (const [name, value] of Object.entries(around)) {
      if (value === null || chunkOnlyFields.has(name)) continue
      const isFirst = firstValueFields.has(name)
      // Azure sends the filter's verdict on the prompt first, with empty id, date and model.
      if (!isFirst || !this.#fields[name]) this.#fields[name] = value
    }
    for (const choice of choices as unknown[]) if (isRecord(choice)) this.#add(choice)
    return ''
  }

  push(events: readonly AnswerEvent[]): '' {
    this.#collector.push(events)
    return ''
  }

  /** What `push` received. */
  get events(): readonly AnswerEvent[] {
    return this.#collector.events
  }

  acceptTemplate({ index, field }: LearnedTemplate): boolean {
    const message = this.#choices.get(index)?.message
    if (typeof message?.[field] !== 'string') return false
    this.#textTarget = { message, field }
    return true
  }

  consumeTemplated(text: string): '' {
    if (this.#textTarget === null) return ''
    const { message, field } = this.#textTarget
    message[field] = `${String(message[field])}${text}`
    return ''
  }

  /** The `chat.completion` with its choices in order, without usage. */
  toDocument(): Fields {
    const choices = [...this.#choices.values()]
      .toSorted((a, b) => a.index - b.index)
      .map(({ index, fields, message, logprobs }) => ({
        index,
        message: toMessage(message),
        logprobs: logprobs ?? null,
        ...fields,
      }))
    return { ...this.#fields, object: 'chat.completion', choices }
  }

  #add(chunk: Fields): void {
    const { index: at, delta, message, logprobs, ...around } = chunk
    const index = typeof at === 'number' ? at : 0
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { index, fields: {}, message: {}, logprobs: null }
      this.#choices.set(index, choice)
    }
    if (isRecord(delta)) this.#applyDelta(choice.message, delta)
    // Some upstreams repeat the message so far beside the delta; without a delta the message is all there is.
    else if (isRecord(message)) choice.message = copyValue(message) as Fields
    choice.logprobs = this.#merger.merge(choice.logprobs, logprobs)
    for (const [name, value] of Object.entries(around)) {
      if (value !== null && value !== '' && !chunkOnlyFields.has(name)) choice.fields[name] = value
    }
  }

  #applyDelta(message: Fields, delta: Fields): void {
    for (const [name, value] of Object.entries(delta))
      if (value !== null && name !== '__proto__') this.#merger.mergeField(message, name, value)
  }
}

const firstValueFields = new Set(['id', 'created', 'model'])
/** Padding against eavesdroppers; usage, which is measured separately; and the event's type. */
const chunkOnlyFields = new Set(['obfuscation', 'usage', 'object', '__proto__'])

function toMessage(message: Fields): Fields {
  const { role, content, refusal, tool_calls: calls, ...rest } = message
  return {
    role: role ?? 'assistant',
    content: content ?? toMissingContent(message),
    refusal: refusal ?? null,
    ...rest,
    // Tool calls are numbered in a stream only.
    ...(Array.isArray(calls) ? { tool_calls: calls.map(omitIndex) } : {}),
  }
}

/** A message without any output has an empty text: clients call string methods on it. */
export function toMissingContent({ refusal, tool_calls: calls, function_call: legacyCall, audio }: Fields): null | '' {
  return Boolean(refusal) || Array.isArray(calls) || isRecord(legacyCall) || isRecord(audio) ? null : ''
}

function omitIndex(call: unknown): unknown {
  if (!isRecord(call)) return call
  const { index: _, ...rest } = call
  return rest
}
