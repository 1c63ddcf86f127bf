/**
 * Reads one answer of the model within a turn with hosted searches. Calls of the search are taken out, and so are finish reason and usage,
 * which only the last answer of the turn passes on.
 */
import { isObject } from '../../formats/shared/fields.ts'
import { readChatDelta } from '../../formats/shared/chat-delta.ts'
import { ToolCallList } from '../../formats/shared/tool-call-list.ts'
import type { ToolCall } from '../../formats/shared/tool-call-list.ts'
import { hostedSearchFunction } from '../../exchange/hosted-search.ts'
import type { GatewayError } from '../../errors.ts'
import type { AnswerEncoder, FailedExchange, JsonObject } from '../../exchange/api-format/api-format.ts'

export interface ModelAnswer {
  readonly text: string
  /** The field with the reasoning; empty without any. */
  readonly reasoning: JsonObject
  readonly searches: readonly ToolCall[]
  /** Tools that the client runs were called. */
  readonly hasOtherCalls: boolean
  /** The choice that ends the answer. */
  readonly ending: JsonObject
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
  #reasoningField = 'reasoning_content'
  #ending: JsonObject = { index: 0, delta: {}, finish_reason: 'stop' }
  #usage: JsonObject | null = null

  constructor(requestId: string, outer: AnswerEncoder) {
    this.#outer = outer
    this.#calls = new ToolCallList(requestId)
  }

  start(): string {
    return this.#outer.start()
  }

  push(chunk: JsonObject): string {
    const passed = this.#readChunk(chunk)
    return passed === null ? '' : this.#outer.push(passed)
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
    const reasoning: JsonObject = this.#reasoning === '' ? {} : { [this.#reasoningField]: this.#reasoning }
    return this.#toAnswer({ text: this.#text, reasoning, completion: null })
  }

  /** The answer of a whole completion. */
  readCompletion(completion: JsonObject): ModelAnswer {
    const delta = readChatDelta(completion)
    for (const call of delta?.calls ?? []) this.#calls.add(call)
    if (isObject(completion['usage'])) this.#usage = completion['usage']
    const { text = '', refusal = '', reasoning = '', reasoningField = 'reasoning' } = delta ?? {}
    return this.#toAnswer({
      text: text + refusal,
      reasoning: reasoning === '' ? {} : { [reasoningField]: reasoning },
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

  /** The chunk without what only the last answer of the turn passes on; null if nothing is left. */
  #readChunk({ usage, ...chunk }: JsonObject): JsonObject | null {
    if (isObject(usage)) this.#usage = usage
    const delta = readChatDelta(chunk)
    const { choices } = chunk
    const [choice] = Array.isArray(choices) ? choices.filter(isObject) : []
    if (delta === null || choice === undefined) return null
    this.#text += delta.text + delta.refusal
    if (delta.reasoning !== '') this.#reasoningField = delta.reasoningField
    this.#reasoning += delta.reasoning
    if (delta.finishReason !== null) this.#ending = { ...choice, delta: {} }
    else if (delta.calls.length === 0) return chunk
    const { tool_calls: _, function_call: __, ...rest } = isObject(choice['delta']) ? choice['delta'] : {}
    const pieces = delta.calls.flatMap((piece) => this.#readPiece(this.#calls.add(piece), piece.arguments))
    const passed = { ...rest, ...(pieces.length === 0 ? {} : { tool_calls: pieces }) }
    return { ...chunk, choices: [{ ...choice, finish_reason: null, delta: passed }] }
  }

  /** The piece for the client: none of a search, and none before the call has a name. */
  #readPiece(call: ToolCall, piece: string): readonly JsonObject[] {
    const { position: index, id, name } = call
    if (name === '' || name === hostedSearchFunction) return []
    if (this.#passedCalls.has(call)) return [{ index, function: { arguments: piece } }]
    this.#passedCalls.add(call)
    return [{ index, id, type: 'function', function: { name, arguments: call.arguments } }]
  }
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
