/**
 * Builds the messages of a chat request. A Responses request has one item for each text, call and result; in a chat request a turn of the
 * assistant is one message with its calls, and the results follow it directly, one for each call. Most servers reject anything else.
 */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { toReasoningFields } from '../shared/reasoning.ts'
import type { Reasoning } from '../shared/reasoning.ts'
import { isTextPart, joinParts, joinTexts } from './content-parts.ts'

type Role = 'user' | 'system' | 'developer'

interface Call {
  readonly sentId: string
  /** Unique in its turn. */
  readonly id: string
  readonly name: string
  readonly arguments: string
  result?: readonly JsonObject[]
}

interface AssistantTurn {
  readonly kind: 'assistant'
  readonly reasoning: Reasoning[]
  readonly texts: string[]
  readonly calls: Call[]
}

interface OtherMessage {
  readonly kind: 'message'
  readonly role: Role
  readonly parts: readonly JsonObject[]
}

const missingResult = 'This call has no result.'
const emptyResult = '(no output)'

export class Conversation {
  readonly #entries: (AssistantTurn | OtherMessage)[] = []
  /** Reasoning that belongs to the next item of the assistant. */
  #reasoning: Reasoning[] = []

  addMessage(role: Role, parts: readonly JsonObject[]): void {
    this.#reasoning = []
    this.#entries.push({ kind: 'message', role, parts })
  }

  addReasoning(reasoning: Reasoning): void {
    this.#reasoning.push(reasoning)
  }

  addAssistantText(text: string): void {
    if (text !== '') this.#openTurn().texts.push(text)
  }

  addCall(sentId: string, name: string, args: string): void {
    const { calls } = this.#openTurn()
    const isRepeated = calls.some(({ id }) => id === sentId)
    calls.push({ sentId, id: isRepeated ? `${sentId}_${calls.length}` : sentId, name, arguments: args })
  }

  /** A result of no call in the history is a message of the user, because the history may have been shortened. */
  addResult(callId: string, parts: readonly JsonObject[]): void {
    const call = this.#findOpenCall(callId)
    if (call === undefined) this.addMessage('user', [{ type: 'text', text: `Result of the tool call ${callId}:` }, ...parts])
    else call.result = parts
  }

  /** Some models use the same ids in every turn: the newest call without a result is meant. */
  #findOpenCall(callId: string): Call | undefined {
    for (const entry of this.#entries.toReversed()) {
      if (entry.kind !== 'assistant') continue
      const call = entry.calls.find(({ sentId, result }) => sentId === callId && result === undefined)
      if (call !== undefined) return call
    }
    return undefined
  }

  /** The assistant's turn that this item continues; a new one after a message, or after results. */
  #openTurn(): AssistantTurn {
    const last = this.#entries.at(-1)
    const isOpen = last?.kind === 'assistant' && last.calls.every(({ result }) => result === undefined)
    const turn: AssistantTurn = isOpen ? last : { kind: 'assistant', reasoning: [], texts: [], calls: [] }
    if (!isOpen) this.#entries.push(turn)
    turn.reasoning.push(...this.#reasoning)
    this.#reasoning = []
    return turn
  }

  toMessages(instructions: string): readonly JsonObject[] {
    const firstOther = this.#entries.findIndex((entry) => entry.kind === 'assistant' || entry.role === 'user')
    const leading = firstOther === -1 ? this.#entries : this.#entries.slice(0, firstOther)
    // Many models' templates accept one system message, the first.
    const texts = leading.flatMap((entry) => (entry.kind === 'message' ? [joinTexts(entry.parts, '\n')] : []))
    const system = [instructions, ...texts].filter((text) => text !== '').join('\n\n')
    return [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...this.#entries
        .slice(leading.length)
        .flatMap((entry) =>
          entry.kind === 'assistant' ? toTurnMessages(entry) : [{ role: entry.role, content: joinParts(entry.parts, '\n') }],
        ),
    ]
  }
}

function toTurnMessages({ texts, calls, reasoning }: AssistantTurn): readonly JsonObject[] {
  const content = texts.join('\n\n')
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({ id, type: 'function', function: { name, arguments: args } }))
  const message = {
    role: 'assistant',
    content: content === '' && toolCalls.length > 0 ? null : content,
    ...toReasoningFields(reasoning),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  }
  // A tool's message holds text only. Its images and files follow as a message of the user.
  const media = calls.flatMap(({ id, result = [] }) => {
    const parts = result.filter((part) => !isTextPart(part))
    return parts.length === 0 ? [] : [{ type: 'text', text: `Attached to the result of the tool call ${id}:` }, ...parts]
  })
  return [
    message,
    ...calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: toResultText(call) })),
    ...(media.length === 0 ? [] : [{ role: 'user', content: media }]),
  ]
}

function toResultText({ result }: Call): string {
  if (result === undefined) return missingResult
  const text = joinTexts(result, '\n')
  if (text !== '') return text
  return result.some((part) => !isTextPart(part)) ? 'The result is attached below.' : emptyResult
}
