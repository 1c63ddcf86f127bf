/**
 * Builds the messages of a chat request. A Responses request has one item for each text, call and result; in a chat request a turn of the
 * assistant is one message with its calls, and the results follow it directly, one for each call. Most servers reject anything else.
 */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { toReasoningFields } from '../../codecs/shared/sealed-reasoning.ts'
import type { Reasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { emptyResult } from '../../codecs/shared/placeholders.ts'
import { isTextPart, joinParts, joinTexts } from './content-parts.ts'

type Role = 'user' | 'system' | 'developer'

interface Call {
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
  /** The ids of its calls. */
  readonly ids: Set<string>
  hasResults: boolean
}

/** The calls of one turn that were sent with the same id. */
interface OpenCalls {
  readonly turn: AssistantTurn
  readonly calls: Call[]
  /** How many of them have a result. */
  answered: number
}

interface OtherMessage {
  readonly kind: 'message'
  readonly role: Role
  readonly parts: readonly JsonObject[]
}

const missingResult = 'This call has no result.'
export class Conversation {
  readonly #entries: (AssistantTurn | OtherMessage)[] = []
  /** The calls without a result by the ids that were sent, the newest turn last. */
  readonly #openCalls = new Map<string, OpenCalls[]>()
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
    const turn = this.#openTurn()
    const { calls, ids } = turn
    const call: Call = { id: ids.has(sentId) ? `${sentId}_${calls.length}` : sentId, name, arguments: args }
    calls.push(call)
    ids.add(call.id)
    const turns = this.#openCalls.get(sentId) ?? []
    const last = turns.at(-1)
    if (last?.turn === turn) last.calls.push(call)
    else turns.push({ turn, calls: [call], answered: 0 })
    this.#openCalls.set(sentId, turns)
  }

  /** A result of no call in the history is a message of the user, because the history may have been shortened. */
  addResult(callId: string, parts: readonly JsonObject[]): void {
    const call = this.#takeOpenCall(callId)
    if (call === undefined) this.addMessage('user', [{ type: 'text', text: `Result of the tool call ${callId}:` }, ...parts])
    else call.result = parts
  }

  /** Some models use the same ids in every turn: the first call without a result in the newest turn is meant. */
  #takeOpenCall(callId: string): Call | undefined {
    const turns = this.#openCalls.get(callId)
    const last = turns?.at(-1)
    if (turns === undefined || last === undefined) return undefined
    const call = last.calls[last.answered++]
    last.turn.hasResults = true
    if (last.answered === last.calls.length) turns.pop()
    return call
  }

  /** The assistant's turn that this item continues; a new one after a message, or after results. */
  #openTurn(): AssistantTurn {
    const last = this.#entries.at(-1)
    const isOpen = last?.kind === 'assistant' && !last.hasResults
    const turn: AssistantTurn = isOpen
      ? last
      : { kind: 'assistant', reasoning: [], texts: [], calls: [], ids: new Set(), hasResults: false }
    if (!isOpen) this.#entries.push(turn)
    for (const reasoning of this.#reasoning) turn.reasoning.push(reasoning)
    this.#reasoning = []
    return turn
  }

  toMessages(instructions: string): readonly JsonObject[] {
    const firstOther = this.#entries.findIndex((entry) => entry.kind === 'assistant' || entry.role === 'user')
    const leadingEntries = firstOther === -1 ? this.#entries : this.#entries.slice(0, firstOther)
    // Many models' templates accept one system message, the first.
    const texts = leadingEntries.flatMap((entry) => (entry.kind === 'message' ? [joinTexts(entry.parts, '\n')] : []))
    const system = [instructions, ...texts].filter((text) => text !== '').join('\n\n')
    return [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...this.#entries
        .slice(leadingEntries.length)
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
  return [message, ...calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: toResultContent(call) }))]
}

/** A text where all parts are texts. */
function toResultContent({ result }: Call): string | readonly JsonObject[] {
  if (result === undefined) return missingResult
  return result.every(isTextPart) ? joinTexts(result, '\n') || emptyResult : result
}
