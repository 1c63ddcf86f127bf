/**
 * Assembles the tool calls of a streamed answer from their pieces, by their index. Some vendors send no index, or the same for all, and then
 * complete calls: a new call begins with a different id, or with a name when the previous call's arguments are complete.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { TooManyCallsError, maxCalls } from './answer-bounds.ts'

type Fields = Record<string, unknown>

interface AssembledCall {
  readonly fields: Fields
  readonly argumentsEnd: JsonEndTracker
}

export class ToolCallMerger {
  readonly #calls: AssembledCall[] = []

  /** The calls so far. */
  get calls(): readonly Fields[] {
    return this.#calls.map(({ fields }) => fields)
  }

  /** @param merge adds the fields of the second to the first, which is changed */
  add(pieces: readonly unknown[], merge: (before: unknown, more: unknown) => unknown): void {
    for (const piece of pieces) {
      if (!isRecord(piece)) continue
      const last = this.#calls.at(-1)
      let call = this.#calls.findLast((each) => isSameCall(each, piece, each === last))
      if (call === undefined) {
        if (this.#calls.length >= maxCalls) throw new TooManyCallsError('too many calls')
        call = { fields: {}, argumentsEnd: new JsonEndTracker() }
        this.#calls.push(call)
      }
      merge(call.fields, piece)
      const args = isRecord(piece['function']) ? piece['function']['arguments'] : undefined
      if (typeof args === 'string') call.argumentsEnd.push(args)
    }
  }
}

function isSameCall({ fields, argumentsEnd }: AssembledCall, piece: Fields, isLast: boolean): boolean {
  if (typeof piece['index'] === 'number' ? piece['index'] !== fields['index'] : !isLast && !piece['id']) return false
  if (piece['id'] && fields['id']) return piece['id'] === fields['id']
  const name = getCallName(piece)
  return !name || ((!getCallName(fields) || name === getCallName(fields)) && !argumentsEnd.hasEnded)
}

function getCallName({ function: called }: Fields): unknown {
  return isRecord(called) ? called['name'] : undefined
}

/** Whether the object or list that a text begins with has ended: parsing all of it with each piece would take the square of its length. */
class JsonEndTracker {
  #depth = 0
  #isInString = false
  #isEscaped = false
  hasEnded = false

  push(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const char = text.charAt(i)
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isInString) {
        if (char === '\\') this.#isEscaped = true
        else if (char === '"') this.#isInString = false
      } else if (char === '"') this.#isInString = true
      else if (char === '{' || char === '[') this.#depth++
      else if ((char === '}' || char === ']') && --this.#depth <= 0) this.hasEnded = true
    }
  }
}
