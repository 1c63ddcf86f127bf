/** Assembles tool calls from their pieces. */
import type { CallDelta } from './chat-delta.ts'

export class ToolCall {
  /** Position among the calls of the answer. */
  readonly position: number
  /** Unique in the answer. */
  readonly id: string
  name = ''
  /** The pieces of the arguments, for readers that keep their place: a slice of the joined text would copy all of it at each piece. */
  readonly pieces: string[] = []
  #arguments = ''

  constructor(position: number, id: string) {
    this.position = position
    this.id = id
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

/**
 * Servers differ in how they mark the pieces of a call: by index, by id, or not at all. A name that is repeated in every piece counts once,
 * and a new id at a used index begins a new call.
 */
export class ToolCallList {
  readonly #calls: ToolCall[] = []
  readonly #byIndex = new Map<number, ToolCall>()
  /** The last call with each id. */
  readonly #bySentId = new Map<string, ToolCall>()
  /** The ids that the upstream sent; '' where it sent none. */
  readonly #sentIds = new Map<ToolCall, string>()
  readonly #ids = new Set<string>()
  readonly #requestId: string

  constructor(requestId: string) {
    this.#requestId = requestId
  }

  get all(): readonly ToolCall[] {
    return this.#calls
  }

  /** The call that this piece belongs to, with the piece added. */
  add(piece: CallDelta): ToolCall {
    const call = this.#find(piece) ?? this.#create(piece)
    if (call.name === '') call.name = piece.name
    call.addArguments(piece.arguments)
    return call
  }

  #find({ index, id }: CallDelta): ToolCall | undefined {
    if (index !== null) {
      const call = this.#byIndex.get(index)
      const sentId = call === undefined ? '' : (this.#sentIds.get(call) ?? '')
      return id === '' || sentId === '' || sentId === id ? call : undefined
    }
    return id === '' ? this.#calls.at(-1) : this.#bySentId.get(id)
  }

  #create({ index, id }: CallDelta): ToolCall {
    const position = this.#calls.length
    const call = new ToolCall(position, this.#toUniqueId(id, position))
    this.#calls.push(call)
    this.#sentIds.set(call, id)
    this.#bySentId.set(id, call)
    if (index !== null) this.#byIndex.set(index, call)
    return call
  }

  #toUniqueId(sent: string, position: number): string {
    const isFree = sent !== '' && !this.#ids.has(sent)
    const id = isFree ? sent : `${sent === '' ? 'call' : sent}_${this.#requestId}_${position}`
    this.#ids.add(id)
    return id
  }
}
