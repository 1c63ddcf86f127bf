/**
 * Reads one answer of the model within a turn with hosted searches. Calls of the search are taken out, and so are finish reason and usage,
 * which only the last answer of the turn passes on.
 */
import { isObject } from '../../formats/shared/fields.ts'
import { readChatDelta } from '../../formats/shared/chat-delta.ts'
import { ToolCallList } from '../../formats/shared/tool-call-list.ts'
import type { ToolCall } from '../../formats/shared/tool-call-list.ts'
import { hostedSearchFunction } from '../../exchange/hosted-search.ts'
import type { AnswerEvent, ReasoningField } from '../../conversation/answer-event.ts'
import type { GatewayError } from '../../errors.ts'
import type { AnswerEncoder, FailedExchange, JsonObject } from '../../exchange/api-format/api-format.ts'

type ReasoningEvent = Extract<AnswerEvent, { kind: 'reasoning' }>

export interface ModelAnswer {
  readonly text: string
  readonly reasoning: ReasoningEvent | null
  readonly searches: readonly ToolCall[]
  /** Tools that the client runs were called. */
  readonly hasOtherCalls: boolean
  /** The events that end the answer. */
  readonly ending: readonly AnswerEvent[]
  readonly usage: JsonObject | null
  /** The whole completion; null for a stream. */
  readonly completion: JsonObject | null
}

/** Writes what passes of one answer with the encoder of the turn. */
export class StepReader implements AnswerEncoder {
  readonly #outer: AnswerEncoder
  readonly #calls: ToolCallList
  readonly #passedCalls = new Set<ToolCall>()
  #text = ''
  #reasoning = ''
  #reasoningField: ReasoningField = 'reasoning_content'
  readonly #ending: AnswerEvent[] = []
  #usage: JsonObject | null = null

  constructor(requestId: string, outer: AnswerEncoder) {
    this.#outer = outer
    this.#calls = new ToolCallList(requestId)
  }

  start(): string {
    return this.#outer.start()
  }

  push(answered: readonly AnswerEvent[]): string {
    const passed = answered.flatMap((event) => this.#readEvent(event) ?? [])
    return passed.length === 0 ? '' : this.#outer.push(passed)
  }

  heartbeat(): string {
    return this.#outer.heartbeat()
  }

  /** The turn may go on. */
  end(): string {
    return ''
  }

  fail(x: FailedExchange, failure: GatewayError): string {
    return this.#outer.fail(x, failure)
  }

  whole(completion: JsonObject): string {
    return this.#outer.whole(completion)
  }

  /** The answer of a stream that has ended. */
  finishStream(): ModelAnswer {
    return this.#toAnswer({
      text: this.#text,
      reasoning: toReasoningEvent(this.#reasoning, this.#reasoningField),
      completion: null,
    })
  }

  /** The answer of a whole completion. */
  readCompletion(completion: JsonObject): ModelAnswer {
    const delta = readChatDelta(completion)
    for (const call of delta?.calls ?? []) this.#calls.add(call)
    if (isObject(completion['usage'])) this.#usage = completion['usage']
    const { text = '', refusal = '', reasoning = '', reasoningField = 'reasoning' } = delta ?? {}
    return this.#toAnswer({
      text: text + refusal,
      reasoning: toReasoningEvent(reasoning, reasoningField),
      completion: this.#searches.length === 0 ? completion : withoutSearches(completion),
    })
  }

  get #searches(): readonly ToolCall[] {
    return this.#calls.all.filter(({ name }) => name === hostedSearchFunction)
  }

  #toAnswer(parts: Pick<ModelAnswer, 'text' | 'reasoning' | 'completion'>): ModelAnswer {
    const searches = this.#searches
    const hasOtherCalls = searches.length < this.#calls.all.length
    return { ...parts, searches, hasOtherCalls, ending: this.#ending, usage: this.#usage }
  }

  /** The event for the client; null for one of a search, and for what only the last answer of the turn passes on. */
  #readEvent(event: AnswerEvent): AnswerEvent | null {
    switch (event.kind) {
      case 'text':
        this.#text += event.text
        return event
      case 'reasoning':
        this.#reasoningField = event.field
        this.#reasoning += event.text
        return event
      case 'call':
        return this.#readCall(event)
      case 'stop-sequence':
      case 'finish':
        this.#ending.push(event)
        return null
      case 'usage':
        this.#usage = event.usage
        return null
      default:
        return event
    }
  }

  /** The piece for the client: none of a search, and none before the call has a name. */
  #readCall(piece: Extract<AnswerEvent, { kind: 'call' }>): AnswerEvent | null {
    const call = this.#calls.add(piece)
    const { position: index, id, name } = call
    if (name === '' || name === hostedSearchFunction) return null
    if (this.#passedCalls.has(call)) return { ...piece, index }
    this.#passedCalls.add(call)
    return { kind: 'call', index, id, name, arguments: call.arguments }
  }
}

function toReasoningEvent(text: string, field: ReasoningField): ReasoningEvent | null {
  return text === '' ? null : { kind: 'reasoning', text, field }
}

function withoutSearches(completion: JsonObject): JsonObject {
  const { choices } = completion
  if (!Array.isArray(choices)) return completion
  return { ...completion, choices: choices.filter(isObject).map(withoutSearchCalls) }
}

function withoutSearchCalls(choice: JsonObject): JsonObject {
  const { message } = choice
  if (!isObject(message) || !Array.isArray(message['tool_calls'])) return choice
  const { tool_calls: calls, ...rest } = message
  const others = (calls as unknown[]).filter(
    (call) => !isObject(call) || !isObject(call['function']) || call['function']['name'] !== hostedSearchFunction,
  )
  return { ...choice, message: { ...rest, ...(others.length === 0 ? {} : { tool_calls: others }) } }
}

/** The sum of two usage objects, with their details. */
export function addUsage(a: JsonObject | null, b: JsonObject | null): JsonObject | null {
  if (a === null || b === null) return a ?? b
  const sum: Record<string, unknown> = { ...a, ...b }
  for (const [name, value] of Object.entries(b)) {
    const other = a[name]
    if (typeof value === 'number' && typeof other === 'number') sum[name] = value + other
    else if (isObject(value) && isObject(other)) sum[name] = addUsage(other, value)
  }
  return sum
}
