/**
 * Computes in the worker what later steps need of a large request. The result is small, except for one range of bytes that is transferred
 * without a copy. Each value equals what the same function computes for a small request.
 */
import { GatewayError } from '../../errors.ts'
import { ByteWriter } from '../../system/memory/byte-writer.ts'
import type { ErrorCode, FailureDetails } from '../../errors.ts'
import { toFormKey, toRequestForm } from '../request/form/request-form.ts'
import type { TargetFacts } from '../request/form/request-form.ts'
import type { PartsEncoder } from '../request/form/target-request.ts'
import type { PreparedParts } from '../request/prepared-parts.ts'
import {
  getConversationOpening,
  hashBody,
  hasImages,
  isRecord,
  getLastUserMessage,
  maxLastUserLength,
} from '../request/chat-request.ts'
import type { ChatRequest } from '../request/chat-request.ts'
import { findMediaAddresses } from '../request/media-addresses.ts'
import { countPrompt } from '../request/prompt-size.ts'
import { findFieldViolations, fitsInHeader, isDroppedSilently, isPassable, maxNamesInHeader } from '../request/field-policy.ts'
import type { RequestAnalysis } from '../request/request-analysis.ts'

/** Start and end, in bytes of the text. */
export type ByteRange = readonly [from: number, to: number]

/** A field: its value, or the ranges of its text. */
type SerializedField = readonly [name: string, value: unknown, ranges: readonly ByteRange[] | null]

/** The parts of the request in one form, or why they cannot have it. */
type SerializedParts =
  | ({ readonly kind: 'parts'; readonly fields: readonly SerializedField[] } & Pick<PreparedParts, 'facts' | 'dropped'>)
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly details: FailureDetails }

/** The result as it is posted between the threads. */
export interface AnalysisResult extends Pick<
  RequestAnalysis,
  'count' | 'hash' | 'hasImages' | 'mediaAddresses' | 'violations' | 'lastUser' | 'opening'
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
  /** By the key of their form. */
  readonly prepared: readonly (readonly [string, SerializedParts])[]
}

/** What the analysis depends on besides the request. */
interface AnalysisOptions {
  /** Holds the text if it fits. */
  readonly leasedBuffer?: SharedArrayBuffer | null
  /** The targets that may receive the request. */
  readonly targets?: readonly TargetFacts[]
  readonly prepareParts?: PartsEncoder | null
}

/** Longer values are passed as ranges of the text. */
const maxInlineLength = 1024
/** A list that would become more ranges is written again. */
const maxRanges = 128
/** More parts of the last user message are passed as one text. */
const maxLastUserParts = 64

/** @param passRequestFields fields that the operator allows for any upstream */
export function analyzeRequest(
  chat: ChatRequest,
  passRequestFields: ReadonlySet<string>,
  { leasedBuffer = null, targets = [], prepareParts = null }: AnalysisOptions = {},
): AnalysisResult {
  const { model, stream, includeUsage, maxTokens, choices, bytes, format, hostedSearch } = chat
  const texts = new JsonWriter(leasedBuffer ?? new ArrayBuffer(bytes))
  const ranges = new Map<string, ByteRange>()
  writeBody(chat, texts, ranges)
  const bodyBytes = texts.length
  const fields = collectFields(chat.body, passRequestFields, (name, value) => {
    const range = ranges.get(name)
    const isLong = range !== undefined && range[1] - range[0] > maxInlineLength
    const sentValue = toSentValue(name, value, isLong)
    if (!isLong) return [name, sentValue, null]
    return [name, null, [sentValue === value ? range : texts.addValue(sentValue)]]
  })
  const forms = new Map(targets.map((target) => toRequestForm(target, format)).map((form) => [toFormKey(form), form]))
  const preparedParts =
    prepareParts === null
      ? []
      : [...forms].map(([key, form]) => [key, writeParts(() => prepareParts(chat, form), texts)] as const)
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
    prepared: preparedParts,
    count: countPrompt(chat),
    hash: hashBody(Buffer.from(memory, 0, bodyBytes), chat),
    hasImages: hasImages(chat),
    mediaAddresses: findMediaAddresses(chat),
    violations: findFieldViolations(chat),
    lastUser: stripImages(getLastUserMessage(chat)),
    opening: getConversationOpening(chat),
  }
}

/** Writes the whole body as `JSON.stringify` does, and records the range of each field. */
function writeBody({ body }: ChatRequest, texts: JsonWriter, ranges: Map<string, ByteRange>): void {
  let separator = '{'
  for (const [name, value] of Object.entries(body)) {
    texts.add(`${separator}${JSON.stringify(name)}:`)
    separator = ','
    ranges.set(name, texts.addValue(value, { isReused: name === 'messages' || name === 'tools' }))
  }
  texts.add('}')
}

function writeParts(prepare: () => PreparedParts, texts: JsonWriter): SerializedParts {
  try {
    const { fields, facts, dropped } = prepare()
    return {
      kind: 'parts',
      fields: Object.entries(fields).map(([name, value]) => [name, null, texts.addChanged(value)]),
      facts,
      dropped,
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
  let namedCount = 0
  for (const [name, value] of Object.entries(body)) {
    if (isPassable(name, passRequestFields)) fields.push(toField(name, value))
    else if (!isDroppedSilently(name) && fitsInHeader(name) && namedCount < maxNamesInHeader) {
      namedCount++
      fields.push([name, null, null])
    }
  }
  return fields
}

/** Adds what would be added later to a value that is too long to be parsed again. */
function toSentValue(name: string, value: unknown, isLong: boolean): unknown {
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
  const textPart = {
    type: 'text',
    text: cut(
      parts
        .map(({ text = '' }) => text)
        .join('\n')
        .trim(),
    ),
  }
  const hasImage = parts.some(({ type }) => type === 'image_url')
  return { role, content: hasImage ? [textPart, { type: 'image_url' }] : [textPart] }
}

/** Its users ignore blanks around it. */
function cut(text: string): string {
  return text.length <= maxLastUserLength ? text : text.trim().slice(0, maxLastUserLength + 1)
}

/** Writes values as JSON and returns where they stand. */
class JsonWriter extends ByteWriter {
  /** Of lists and entries that were written before. */
  readonly #ranges = new WeakMap<object, ByteRange>()

  add(text: string): ByteRange {
    const from = this.length
    this.write(text)
    return [from, this.length]
  }

  /**
   * Writes the entries of a list one at a time: the text of a whole conversation is megabytes of garbage. The ranges of entries that are
   * reused are kept.
   */
  addValue(value: unknown, { isReused = false } = {}): ByteRange {
    if (!Array.isArray(value) || value.length < 2) return this.add(JSON.stringify(value))
    const from = this.length
    for (let i = 0; i < value.length; i++) {
      this.write(i === 0 ? '[' : ',')
      const entry: unknown = value[i]
      const range = this.add((JSON.stringify(entry) as string | undefined) ?? 'null')
      if (isReused && typeof entry === 'object' && entry !== null) this.#ranges.set(entry, range)
    }
    this.write(']')
    if (isReused) this.#ranges.set(value, [from, this.length])
    return [from, this.length]
  }

  /** The ranges of a list that has entries of a list written before: only the others are written. */
  addChanged(value: unknown): readonly ByteRange[] {
    const all = this.#find(value)
    if (all !== undefined) return [all]
    if (!Array.isArray(value) || value.length < 2) return [this.addValue(value)]
    const ranges: ByteRange[] = []
    for (const [i, entry] of (value as unknown[]).entries()) {
      const last = ranges.at(-1)
      const range = this.#find(entry)
      // The entry follows the one before it as in the original, with the comma between them.
      if (range !== undefined && last !== undefined && last[1] === range[0] - 1) ranges[ranges.length - 1] = [last[0], range[1]]
      else {
        ranges.push(this.add(i === 0 ? '[' : ','))
        ranges.push(range ?? this.addValue(entry))
      }
      if (ranges.length > maxRanges) return [this.addValue(value)]
    }
    ranges.push(this.add(']'))
    return mergeRanges(ranges)
  }

  #find(value: unknown): ByteRange | undefined {
    return typeof value === 'object' && value !== null ? this.#ranges.get(value) : undefined
  }
}

/** Ranges that touch become one. */
function mergeRanges(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const mergedRanges: ByteRange[] = []
  for (const range of ranges) {
    const last = mergedRanges.at(-1)
    if (last !== undefined && last[1] === range[0]) mergedRanges[mergedRanges.length - 1] = [last[0], range[1]]
    else mergedRanges.push(range)
  }
  return mergedRanges
}
