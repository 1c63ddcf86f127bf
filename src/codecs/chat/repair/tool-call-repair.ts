/**
 * Tool calls of one choice in the form of chat completions, however their vendor sends them. Of each call, the first piece has an index, an
 * id that is unique in the answer, a type and a name, and later pieces have the index alone: OpenAI's own client for Python joins ids and
 * names that are repeated. Arguments are text.
 */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { maxCallPieces, maxCalls, AnswerTooLargeError, TooManyCallsError } from '../../answer-bounds.ts'
import type { CallIds } from '../../shared/call-ids.ts'
import { JsonEndFinder } from '../json-end-finder.ts'
import { toText } from '../../shared/read-json.ts'

type Fields = Readonly<Record<string, unknown>>

/** A call of a tool, or of a tool with free text. */
interface CallPiece {
  readonly kind: 'function' | 'custom'
  readonly name: string
  /** Of the arguments, or of the free text. */
  readonly text: string
}

interface KnownCall {
  /** Position among the calls of the choice. */
  readonly position: number
  /** As the upstream sent it; '' without one. */
  readonly sentId: string
  readonly kind: CallPiece['kind']
  name: string
  hasText: boolean
  /** Text before the name, which opens the call for the client. */
  heldText: string
  /** Fields of a vendor in the pieces before the name. */
  readonly heldFields: Fields[]
  isOpen: boolean
  readonly end: JsonEndFinder
  /** Pieces that `end` has not read: it is only asked where a vendor tells calls apart by nothing else. */
  unread: string[]
}

export class ToolCallRepair {
  readonly #ids: CallIds
  readonly #calls: KnownCall[] = []
  /** The last call with each index, and with each id, that the upstream sent. */
  readonly #byIndex = new Map<unknown, KnownCall>()
  readonly #byId = new Map<string, KnownCall>()

  constructor(ids: CallIds) {
    this.#ids = ids
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0
  }

  /** The pieces for the client; the same list if it is sound. @throws AnswerTooLargeError */
  repair(sent: unknown): readonly Fields[] {
    if (Array.isArray(sent) && sent.length === 1 && this.#isSound(sent[0])) return sent as readonly Fields[]
    const list = toList(sent)
    if (list.length > maxCallPieces) throw new AnswerTooLargeError('too many pieces of calls in one event')
    return list.flatMap((piece) => (isRecord(piece) ? this.#repairPiece(piece) : []))
  }

  /**
   * Pieces that complete the calls at the end of a choice: a call without arguments has an empty object, unless the answer was cut off, and a
   * call whose name never came is opened without one, so that the client reports it to the model.
   */
  finish({ isCut }: { readonly isCut: boolean }): readonly Fields[] {
    return this.#calls.flatMap((call) => {
      const opening = call.isOpen ? [] : [this.#open(call)]
      if (call.hasText || isCut || call.kind === 'custom') return opening
      call.hasText = true
      return [...opening, toPiece(call, '{}')]
    })
  }

  /** Whether a piece continues an open call as OpenAI's do, which nearly all pieces are. */
  #isSound(piece: unknown): boolean {
    if (!isRecord(piece) || piece['id'] !== undefined || piece['type'] !== undefined) return false
    const { index, function: functionCall } = piece
    if (!isRecord(functionCall) || functionCall['name'] !== undefined || typeof functionCall['arguments'] !== 'string')
      return false
    const call = this.#byIndex.get(index)
    if (call?.isOpen !== true || call.position !== index || call.kind !== 'function') return false
    if (functionCall['arguments'] === '') return true
    call.hasText = true
    call.unread.push(functionCall['arguments'])
    return true
  }

  #repairPiece(piece: Fields): readonly Fields[] {
    const { index, id, type: _, function: __, custom: ___, name: ____, arguments: _____, ...own } = piece
    const sentId = toId(id)
    const callPiece = readCallPiece(piece)
    const call = this.#find(index, sentId, callPiece) ?? this.#create(index, sentId, callPiece)
    if (call.name === '') call.name = callPiece.name
    if (callPiece.text !== '') {
      call.hasText = true
      call.unread.push(callPiece.text)
    }
    if (call.isOpen) {
      return callPiece.text === '' && Object.keys(own).length === 0 ? [] : [{ ...toPiece(call, callPiece.text), ...own }]
    }
    call.heldText += callPiece.text
    call.heldFields.push(own)
    return call.name === '' ? [] : [this.#open(call)]
  }

  #open(call: KnownCall): Fields {
    const { kind, name, position, heldFields, heldText } = call
    call.isOpen = true
    call.heldText = ''
    const body = kind === 'custom' ? { name, input: heldText } : { name, arguments: heldText }
    return { index: position, id: this.#ids.add(call.sentId), type: kind, [kind]: body, ...joinFields(heldFields) }
  }

  /** The call that a piece continues. */
  #find(index: unknown, id: string, read: CallPiece): KnownCall | undefined {
    const knownCall = id === '' ? undefined : this.#byId.get(id)
    const hasIndex = typeof index === 'number'
    const call = hasIndex ? this.#byIndex.get(index) : (knownCall ?? this.#calls.at(-1))
    if (call === undefined || continues(call, { id, read, known: knownCall, hasIndex })) return call
    return hasIndex ? knownCall : undefined
  }

  #create(index: unknown, sentId: string, { kind }: CallPiece): KnownCall {
    // Calls that wait for a name count as well.
    if (this.#calls.length >= maxCalls) throw new TooManyCallsError('too many calls')
    const call: KnownCall = {
      position: this.#calls.length,
      sentId,
      kind,
      name: '',
      hasText: false,
      heldText: '',
      heldFields: [],
      isOpen: false,
      end: new JsonEndFinder(),
      unread: [],
    }
    this.#calls.push(call)
    if (typeof index === 'number') this.#byIndex.set(index, call)
    if (sentId !== '') this.#byId.set(sentId, call)
    return call
  }
}

/** The calls of a whole message. */
export function repairWholeCalls(sent: unknown, ids: CallIds): readonly Fields[] {
  return toList(sent)
    .filter(isRecord)
    .map((call) => {
      const { index: _, id, name: __, arguments: ___, ...own } = call
      const { kind, name, text } = readCallPiece(call)
      const body = kind === 'custom' ? { name, input: text } : { name, arguments: text.trim() === '' ? '{}' : text }
      return { ...own, id: ids.add(toId(id)), type: kind, [kind]: body }
    })
}

interface PieceFacts {
  readonly id: string
  readonly read: CallPiece
  /** The call of this id. */
  readonly known: KnownCall | undefined
  /** Whether `call` has the index of the piece. */
  readonly hasIndex: boolean
}

/**
 * A different id begins a new call where it comes with a name, and is made anew for each piece where it does not; with the same name and
 * index, arguments that are not complete go on. Without ids, a name after complete arguments begins a call.
 */
function continues(call: KnownCall, { id, read: { name, text }, known, hasIndex }: PieceFacts): boolean {
  if (id !== '' && call.sentId !== '' && id !== call.sentId) {
    if (known !== undefined || call.name === '') return false
    const beginsObject = call.hasText && text.startsWith('{')
    return name === '' || (hasIndex && name === call.name && !beginsObject && !hasEnded(call))
  }
  if (name === '' || call.name === '' || (id !== '' && id === call.sentId)) return true
  return call.name === name && !hasEnded(call)
}

function hasEnded(call: KnownCall): boolean {
  for (const text of call.unread) call.end.push(text)
  call.unread = []
  return call.end.isAtEnd
}

/** Some vendors send one call as an object in place of a list. */
function toList(sent: unknown): readonly unknown[] {
  return Array.isArray(sent) ? (sent as readonly unknown[]) : [sent]
}

function toId(value: unknown): string {
  return typeof value === 'number' ? String(value) : toText(value)
}

function readCallPiece(piece: Fields): CallPiece {
  const { function: functionCall, custom } = piece
  if (isRecord(custom)) return { kind: 'custom', name: toText(custom['name']), text: toText(custom['input']) }
  // Some servers put name and arguments beside the id.
  const { name, arguments: args } = isRecord(functionCall) ? functionCall : piece
  return { kind: 'function', name: toText(name), text: toArguments(args) }
}

/** Each field is copied once: pieces before the name may be many. */
function joinFields(list: readonly Fields[]): Fields {
  return list.length === 1 ? (list[0] ?? {}) : Object.fromEntries(list.flatMap(Object.entries))
}

function toPiece({ position, kind }: KnownCall, text: string): Fields {
  return { index: position, [kind]: kind === 'custom' ? { input: text } : { arguments: text } }
}

/** Some vendors send the arguments as an object. */
function toArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : ''
}
