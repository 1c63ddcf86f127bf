/**
 * Repairs what other vendors send as a chat completion, before anything reads it: every rule stands here once, for streams and whole answers,
 * and `src/codecs/vendors/README.md` has the vendors that need it. What OpenAI's form has already is returned as it is.
 */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { CallIds } from '../../shared/call-ids.ts'
import type { ChatAnswerContext } from '../chat-encoder.ts'
import { ChoiceEnds, hasEnd, toIndex } from '../choice-ends.ts'
import { hasParts, joinContentParts } from './content-parts.ts'
import { decideFinish, parseFinishReason } from '../finish-reason.ts'
import { toMissingContent } from '../stream-aggregator.ts'
import { repairWholeCalls, ToolCallRepair } from './tool-call-repair.ts'

type Fields = Record<string, unknown>

export class AnswerRepair {
  readonly #context: RepairContext
  /** Created at the first call, which most answers have none of. */
  #ids: CallIds | undefined
  /** By the index of the choice. */
  #calls: Map<number, ToolCallRepair> | undefined
  /** The choices whose first piece has passed. */
  readonly #begun = new Set<number>()
  /** Created at the first finish reason. */
  #ends: ChoiceEnds | undefined
  /** Of the stream's first chunk. */
  #head: Head | undefined

  constructor(context: RepairContext) {
    this.#context = context
  }

  /** Whether finish reasons prove nothing, because a choice went on after one. */
  get hasUncertainEnds(): boolean {
    return this.#ends?.areUncertain === true
  }

  /** The chunks to pass on for one chunk of a stream, which has a list of choices. @throws AnswerTooLargeError */
  repairChunk(chunk: Fields): readonly Fields[] {
    const repairedChunk = this.#repairChoices(this.#completeChunk(chunk), (choice) => {
      if (isRecord(choice['delta'])) return this.#repairDelta(this.#repairRole(choice))
      const { message, ...rest } = choice
      // In place of pieces it is one; after the pieces, MiniMax sends the whole message once more.
      if (isRecord(message) && !this.#begun.has(toIndex(choice)))
        return this.#repairDelta(this.#repairRole({ ...rest, delta: message }))
      return this.#repairDelta({ ...rest, delta: {} })
    })
    if (this.#ends === undefined && !hasEnd(repairedChunk)) return [repairedChunk]
    this.#ends ??= new ChoiceEnds((end) => this.#finishCalls(end))
    return this.#ends.hold(repairedChunk)
  }

  /** The chunks that finish choices, at the end of the stream. @param isCut the stream was ended before the upstream's end */
  endChoices({ isCut }: { readonly isCut: boolean }): readonly Fields[] {
    return this.#ends?.release({ isCut }) ?? []
  }

  /** A chunk that finishes choices for which the upstream has sent no finish reason. */
  createEnd(reasons: readonly (readonly [index: number, reason: string])[]): Fields {
    const choices = reasons.map(([index, reason]) => ({ index, delta: {}, logprobs: null, finish_reason: reason }))
    return { ...this.#head, choices }
  }

  /** A whole completion. @throws AnswerTooLargeError */
  repairCompletion(completion: Fields): Fields {
    const { choices } = completion
    const isSound = hasHead(completion) && completion['object'] === completionObject
    const namedCompletion = isSound ? completion : { ...completion, ...this.#toHead(completion), object: completionObject }
    const isNumbered = !Array.isArray(choices) || choices.every((choice) => !isRecord(choice) || choice['index'] !== undefined)
    return this.#repairChoices(namedCompletion, (choice, index) =>
      this.#repairMessage(isNumbered ? choice : { index, ...choice }),
    )
  }

  /** Azure leaves `object` empty in the verdict on the prompt; other servers leave out what clients require. */
  #completeChunk(chunk: Fields): Fields {
    const isSound = hasHead(chunk) && chunk['object'] === chunkObject
    const namedChunk = isSound ? chunk : { ...chunk, ...this.#toHead(chunk), object: chunkObject }
    if (!this.#head?.id) this.#head = { ...this.#toHead(namedChunk), object: chunkObject }
    return namedChunk
  }

  /** What is missing is that of the stream's first chunk. */
  #toHead({ id, created, model }: Fields): Head {
    const { requestId, startedAt } = this.#context
    return {
      id: typeof id === 'string' ? id : (this.#head?.id ?? `chatcmpl-${requestId}`),
      created: typeof created === 'number' ? created : (this.#head?.created ?? Math.floor(startedAt / 1000)),
      model: model ?? '',
    }
  }

  #repairChoices(answer: Fields, repair: (choice: Fields, at: number) => Fields): Fields {
    const { choices } = answer
    if (!Array.isArray(choices)) return answer
    let repairedChoices: unknown[] | null = null
    for (const [at, choice] of (choices as unknown[]).entries()) {
      const sound = isRecord(choice) ? repair(choice, at) : choice
      if (sound !== choice) (repairedChoices ??= [...(choices as unknown[])])[at] = sound
    }
    return repairedChoices === null ? answer : { ...answer, choices: repairedChoices }
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
    const { tool_calls: pieces } = delta
    const { finish_reason: sentReason } = choice
    const hasPieces = pieces !== undefined && pieces !== null
    const isList = hasParts(delta)
    const reason = parseFinishReason(sentReason)
    const namedChoice = reason === null || reason === sentReason ? choice : { ...choice, finish_reason: reason }
    if (!hasPieces && !isList) return namedChoice
    const repairedPieces = hasPieces ? this.#getCalls(choice).repair(pieces) : []
    if (repairedPieces === pieces && !isList) return namedChoice
    const { tool_calls: _, ...rest } = joinContentParts(delta)
    return { ...namedChoice, delta: repairedPieces.length === 0 ? rest : { ...rest, tool_calls: repairedPieces } }
  }

  /** Completes the calls of the choice that a chunk finishes. */
  #finishCalls(chunk: Fields): Fields {
    return this.#repairChoices(chunk, (choice) => {
      const delta = choice['delta'] as Fields
      const calls = this.#calls?.get(toIndex(choice))
      if (calls === undefined) return choice
      const { tool_calls: pieces = [], function_call: legacyCall } = delta
      const reason = choice['finish_reason'] as string
      const addedPieces = calls.finish({ isCut: reason === 'length' || reason === 'content_filter' })
      const finish = decideFinish(reason, calls.hasCalls && !isRecord(legacyCall))
      const list =
        addedPieces.length === 0 ? delta : { ...delta, tool_calls: [...(pieces as readonly unknown[]), ...addedPieces] }
      return list === delta && finish === reason ? choice : { ...choice, delta: list, finish_reason: finish }
    })
  }

  #repairMessage(choice: Fields): Fields {
    const { message, finish_reason: sentReason } = choice
    if (!isRecord(message)) return choice
    const { tool_calls: sentCalls } = message
    const hasCalls = Array.isArray(sentCalls) ? sentCalls.length > 0 : isRecord(sentCalls)
    const reason = parseFinishReason(sentReason)
    const finish = reason === null ? sentReason : decideFinish(reason, hasCalls)
    const { role, content = toMissingContent(message) } = message
    const isSound = role === 'assistant' && content === message['content']
    const joinedMessage = joinContentParts(isSound ? message : { ...message, role: 'assistant', content })
    const repairedMessage = hasCalls
      ? { ...joinedMessage, tool_calls: repairWholeCalls(sentCalls, this.#getIds()) }
      : joinedMessage
    return repairedMessage === message && finish === sentReason
      ? choice
      : { ...choice, message: repairedMessage, finish_reason: finish }
  }

  #getCalls(choice: Fields): ToolCallRepair {
    const index = toIndex(choice)
    this.#calls ??= new Map()
    let calls = this.#calls.get(index)
    if (calls === undefined) this.#calls.set(index, (calls = new ToolCallRepair(this.#getIds())))
    return calls
  }

  #getIds(): CallIds {
    return (this.#ids ??= new CallIds(this.#context.requestId))
  }
}

export type RepairContext = Pick<ChatAnswerContext, 'requestId' | 'startedAt'>

/** Fields that clients require of each chunk. */
interface Head {
  readonly id: string
  readonly created: number
  readonly model: unknown
  readonly object?: string
}

const chunkObject = 'chat.completion.chunk'
const completionObject = 'chat.completion'

function hasHead({ id, created, model }: Fields): boolean {
  return typeof id === 'string' && typeof created === 'number' && model !== undefined && model !== null
}
