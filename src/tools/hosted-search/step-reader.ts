/**
 * Reads one answer of the model within a turn with hosted searches. Calls of the search are taken out, and so are finish reason and usage,
 * which only the last answer of the turn passes on.
 */
import { isObject } from '../../formats/shared/fields.ts'
import { readChatDelta } from '../../formats/shared/chat-delta.ts'
import { ToolCallList } from '../../formats/shared/tool-call-list.ts'
import type { ToolCall } from '../../formats/shared/tool-call-list.ts'
import { hostedSearchFunction } from '../../exchange/hosted-search.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

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

const dataPrefix = 'data: '
const frameEnd = '\n\n'
/** Other chunks pass as they are. */
const relevantPattern = /"tool_calls"|"function_call"|"finish_reason":"|"usage":\{/

export class StepReader {
  readonly #calls: ToolCallList
  readonly #passedCalls = new Set<ToolCall>()
  /** The JSON of all chunks, parsed only if another call of the model follows. */
  readonly #chunks: string[] = []
  #ending: JsonObject = { index: 0, delta: {}, finish_reason: 'stop' }
  #usage: JsonObject | null = null

  constructor(requestId: string) {
    this.#calls = new ToolCallList(requestId)
  }

  /** Takes whole frames of a stream. Returns those that the client may have now. */
  readFrames(frames: string): string {
    let passed = ''
    for (const frame of frames.split(frameEnd)) if (frame !== '') passed += this.#readFrame(frame)
    return passed
  }

  /** The answer of a stream that has ended. */
  finishStream(): ModelAnswer {
    let text = ''
    let reasoning = ''
    let field = 'reasoning_content'
    for (const json of this.#chunks) {
      const delta = readChatDelta(parseJson(json, ownJsonBounds) as JsonObject)
      if (delta === null) continue
      text += delta.text + delta.refusal
      if (delta.reasoning !== '') field = delta.reasoningField
      reasoning += delta.reasoning
    }
    return this.#toAnswer({ text, reasoning: reasoning === '' ? {} : { [field]: reasoning }, completion: null })
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

  #readFrame(frame: string): string {
    if (!frame.startsWith(dataPrefix)) return frame + frameEnd
    const json = frame.slice(dataPrefix.length)
    if (json === '[DONE]') return ''
    this.#chunks.push(json)
    return relevantPattern.test(json) ? this.#readChunk(parseJson(json, ownJsonBounds) as JsonObject) : frame + frameEnd
  }

  #readChunk({ usage, ...chunk }: JsonObject): string {
    if (isObject(usage)) this.#usage = usage
    const delta = readChatDelta(chunk)
    const { choices } = chunk
    const [choice] = Array.isArray(choices) ? choices.filter(isObject) : []
    if (delta === null || choice === undefined) return ''
    const { tool_calls: _, function_call: __, ...rest } = isObject(choice['delta']) ? choice['delta'] : {}
    if (delta.finishReason !== null) this.#ending = { ...choice, delta: {} }
    const pieces = delta.calls.flatMap((piece) => this.#readPiece(this.#calls.add(piece), piece.arguments))
    const passed = { ...rest, ...(pieces.length === 0 ? {} : { tool_calls: pieces }) }
    return toFrame({ ...chunk, choices: [{ ...choice, finish_reason: null, delta: passed }] })
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

export function toFrame(chunk: JsonObject): string {
  return `${dataPrefix}${JSON.stringify(chunk)}${frameEnd}`
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
