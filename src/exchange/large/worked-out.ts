/**
 * All that later steps want to know of a large request, worked out in a thread of its own: small, but for one stretch of bytes that is
 * handed over without a copy. What stands here is what the same questions answer about a small request where they are asked.
 */
import { hashOf, hasImages, isRecord, lastUserMessage, parseChatRequest } from '../chat-request.ts'
import type { ChatRequest } from '../chat-request.ts'
import { countOf } from '../estimate.ts'
import { faultsOf, fitsHeader, isSilent, mayPass, messagesAs, namedInHeader, withoutExtras } from '../fields.ts'
import type { WorkedOut } from './answers.ts'

/** From and to, in bytes of the text. */
export type Range = readonly [from: number, to: number]

/** A field: its value, or where its text stands. */
export type Field = readonly [name: string, value: unknown, ranges: readonly Range[] | null]

/** As it passes between the threads. */
export interface Result extends Pick<WorkedOut, 'count' | 'hash' | 'hasImages' | 'faults' | 'lastUser'> {
  readonly asked: Pick<ChatRequest, 'model' | 'stream' | 'includeUsage' | 'maxTokens' | 'choices' | 'bytes'>
  /** The body as JSON, and after it what is sent in place of parts of it. Null where it stands in the memory that was lent for it. */
  readonly text: ArrayBuffer | null
  /** Where the body itself ends. */
  readonly bodyBytes: number
  readonly fields: readonly Field[]
  /** The messages as an upstream is sent them that knows the role `developer`, and as one that does not. */
  readonly messages: { readonly developer: readonly Range[]; readonly system: readonly Range[] }
}

/** Values of a longer text stay text. */
const valueLength = 1024
/** Of the last user message what is handed over as it is. */
const lastUserLength = 64 * 1024
const lastUserParts = 64

/**
 * @param passFields what operators let through to any upstream
 * @param lent for the text, if it is no longer
 * @throws GatewayError `invalid_request`
 */
export function workOut(raw: Buffer, passFields: ReadonlySet<string>, lent: SharedArrayBuffer | null = null): Result {
  const chat = parseChatRequest(raw)
  const { model, stream, includeUsage, maxTokens, choices, bytes } = chat
  const texts = new Texts()
  const ranges = new Map<string, Range>()
  printBody(chat, texts, ranges)
  const bodyBytes = texts.bytes
  const messages = printSent(chat, texts, ranges)
  const fields = outline(chat.body, passFields, (name, value) => {
    if (name === 'messages') return [name, null, messages.developer]
    const range = ranges.get(name)
    const isLong = range !== undefined && range[1] - range[0] > valueLength
    const sent = asSent(name, value, isLong)
    if (!isLong) return [name, sent, null]
    return [name, null, [sent === value ? range : texts.add(JSON.stringify(sent))]]
  })
  const memory = lent !== null && texts.bytes <= lent.byteLength ? lent : new ArrayBuffer(texts.bytes)
  const text = Buffer.from(memory)
  texts.writeTo(text)
  return {
    asked: { model, stream, includeUsage, maxTokens, choices, bytes },
    text: memory instanceof ArrayBuffer ? memory : null,
    bodyBytes,
    fields,
    messages,
    count: countOf(chat),
    hash: hashOf(text.subarray(0, bodyBytes)),
    hasImages: hasImages(chat),
    faults: faultsOf(chat.body),
    lastUser: withoutPictures(lastUserMessage(chat)),
  }
}

/** The whole body, as `JSON.stringify` has it, and where in it each field is. */
function printBody({ body }: ChatRequest, texts: Texts, ranges: Map<string, Range>): void {
  let between = '{'
  for (const [name, value] of Object.entries(body)) {
    texts.add(`${between}${JSON.stringify(name)}:`)
    between = ','
    ranges.set(name, texts.add(JSON.stringify(value)))
  }
  texts.add('}')
}

/**
 * The messages that differ from what came, printed anew. What goes to an upstream that knows no developers differs up to the last message of
 * one, which is seldom far from the beginning.
 */
function printSent({ messages }: ChatRequest, texts: Texts, ranges: Map<string, Range>): Result['messages'] {
  const clean = messagesAs('developer', messages)
  const came = ranges.get('messages')
  const developer = clean === messages && came !== undefined ? came : texts.add(JSON.stringify(clean))
  const count = clean.findLastIndex((message) => isRecord(message) && message['role'] === 'developer') + 1
  if (count === 0) return { developer: [developer], system: [developer] }
  const head = JSON.stringify(clean.slice(0, count))
  const rest: Range = [developer[0] + Buffer.byteLength(head) - 1, developer[1]]
  const asSystem = JSON.stringify(messagesAs('system', clean.slice(0, count)))
  return { developer: [developer], system: [texts.add(asSystem.slice(0, -1)), rest] }
}

/** The fields that any step may look at: those that may pass, and as many names of others as an answer's header tells. */
function outline(
  body: ChatRequest['body'],
  passFields: ReadonlySet<string>,
  fieldOf: (name: string, value: unknown) => Field,
): Field[] {
  const fields: Field[] = []
  let named = 0
  for (const [name, value] of Object.entries(body)) {
    if (mayPass(name, passFields)) fields.push(fieldOf(name, value))
    else if (!isSilent(name) && fitsHeader(name) && named < namedInHeader) {
      named++
      fields.push([name, null, null])
    }
  }
  return fields
}

/** What no upstream is sent is taken out now; what is added to a value later, where that is too long to be touched again. */
function asSent(name: string, value: unknown, isLong: boolean): unknown {
  if (name === 'tools' && Array.isArray(value)) return withoutExtras(value)
  return name === 'stream_options' && isLong && isRecord(value) ? { ...value, include_usage: true } : value
}

/** The words of a message. */
function withoutPictures(message: unknown): unknown {
  if (!isRecord(message)) return undefined
  const { role, content } = message
  if (typeof content === 'string') return content.length > lastUserLength ? null : { role, content }
  if (!Array.isArray(content)) return { role, content: null }
  if (content.length > lastUserParts) return null
  let length = 0
  const parts = content.filter(isRecord).map(({ type, text }) => {
    if (typeof type === 'string') length += type.length
    if (typeof text === 'string') length += text.length
    return typeof text === 'string' ? { type, text } : { type }
  })
  return length > lastUserLength ? null : { role, content: parts }
}

/** Texts one after another, of which each is turned into bytes once. */
class Texts {
  readonly #texts: string[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(text: string): Range {
    const from = this.#bytes
    this.#texts.push(text)
    this.#bytes += Buffer.byteLength(text)
    return [from, this.#bytes]
  }

  writeTo(bytes: Buffer): void {
    let at = 0
    for (const text of this.#texts) at += bytes.write(text, at)
  }
}
