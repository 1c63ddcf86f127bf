/** The items of an answer and its end, as parts of a chat completion. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { toText } from '../chunk-builder.ts'
import type { JsonFields } from '../upstream-format.ts'

/** The texts of a message's parts of one type. */
export function joinTexts({ content }: JsonFields, type: string, field: string): string {
  if (!Array.isArray(content)) return ''
  return (content as unknown[]).map((part) => (isRecord(part) && part['type'] === type ? toText(part[field]) : '')).join('')
}

/** The summary of a reasoning item; the reasoning itself where a server shows that. */
export function joinSummary({ summary, content }: JsonFields): string {
  const texts = [summary, content].map((parts) =>
    Array.isArray(parts) ? (parts as unknown[]).flatMap((part) => (isRecord(part) ? toText(part['text']) : [])) : [],
  )
  return (texts.find((each) => each.length > 0) ?? []).join('\n\n')
}

/** A reasoning item as a later request returns it; null without encrypted content, because such an item would be rejected. */
export function readReasoningItem({ summary, encrypted_content: content }: JsonFields): JsonFields | null {
  if (typeof content !== 'string' || content === '') return null
  return { type: 'reasoning', summary: Array.isArray(summary) ? summary : [], encrypted_content: content }
}

/** The call of a chat completion; null for an item that is none. `isStart`: without arguments, which follow in pieces. */
export function toChatCall(
  { type, id: itemId, call_id: callId, name, arguments: args, input, status }: JsonFields,
  { customAsFunction, isStart = false }: { readonly customAsFunction: boolean; readonly isStart?: boolean },
): JsonFields | null {
  const id = callId ?? itemId
  if (type === 'function_call')
    return { id, type: 'function', function: { name, arguments: isStart ? '' : toText(args) || '{}' } }
  if (type !== 'custom_tool_call') return null
  if (!customAsFunction) return { id, type: 'custom', custom: { name, input: isStart ? '' : toText(input) } }
  const json = JSON.stringify({ input: toText(input) })
  // A text that was cut stays open, so that no client takes it for the whole.
  const text = isStart ? '' : status === 'incomplete' ? json.slice(0, -'"}'.length) : json
  return { id, type: 'function', function: { name, arguments: text } }
}

export function toFinishReason(
  { status, incomplete_details: details }: JsonFields,
  { hasCalls }: { readonly hasCalls: boolean },
): string {
  const reason = isRecord(details) ? details['reason'] : undefined
  if (reason === 'content_filter') return 'content_filter'
  if (status === 'incomplete' || reason === 'max_output_tokens') return 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** Null without any. A chat completion's have the bytes of each token. */
export function toLogprobs(list: unknown): JsonFields | null {
  if (!Array.isArray(list) || list.length === 0) return null
  return { content: (list as unknown[]).map((entry) => (isRecord(entry) ? { bytes: null, ...entry } : entry)), refusal: null }
}

/** The error of a failed answer. */
export function toStreamError(response: unknown): unknown {
  const error = isRecord(response) ? response['error'] : undefined
  return isRecord(error) ? error : { code: 'server_error', message: 'The answer failed.' }
}
