/** Assembles tool calls from their pieces. */
import type { CallPiece } from '../../conversation/answer-event.ts'

export class ToolCall {
  /** Position among the calls of the answer. */
  readonly position: number
  /** Unique in the answer. */
  readonly id: string
  /** Its arguments are free text. */
  readonly isCustom: boolean
  name = ''
  /** Its upstream ended it; false where that is unknown. */
  isComplete = false
  /** The pieces of the arguments, for readers that keep their place: a slice of the joined text would copy all of it at each piece. */
  readonly pieces: string[] = []
  #arguments = ''

  constructor(position: number, id: string, isCustom: boolean) {
    this.position = position
    this.id = id
    this.isCustom = isCustom
  }

  get arguments(): string {
    return this.#arguments
  }

  addArguments(piece: string): void {
    if (piece === '') return
    this.#arguments += piece
    this.pieces.push(piece)
  }
}

/** Assembles calls from their pieces, which `src/codecs/chat/repair/tool-call-repair.ts` has numbered. */
export class ToolCallList {
  readonly #calls: ToolCall[] = []
  readonly #byIndex = new Map<number, ToolCall>()
  readonly #requestId: string

  constructor(requestId: string) {
    this.#requestId = requestId
  }

  get all(): readonly ToolCall[] {
    return this.#calls
  }

  /** The call that this piece belongs to, with the piece added. Calls of a whole message have no index. */
  add(piece: CallPiece): ToolCall {
    const call = (piece.index === null ? undefined : this.#byIndex.get(piece.index)) ?? this.#create(piece)
    if (call.name === '') call.name = piece.name
    call.addArguments(piece.arguments)
    if (piece.isComplete === true) call.isComplete = true
    return call
  }

  #create({ index, id, isCustom = false }: CallPiece): ToolCall {
    const position = this.#calls.length
    // A call in the older form of chat completions has no id.
    const call = new ToolCall(position, id === '' ? `call_${this.#requestId}_${position}` : id, isCustom)
    this.#calls.push(call)
    if (index !== null) this.#byIndex.set(index, call)
    return call
  }
}
