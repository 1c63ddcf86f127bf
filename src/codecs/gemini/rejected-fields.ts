/** Models differ in the settings that they accept, and reject others by name. A turn can do without these. */
import { thinkingConfigField } from '../../exchange/request/gemini-fields.ts'

/** The words of a rejection, and the fields of a chat completion that it comes from. */
const rejections: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bthinking/i, ['reasoning_effort', thinkingConfigField]],
  [/\bpenalty\b/i, ['presence_penalty', 'frequency_penalty']],
  [/\btop_?k\b/i, ['top_k']],
  [/\bseed\b/i, ['seed']],
]

const isRejection =
  /\b(?:not supported|does(?: not|n't) support|unsupported|is not enabled|only works in thinking mode|unknown name|cannot find field)\b/i

export function findRejectedFields(text: string): readonly string[] | null {
  // What is wrong at a place in the conversation is the member's own.
  if (!isRejection.test(text) || /\b(?:contents|system_?instruction)\[?\d?/i.test(text)) return null
  return rejections.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

/** Fields of parts and tools that not every version of the API has. */
export function isNativeRejected(text: string): boolean {
  return /\bunknown name\b[^\n]{0,200}\bat '(?:contents|tools)/i.test(text)
}
