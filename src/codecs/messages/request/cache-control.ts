/** Marks up to which a prompt is cached. */
import { breakpointsField } from '../../../exchange/request/anthropic-fields.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toCacheControl } from '../../../exchange/request/form/cache-marks.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'

/** The text in blocks that end at its breakpoints. Blocks without visible characters are rejected. */
export function toTextBlocks(text: string, message: JsonFields): JsonFields[] {
  const blocks: JsonFields[] = []
  let from = 0
  // Blank text up to here belongs to the next block; it is looked at once, however many breakpoints are in it.
  let blankTo = 0
  for (const [end, cacheControl] of readBreakpoints(message, text.length)) {
    if (end <= blankTo) continue
    const isBlank = text.slice(blankTo, end).trim() === ''
    blankTo = end
    if (isBlank) continue
    blocks.push({ type: 'text', text: text.slice(from, end), cache_control: cacheControl })
    from = end
  }
  const rest = toTextBlock(text.slice(from), null)
  return rest === null ? blocks : [...blocks, rest]
}

export function toTextBlock(text: string, cacheControl: JsonFields | null): JsonFields | null {
  if (text.trim() === '') return null
  return { type: 'text', text, ...(cacheControl === null ? {} : { cache_control: cacheControl }) }
}

/** The mark on a message as a whole: its last breakpoint. */
export function findLastMark(message: JsonFields): JsonFields | null {
  return readBreakpoints(message, Number.MAX_SAFE_INTEGER).at(-1)?.[1] ?? null
}

/** Those of a client of the Messages API, or the one that a chat client has put on the message. */
function readBreakpoints(
  { [breakpointsField]: list, cache_control: own }: JsonFields,
  length: number,
): (readonly [number, JsonFields])[] {
  const mark = toCacheControl(own)
  if (!Array.isArray(list)) return mark === null ? [] : [[length, mark]]
  return (list as unknown[]).flatMap((item) => {
    if (!isRecord(item) || typeof item['end'] !== 'number' || !Number.isSafeInteger(item['end'])) return []
    const cacheControl = toCacheControl(item['cache_control'])
    return cacheControl === null || item['end'] < 0 ? [] : [[Math.min(item['end'], length), cacheControl] as const]
  })
}
