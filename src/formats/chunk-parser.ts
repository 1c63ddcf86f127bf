/**
 * Parses the chunks of a stream, which mostly equal the previous one except for their text: such a chunk reuses the previous object.
 *
 * Gain: an event of a translated stream costs 0.5 µs less of about 1.5. It can be deleted once `JSON.parse` of a chunk costs nothing.
 */
import type { JsonObject } from '../exchange/api-format/api-format.ts'
import { isRecord } from '../exchange/request/chat-request.ts'
import { ownJsonBounds, parseJson } from '../system/parse-json.ts'

interface ChunkTemplate {
  /** The JSON before and after the text, quotes included. */
  readonly prefix: string
  readonly suffix: string
  readonly chunk: JsonObject
  /** The part of the chunk that has the text as `content`. */
  readonly delta: Record<string, unknown>
}

/** JSON writes these characters in another way, so that the text in the JSON is not the value. */
const special = /["\\]/

export class ChunkParser {
  #template: ChunkTemplate | null = null

  /** The chunk between two places of the frames. It is valid until the next call. */
  parse(frames: string, from: number, to: number): JsonObject {
    const template = this.#template
    if (template !== null) {
      const { prefix, suffix, chunk, delta } = template
      const textFrom = from + prefix.length
      const textTo = to - suffix.length
      if (textFrom < textTo && frames.startsWith(prefix, from) && frames.startsWith(suffix, textTo)) {
        const text = frames.slice(textFrom, textTo)
        if (!special.test(text)) {
          delta['content'] = text
          return chunk
        }
      }
    }
    const json = frames.slice(from, to)
    const chunk = parseJson(json, ownJsonBounds) as JsonObject
    this.#template = createTemplate(json, chunk)
    return chunk
  }
}

/** Null if the text is not found where it is expected, in the one choice of the chunk. */
function createTemplate(json: string, chunk: JsonObject): ChunkTemplate | null {
  const { choices } = chunk
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined
  const delta = isRecord(choice) ? choice['delta'] : undefined
  if (!isRecord(delta)) return null
  const { content } = delta
  if (typeof content !== 'string' || content === '' || special.test(content)) return null
  const field = `"content":"${content}"`
  const at = json.indexOf(field)
  // The same words may stand elsewhere.
  if (at === -1 || json.includes(field, at + 1)) return null
  const textAt = at + '"content":"'.length
  return { prefix: json.slice(0, textAt), suffix: json.slice(textAt + content.length), chunk, delta }
}
