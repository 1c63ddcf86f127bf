/**
 * Marks for the cache as servers of chat completions read them (OpenRouter, LiteLLM, Bedrock proxies): `cache_control` on parts of a content,
 * on a tool's result, on a call and on a tool.
 */
import { breakpointsField } from '../../../exchange/request/anthropic-fields.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toCacheControl } from '../../../exchange/request/form/cache-marks.ts'
import { mapItems } from './map-items.ts'
import { splitAtMarks } from './tool-results.ts'

type Fields = Readonly<Record<string, unknown>>

/** A message with its marks in their public form. */
export function encodeMarks(message: Fields): Fields {
  const { role, content, [breakpointsField]: breakpoints } = message
  const marks = Array.isArray(breakpoints) ? (breakpoints as unknown[]).filter(isRecord) : []
  const cleanMessage = cleanMarks(message)
  if (marks.length === 0) return cleanMessage
  if (role === 'tool') return encodeMark({ ...cleanMessage, cache_control: marks.at(-1)?.['cache_control'] })
  return typeof content === 'string' ? { ...cleanMessage, content: splitAtMarks(content, marks).map(encodeMark) } : cleanMessage
}

/** A part, a call or a tool whose mark has the default lifetime. */
export function encodeItemMarks(item: Fields): Fields {
  const { function: inner } = item
  const encodedFunction = isRecord(inner) ? encodeMark(inner) : inner
  const encodedItem = encodeMark(item)
  return encodedFunction === inner ? encodedItem : { ...encodedItem, function: encodedFunction }
}

function encodeMark(item: Fields): Fields {
  const { cache_control: mark, ...rest } = item
  if (mark === undefined) return item
  const cacheControl = toCacheControl(mark)
  return cacheControl === null ? rest : { ...rest, cache_control: cacheControl }
}

function cleanMarks(message: Fields): Fields {
  const { content, tool_calls: calls } = message
  const cleanMessage = encodeItemMarks(message)
  const parts = Array.isArray(content) ? mapItems(content as unknown[], encodeItemMarks) : content
  const cleanCalls = Array.isArray(calls) ? mapItems(calls as unknown[], encodeItemMarks) : calls
  if (parts === content && cleanCalls === calls) return cleanMessage
  return { ...cleanMessage, content: parts, ...(cleanCalls === undefined ? {} : { tool_calls: cleanCalls }) }
}
