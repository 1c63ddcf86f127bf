/**
 * Translates the messages of a chat completion to the items of `input`. An assistant's message becomes one item for each part of it, and
 * each call must have a result.
 */
import { createHash } from 'node:crypto'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toolErrorField } from '../../../exchange/request/gemini-fields.ts'
import { reasoningItemsField } from '../../../exchange/request/responses-fields.ts'
import { emptyResult } from '../../shared/placeholders.ts'
import { toText } from '../../shared/read-json.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'
import { toResultText } from '../../chat/request/tool-results.ts'
import { readText, toInputContent } from './content-parts.ts'
import { tryParseJson } from '../../../system/parse-json.ts'

interface InputItems {
  /** The system prompt before the first other message. */
  readonly instructions: string
  readonly items: readonly JsonFields[]
}

/**
 * @param customTools names of the functions that are sent as tools with free text
 * @throws GatewayError `invalid_request` for a part that the API has no place for
 */
export function toInputItems(messages: readonly unknown[], customTools: ReadonlySet<string>): InputItems {
  const builder = new InputBuilder(customTools)
  messages.forEach((message, i) => {
    if (isRecord(message)) builder.add(message, `messages[${i}]`)
  })
  return builder.finish()
}

type CallType = 'function_call' | 'custom_tool_call'

class InputBuilder {
  readonly #customTools: ReadonlySet<string>
  readonly #instructions: string[] = []
  readonly #items: JsonFields[] = []
  /** The calls that have no result yet, by their ids. */
  readonly #openCalls = new Map<string, CallType>()

  constructor(customTools: ReadonlySet<string>) {
    this.#customTools = customTools
  }

  add(message: JsonFields, path: string): void {
    const { role } = message
    if (role === 'assistant') this.#addAssistant(message)
    else if (role === 'tool') this.#addResult(message, path)
    else if (role === 'system' || role === 'developer') this.#addSystem(role, message, path)
    else this.#addMessage('user', toInputContent(message['content'], path))
  }

  finish(): InputItems {
    this.#closeCalls()
    const instructions = this.#instructions.join('\n\n')
    // An input is required.
    return this.#items.length === 0
      ? { instructions: '', items: [{ type: 'message', role: 'system', content: instructions }] }
      : { instructions, items: this.#items }
  }

  #addSystem(role: string, { content }: JsonFields, path: string): void {
    const text = this.#items.length === 0 ? readText(content) : null
    if (text === null) this.#addMessage(role, toInputContent(content, path))
    else if (text !== '') this.#instructions.push(text)
  }

  #addMessage(role: string, content: string | readonly JsonFields[]): void {
    this.#closeCalls()
    if (content.length > 0) this.#items.push({ type: 'message', role, content })
  }

  #addAssistant(message: JsonFields): void {
    this.#closeCalls()
    const { content, refusal, tool_calls: calls, [reasoningItemsField]: reasoning } = message
    if (Array.isArray(reasoning)) this.#items.push(...(reasoning as unknown[]).flatMap(toReasoningItem))
    const text = readText(content) || (typeof refusal === 'string' ? refusal : '')
    if (text !== '')
      this.#items.push({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] })
    for (const call of Array.isArray(calls) ? (calls as unknown[]) : []) if (isRecord(call)) this.#addCall(call)
  }

  #addCall(call: JsonFields): void {
    const id = toCallId(call['id'])
    const item = toCallItem(call, this.#customTools)
    if (item === null) return
    this.#items.push({ ...item, call_id: id })
    this.#openCalls.set(id, item.type)
  }

  /** A result of no open call is a text of the user, because the history may have been shortened. */
  #addResult({ tool_call_id: sentId, content, [toolErrorField]: isError }: JsonFields, path: string): void {
    const id = toCallId(sentId)
    const output = toOutput(readText(content, '\n') ?? toInputContent(content, path), isError === true)
    const type = this.#openCalls.get(id)
    if (type === undefined) {
      const parts = typeof output === 'string' ? [{ type: 'input_text', text: output }] : output
      return this.#addMessage('user', [{ type: 'input_text', text: `Result of the tool call ${id}:` }, ...parts])
    }
    this.#openCalls.delete(id)
    this.#items.push({ type: `${type}_output`, call_id: id, output: output.length === 0 ? emptyResult : output })
  }

  #closeCalls(): void {
    for (const [id, type] of this.#openCalls) this.#items.push({ type: `${type}_output`, call_id: id, output: emptyResult })
    this.#openCalls.clear()
  }
}

/** The API has no flag for a call that failed: its text says so. */
function toOutput(output: string | readonly JsonFields[], isError: boolean): string | readonly JsonFields[] {
  if (typeof output === 'string') return isError || output === '' ? toResultText(output, isError) : output
  if (!isError) return output
  const [first, ...rest] = output
  const text = first?.['text']
  return typeof text === 'string'
    ? [{ ...first, text: toResultText(text, true) }, ...rest]
    : [{ type: 'input_text', text: 'Error:' }, ...output]
}

/** Without its id, which would refer to an item that the upstream has not stored. */
function toReasoningItem(item: unknown): readonly JsonFields[] {
  if (!isRecord(item)) return []
  const { type, summary, encrypted_content: content } = item
  if (type !== 'reasoning' || typeof content !== 'string' || !Array.isArray(summary)) return []
  return [{ type, summary, encrypted_content: content }]
}

function toCallItem(
  { function: called, custom }: JsonFields,
  customTools: ReadonlySet<string>,
): (JsonFields & { readonly type: CallType }) | null {
  if (isRecord(custom)) return { type: 'custom_tool_call', name: custom['name'], input: toText(custom['input']) }
  if (!isRecord(called)) return null
  const { name, arguments: args } = called
  const text = typeof args === 'string' && args.trim() !== '' ? args : '{}'
  const input = typeof name === 'string' && customTools.has(name) ? readInput(text) : null
  return input === null ? { type: 'function_call', name, arguments: text } : { type: 'custom_tool_call', name, input }
}

/** The free text in the arguments of a function that stands for a custom tool. */
function readInput(args: string): string | null {
  const value = tryParseJson(args)
  return isRecord(value) && typeof value['input'] === 'string' ? value['input'] : null
}

/** Longer ids are rejected. */
const maxCallIdLength = 64

function toCallId(id: unknown): string {
  if (typeof id !== 'string' || id === '') return 'call'
  return id.length <= maxCallIdLength ? id : `call_${createHash('sha256').update(id).digest('base64url')}`
}
