/** Reads the items of an answer, and how it ended. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { toText } from '../shared/read-json.ts'

/** The texts of a message's parts of one type. */
export function joinTexts({ content }: JsonObject, type: string, field: string): string {
  if (!Array.isArray(content)) return ''
  return (content as unknown[]).map((part) => (isRecord(part) && part['type'] === type ? toText(part[field]) : '')).join('')
}

/** The summary of a reasoning item; the reasoning itself where a server shows that. */
export function joinSummary({ summary, content }: JsonObject): string {
  const texts = [summary, content].map((parts) =>
    Array.isArray(parts) ? (parts as unknown[]).flatMap((part) => (isRecord(part) ? toText(part['text']) : [])) : [],
  )
  return (texts.find((each) => each.length > 0) ?? []).join('\n\n')
}

/** A reasoning item as a later request returns it; null without encrypted content, because such an item would be rejected. */
export function readReasoningItem({ summary, encrypted_content: content }: JsonObject): JsonObject | null {
  if (typeof content !== 'string' || content === '') return null
  return { type: 'reasoning', summary: Array.isArray(summary) ? summary : [], encrypted_content: content }
}

export function toFinishReason(
  { status, incomplete_details: details }: JsonObject,
  { hasCalls }: { readonly hasCalls: boolean },
): string {
  const reason = isRecord(details) ? details['reason'] : undefined
  if (reason === 'content_filter') return 'content_filter'
  if (status === 'incomplete' || reason === 'max_output_tokens') return 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** The log probabilities of a message's parts. */
export function joinLogprobs({ content }: JsonObject): readonly unknown[] {
  return Array.isArray(content) ? content.filter(isRecord).flatMap((part) => part['logprobs'] ?? []) : []
}

/** Nothing without any. A chat completion's have the bytes of each token. */
export function toLogprobs(list: unknown): { readonly logprobs?: JsonObject } {
  if (!Array.isArray(list) || list.length === 0) return {}
  const content = (list as unknown[]).map((entry) => (isRecord(entry) ? { bytes: null, ...entry } : entry))
  return { logprobs: { content, refusal: null } }
}

/** The sources that a message's parts name. */
export function readAnnotations({ content }: JsonObject): readonly unknown[] {
  return Array.isArray(content) ? content.filter(isRecord).flatMap((part) => part['annotations'] ?? []) : []
}

/** @param textStart where the message begins in the text of a chat completion */
export function toCitationEvent(annotation: JsonObject, textStart: number): AnswerEvent {
  const { type, url, title, start_index: start, end_index: end } = annotation
  const place = (at: unknown): number => (typeof at === 'number' ? at + textStart : 0)
  const inner = { url, title: title ?? url, start_index: place(start), end_index: place(end) }
  const isAddress = type === 'url_citation' && typeof url === 'string'
  return {
    kind: 'citation',
    annotation: isAddress ? { type, url_citation: inner } : null,
    native: { api: 'responses', value: annotation },
  }
}

/** The picture of an `image_generation_call`. */
export function toPictureEvents({ result, output_format: format }: JsonObject): readonly AnswerEvent[] {
  if (typeof result !== 'string' || result === '') return []
  return [{ kind: 'image', url: `data:image/${toText(format) || 'png'};base64,${result}` }]
}

/** The error of a failed answer. */
export function toStreamError(response: unknown): unknown {
  const error = isRecord(response) ? response['error'] : undefined
  return isRecord(error) ? error : { code: 'server_error', message: 'The answer failed.' }
}
