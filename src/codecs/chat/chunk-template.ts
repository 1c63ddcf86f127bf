/** Skips JSON.parse for stream chunks that equal the previous one except for one string value. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { findStringEnd, parseJson } from '../../system/parse-json.ts'

type Fields = Record<string, unknown>

/** Fields of a delta that hold text. */
const textFields = ['content', 'reasoning_content', 'reasoning'] as const
export type TextField = (typeof textFields)[number]

/** Longer chunks are rare, and searching them for the end of the text would cost more than it saves. */
const maxTemplateLength = 16_384

/**
 * Replaces the text while a template is learned. Upstreams do not send it: its characters are for private use. They are Latin-1, because V8
 * uses two bytes per character for a string that holds any other character, and for all strings made from it.
 */
const placeholder = '\u0091\u0092\u0091'

/** The JSON text up to and including the text's opening quote, and from its closing quote on. */
interface ChunkTemplate {
  readonly prefix: string
  readonly suffix: string
}

export interface LearnedTemplate extends ChunkTemplate {
  /** The choice and the field that hold the text. */
  readonly index: number
  readonly field: TextField
  /** The chunk with `placeholder` as its text. */
  readonly probe: { readonly chunk: Record<string, unknown>; readonly placeholder: string }
}

/** Receives the chunks that match a template. */
export interface TemplateSink {
  /** Prepares for chunks that equal the one just consumed except for their text. Returns false if this sink cannot take them. */
  acceptTemplate(template: LearnedTemplate): boolean
  /** A chunk that matches the accepted template. `escaped` is the JSON text of `value` without its quotes. Returns the frames to forward. */
  consumeTemplated(value: string, escaped: string): string
}

/** After so many templates in a row that matched nothing, a stream is no longer examined. */
const maxMisses = 4

/**
 * Skips JSON.parse and the field filter for a stream chunk that equals the previous one except for one string value. It is correct because a
 * probe value is parsed once to prove the position. Gain: 63 → 31 µs and 81 → 35 µs for a stream of 20 events, about 12 % of a streamed turn.
 * It can be deleted once that no longer matters: without `match` each chunk takes the ordinary path.
 */
export class ChunkTemplateMatcher {
  #template: ChunkTemplate | null = null
  #misses = 0

  /** The text of a chunk that equals the previous one in all else; null for any other chunk. */
  match(text: string): { readonly value: string; readonly escaped: string } | null {
    if (this.#template === null) return null
    const escapedValue = matchTemplate(text, this.#template)
    const value = escapedValue === null ? null : decodeJsonString(escapedValue)
    if (escapedValue === null || value === null) return null
    this.#misses = 0
    return { value, escaped: escapedValue }
  }

  /** Takes the ordinary path for the next chunk. */
  forget(): void {
    this.#template = null
  }

  /**
   * Learns from a chunk that took the ordinary path, as the upstream sent it, and that reports no usage. Only the previous chunk counts: a chunk in between may have changed
   * the sink's state.
   * @param repair what the sink receives of a chunk
   */
  learn(chunk: Fields, text: string, sink: TemplateSink, repair: (chunk: Fields) => Fields): void {
    this.#template = null
    if (this.#misses >= maxMisses) return
    const template = learnTemplate(chunk, text)
    if (template === null) return
    const { probe, ...around } = template
    if (!sink.acceptTemplate({ ...around, probe: { ...probe, chunk: repair(probe.chunk) } })) return
    this.#misses++
    this.#template = { prefix: template.prefix, suffix: template.suffix }
  }
}

/** The template of the chunks that equal this one; null if chunks like it may differ in more than one text. */
export function learnTemplate(chunk: Record<string, unknown>, text: string): LearnedTemplate | null {
  if (text.length > maxTemplateLength) return null
  const original = findOnlyText(chunk)
  if (original === null) return null
  const name = `"${original.field}":`
  const at = text.indexOf(name)
  if (at === -1 || text.includes(name, at + name.length)) return null
  const from = text.indexOf('"', at + name.length) + 1
  const to = findStringEnd(text, from)
  const [prefix, suffix] = [text.slice(0, from), text.slice(to)]
  const probe = parseRecord(prefix + placeholder + suffix)
  const reparsedText = probe === null ? null : findOnlyText(probe)
  // The placeholder comes out where the text was, which proves its position whatever else the chunk holds.
  if (probe === null || reparsedText?.value !== placeholder || reparsedText.field !== original.field) return null
  return { index: original.index, field: original.field, prefix, suffix, probe: { chunk: probe, placeholder } }
}

/** The escaped text of a chunk that matches the template; null for any other chunk. */
export function matchTemplate(text: string, { prefix, suffix }: ChunkTemplate): string | null {
  const [from, to] = [prefix.length, text.length - suffix.length]
  // V8 compares equal strings word by word, but `startsWith` character by character, which takes six times as long.
  return from <= to && text.slice(0, from) === prefix && text.slice(to) === suffix ? text.slice(from, to) : null
}

/** Decodes a JSON string from its text between the quotes; null if that is not valid. */
export function decodeJsonString(jsonText: string): string | null {
  if (plainStringPattern.test(jsonText)) return jsonText
  try {
    return parseJson(`"${jsonText}"`) as string
  } catch {
    return null
  }
}

// oxlint-disable-next-line no-control-regex -- JSON forbids them in strings
const plainStringPattern = /^[^"\\\u0000-\u001F]*$/

/** The text of a chunk that holds nothing else: one choice, not its last chunk, and no other field that would be merged. */
function findOnlyText(
  chunk: Record<string, unknown>,
): { readonly index: number; readonly field: TextField; readonly value: string } | null {
  const { choices } = chunk
  if (!Array.isArray(choices) || choices.length !== 1) return null
  const [choice] = choices as unknown[]
  if (!isRecord(choice) || !isRecord(choice['delta'])) return null
  const { delta, index = 0, finish_reason: finish, logprobs = null, message } = choice
  if (typeof index !== 'number' || (finish !== null && finish !== undefined && finish !== '')) return null
  if (logprobs !== null || message !== undefined) return null
  let foundField: TextField | null = null
  for (const name in delta) {
    const value = delta[name]
    if (value === null || value === '' || name === 'role') continue
    const field = textFields.find((each) => each === name)
    if (field === undefined || typeof value !== 'string' || foundField !== null) return null
    foundField = field
  }
  return foundField === null ? null : { index, field: foundField, value: delta[foundField] as string }
}

function parseRecord(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = parseJson(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
