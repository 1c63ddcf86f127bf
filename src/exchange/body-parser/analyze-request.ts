/**
 * Computes in the worker what later steps need of a large request. The result is small, except for one range of bytes that is transferred
 * without a copy. Each value equals what the same function computes for a small request.
 */
import { GatewayError } from '../../errors.ts'
import { ByteWriter } from '../../system/memory/byte-writer.ts'
import type { ErrorCode, FailureDetails } from '../../errors.ts'
import type { PartsPreparer } from '../body-parser.ts'
import type { PartsKey, PreparedParts } from '../request/prepared-parts.ts'
import { hashBody, hasImages, isRecord, getLastUserMessage, maxLastUserLength } from '../request/chat-request.ts'
import type { ChatRequest } from '../request/chat-request.ts'
import { findMediaAddresses } from '../request/media-addresses.ts'
import { countPrompt } from '../request/prompt-size.ts'
import {
  findFieldViolations,
  fitsInHeader,
  isDroppedSilently,
  isPassable,
  removeReasoning,
  rewriteRoles,
  maxNamesInHeader,
  stripExtensions,
} from '../request/field-policy.ts'
import type { RequestAnalysis } from '../request/request-analysis.ts'

/** Start and end, in bytes of the text. */
export type ByteRange = readonly [from: number, to: number]

/** A field: its value, or the ranges of its text. */
type SerializedField = readonly [name: string, value: unknown, ranges: readonly ByteRange[] | null]

/** The parts of the request in one other form, or why they cannot have it. */
type SerializedParts =
  | { readonly kind: 'parts'; readonly fields: readonly SerializedField[]; readonly facts: PreparedParts['facts'] }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly details: FailureDetails }

/** The result as it is posted between the threads. */
export interface AnalysisResult extends Pick<
  RequestAnalysis,
  'count' | 'hash' | 'hasImages' | 'mediaAddresses' | 'violations' | 'lastUser'
> {
  readonly chat: Pick<
    ChatRequest,
    'model' | 'stream' | 'includeUsage' | 'maxTokens' | 'choices' | 'bytes' | 'format' | 'hostedSearch'
  >
  /** The body as JSON, followed by replacements for parts of it. Null if it was written to the leased buffer. */
  readonly text: ArrayBuffer | null
  /** Length of the body within the text. */
  readonly bodyBytes: number
  readonly fields: readonly SerializedField[]
  /** The messages for an upstream that supports the role `developer`, and for one that does not. */
  readonly messages: MessageRanges
  readonly messagesWithoutReasoning: MessageRanges | null
  readonly prepared: readonly (readonly [PartsKey, SerializedParts])[]
}

/** What the analysis depends on besides the request. */
interface AnalysisOptions {
  /** Holds the text if it fits. */
  readonly leasedBuffer?: SharedArrayBuffer | null
  /** The forms of other APIs in which an upstream may receive the request. */
  readonly partsKeys?: readonly PartsKey[]
  readonly prepareParts?: PartsPreparer | null
}

interface MessageRanges {
  readonly developer: readonly ByteRange[]
  readonly system: readonly ByteRange[]
}

/** Longer values are passed as ranges of the text. */
const maxInlineLength = 1024
/** More parts of the last user message are passed as one text. */
const maxLastUserParts = 64

/** @param passRequestFields fields that the operator allows for any upstream */
export function analyzeRequest(
  chat: ChatRequest,
  passRequestFields: ReadonlySet<string>,
  { leasedBuffer = null, partsKeys = [], prepareParts = null }: AnalysisOptions = {},
): AnalysisResult {
  const { model, stream, includeUsage, maxTokens, choices, bytes, format, hostedSearch } = chat
  const texts = new JsonWriter(leasedBuffer ?? new ArrayBuffer(bytes))
  const ranges = new Map<string, ByteRange>()
  writeBody(chat, texts, ranges)
  const bodyBytes = texts.length
  const messages = writeMessages(chat, texts, ranges)
  const messagesWithoutReasoning = writeMessagesWithoutReasoning(chat, texts)
  const fields = collectFields(chat.body, passRequestFields, (name, value) => {
    if (name === 'messages') return [name, null, messages.developer]
    const range = ranges.get(name)
    const isLong = range !== undefined && range[1] - range[0] > maxInlineLength
    const sent = toSentValue(name, value, isLong)
    if (!isLong) return [name, sent, null]
    return [name, null, [sent === value ? range : texts.addValue(sent)]]
  })
  const prepared =
    prepareParts === null ? [] : partsKeys.map((key) => [key, writeParts(() => prepareParts(chat, key), texts)] as const)
  const { memory } = texts
  return {
    chat: {
      model,
      stream,
      includeUsage,
      maxTokens,
      choices,
      bytes,
      ...(format === undefined ? {} : { format }),
      ...(hostedSearch === undefined ? {} : { hostedSearch }),
    },
    text: memory instanceof ArrayBuffer ? memory : null,
    bodyBytes,
    fields,
    messages,
    messagesWithoutReasoning,
    prepared,
    count: countPrompt(chat),
    hash: hashBody(Buffer.from(memory, 0, bodyBytes), format),
    hasImages: hasImages(chat),
    mediaAddresses: findMediaAddresses(chat),
    violations: findFieldViolations(chat.body),
    lastUser: stripImages(getLastUserMessage(chat)),
  }
}

/** Writes the whole body as `JSON.stringify` does, and records the range of each field. */
function writeBody({ body }: ChatRequest, texts: JsonWriter, ranges: Map<string, ByteRange>): void {
  let separator = '{'
  for (const [name, value] of Object.entries(body)) {
    texts.add(`${separator}${JSON.stringify(name)}:`)
    separator = ','
    ranges.set(name, texts.addValue(value))
  }
  texts.add('}')
}

/**
 * Writes the messages that differ from the original. For an upstream without the role `developer` they differ up to the last developer
 * message, which is usually near the beginning.
 */
function writeMessages(
  { messages }: Pick<ChatRequest, 'messages'>,
  texts: JsonWriter,
  ranges: ReadonlyMap<string, ByteRange>,
): MessageRanges {
  const cleaned = rewriteRoles('developer', messages)
  const original = ranges.get('messages')
  const developer = cleaned === messages && original !== undefined ? original : texts.addValue(cleaned)
  const count = cleaned.findLastIndex((message) => isRecord(message) && message['role'] === 'developer') + 1
  if (count === 0) return { developer: [developer], system: [developer] }
  const head = JSON.stringify(cleaned.slice(0, count))
  const rest: ByteRange = [developer[0] + Buffer.byteLength(head) - 1, developer[1]]
  const asSystem = JSON.stringify(rewriteRoles('system', cleaned.slice(0, count)))
  return { developer: [developer], system: [texts.add(asSystem.slice(0, -1)), rest] }
}

/** Null without reasoning, and for a client that wrote it itself. */
function writeMessagesWithoutReasoning({ messages, format }: ChatRequest, texts: JsonWriter): MessageRanges | null {
  const remaining = format === undefined ? messages : removeReasoning(messages)
  return remaining === messages ? null : writeMessages({ messages: remaining }, texts, new Map())
}

function writeParts(prepare: () => PreparedParts, texts: JsonWriter): SerializedParts {
  try {
    const { fields, facts } = prepare()
    return {
      kind: 'parts',
      fields: Object.entries(fields).map(([name, value]) => [name, null, [texts.addValue(value)]]),
      facts,
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { kind: 'refused', code: error.code, details: { ...error.details, cause: undefined } }
  }
}

/** The fields that any step may use: those that may be forwarded, and as many names of others as the response header can hold. */
function collectFields(
  body: ChatRequest['body'],
  passRequestFields: ReadonlySet<string>,
  toField: (name: string, value: unknown) => SerializedField,
): SerializedField[] {
  const fields: SerializedField[] = []
  let named = 0
  for (const [name, value] of Object.entries(body)) {
    if (isPassable(name, passRequestFields)) fields.push(toField(name, value))
    else if (!isDroppedSilently(name) && fitsInHeader(name) && named < maxNamesInHeader) {
      named++
      fields.push([name, null, null])
    }
  }
  return fields
}

/** Removes what no upstream receives, and adds what would be added later to a value that is too long to be parsed again. */
function toSentValue(name: string, value: unknown, isLong: boolean): unknown {
  if (name === 'tools' && Array.isArray(value)) return stripExtensions(value)
  return name === 'stream_options' && isLong && isRecord(value) ? { ...value, include_usage: true } : value
}

/** A message without its images. A text that is too long for its users is cut one character above that length. */
function stripImages(message: unknown): unknown {
  if (!isRecord(message)) return undefined
  const { role, content } = message
  if (typeof content === 'string') return { role, content: cut(content) }
  if (!Array.isArray(content)) return { role, content: null }
  const parts = content.filter(isRecord).map(({ type, text }) => (typeof text === 'string' ? { type, text } : { type }))
  const isShort = parts.reduce((sum, { type, text = '' }) => sum + String(type).length + text.length, 0) <= maxLastUserLength
  if (parts.length <= maxLastUserParts && isShort) return { role, content: parts }
  const joined = {
    type: 'text',
    text: cut(
      parts
        .map(({ text = '' }) => text)
        .join('\n')
        .trim(),
    ),
  }
  const hasImage = parts.some(({ type }) => type === 'image_url')
  return { role, content: hasImage ? [joined, { type: 'image_url' }] : [joined] }
}

/** Its users ignore blanks around it. */
function cut(text: string): string {
  return text.length <= maxLastUserLength ? text : text.trim().slice(0, maxLastUserLength + 1)
}

/** Writes values as JSON and returns where they stand. */
class JsonWriter extends ByteWriter {
  add(text: string): ByteRange {
    const from = this.length
    this.write(text)
    return [from, this.length]
  }

  /** Writes the entries of a list one at a time: the text of a whole conversation is megabytes of garbage. */
  addValue(value: unknown): ByteRange {
    if (!Array.isArray(value) || value.length < 2) return this.add(JSON.stringify(value))
    const from = this.length
    for (let i = 0; i < value.length; i++) {
      this.write(i === 0 ? '[' : ',')
      this.write((JSON.stringify(value[i]) as string | undefined) ?? 'null')
    }
    this.write(']')
    return [from, this.length]
  }
}
