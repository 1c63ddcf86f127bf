/**
 * Repairs what other vendors send as a chat completion, before anything reads it: every rule stands here once, for streams and whole answers,
 * and `src/codecs/vendors/README.md` has the vendors that need it. What OpenAI's form has already is returned as it is.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { CallIds } from '../shared/call-ids.ts'
import { hasParts, joinContentParts } from './content-parts.ts'
import { decideFinish, parseFinishReason } from './finish-reason.ts'
import { repairWholeCalls, ToolCallRepair } from './tool-call-repair.ts'

type Fields = Record<string, unknown>

export class AnswerRepair {
  readonly #requestId: string
  /** Created at the first call, which most answers have none of. */
  #ids: CallIds | undefined
  /** By the index of the choice. */
  #calls: Map<number, ToolCallRepair> | undefined
  /** The choices whose first piece has passed. */
  readonly #begun = new Set<number>()

  /** @param requestId ids of calls that the upstream gave none are derived from it */
  constructor(requestId: string) {
    this.#requestId = requestId
  }

  /** A chunk of a stream, which has a list of choices. @throws AnswerTooLargeError */
  repairChunk(chunk: Fields): Fields {
    // Azure leaves it empty in the verdict on the prompt.
    const named = chunk['object'] === chunkObject ? chunk : { ...chunk, object: chunkObject }
    return this.#repairChoices(named, (choice) => {
      if (isRecord(choice['delta'])) return this.#repairDelta(this.#repairRole(choice))
      const { message, ...rest } = choice
      // In place of pieces it is one; after the pieces, MiniMax sends the whole message once more.
      if (isRecord(message) && !this.#begun.has(toIndex(choice)))
        return this.#repairDelta(this.#repairRole({ ...rest, delta: message }))
      return this.#repairDelta({ ...rest, delta: {} })
    })
  }

  /** A whole completion. @throws AnswerTooLargeError */
  repairCompletion(completion: Fields): Fields {
    return this.#repairChoices(completion, (choice) => this.#repairMessage(choice))
  }

  #repairChoices(answer: Fields, repair: (choice: Fields) => Fields): Fields {
    const { choices } = answer
    if (!Array.isArray(choices)) return answer
    let repaired: unknown[] | null = null
    for (const [at, choice] of (choices as unknown[]).entries()) {
      const sound = isRecord(choice) ? repair(choice) : choice
      if (sound !== choice) (repaired ??= [...(choices as unknown[])])[at] = sound
    }
    return repaired === null ? answer : { ...answer, choices: repaired }
  }

  /** OpenAI's clients for Node refuse a stream without a role, and the one for Python joins roles that are repeated: the first piece alone has it. */
  #repairRole(choice: Fields): Fields {
    const delta = choice['delta'] as Fields
    const index = toIndex(choice)
    const isFirst = !this.#begun.has(index)
    if (isFirst) this.#begun.add(index)
    if (delta['role'] === (isFirst ? 'assistant' : undefined)) return choice
    const { role: _, ...rest } = delta
    return { ...choice, delta: isFirst ? { role: 'assistant', ...rest } : rest }
  }

  #repairDelta(choice: Fields): Fields {
    const delta = choice['delta'] as Fields
    const { tool_calls: pieces, function_call: legacyCall } = delta
    const sent = choice['finish_reason']
    const hasPieces = pieces !== undefined && pieces !== null
    const isList = hasParts(delta)
    const isPlain = !hasPieces && !isList
    if (isPlain && (sent === null || sent === undefined || sent === '')) return choice
    const calls = hasPieces ? this.#getCalls(choice) : this.#calls?.get(toIndex(choice))
    const reason = parseFinishReason(sent)
    const repaired = hasPieces && calls !== undefined ? calls.repair(pieces) : []
    if (repaired === pieces && reason === null && !isList) return choice
    const list = [
      ...repaired,
      ...(reason === null || calls === undefined
        ? []
        : calls.finish({ isCut: reason === 'length' || reason === 'content_filter' })),
    ]
    const { tool_calls: _, ...rest } = joinContentParts(delta)
    const finish = reason === null ? sent : decideFinish(reason, calls?.hasCalls === true && !isRecord(legacyCall))
    if (isPlain && list.length === 0 && finish === sent) return choice
    return { ...choice, delta: list.length === 0 ? rest : { ...rest, tool_calls: list }, finish_reason: finish }
  }

  #repairMessage(choice: Fields): Fields {
    const { message, finish_reason: sent } = choice
    if (!isRecord(message)) return choice
    const { tool_calls: sentCalls } = message
    const hasCalls = Array.isArray(sentCalls) ? sentCalls.length > 0 : isRecord(sentCalls)
    const reason = parseFinishReason(sent)
    const finish = reason === null ? sent : decideFinish(reason, hasCalls)
    const joined = joinContentParts(message['role'] === 'assistant' ? message : { ...message, role: 'assistant' })
    const repaired = hasCalls ? { ...joined, tool_calls: repairWholeCalls(sentCalls, this.#getIds()) } : joined
    return repaired === message && finish === sent ? choice : { ...choice, message: repaired, finish_reason: finish }
  }

  #getCalls(choice: Fields): ToolCallRepair {
    const index = toIndex(choice)
    this.#calls ??= new Map()
    let calls = this.#calls.get(index)
    if (calls === undefined) this.#calls.set(index, (calls = new ToolCallRepair(this.#getIds())))
    return calls
  }

  #getIds(): CallIds {
    return (this.#ids ??= new CallIds(this.#requestId))
  }
}

const chunkObject = 'chat.completion.chunk'

function toIndex({ index }: Fields): number {
  return typeof index === 'number' ? index : 0
}
