/** Citations of a text block, in both directions. Those of a document have no counterpart in the other APIs. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { toText } from '../shared/read-json.ts'

export function toCitationEvents(citation: unknown): readonly AnswerEvent[] {
  if (!isRecord(citation)) return []
  const address = citation['type'] === 'web_search_result_location' ? citation['url'] : citation['source']
  const hasAddress = typeof address === 'string' && /^https?:/.test(address)
  const title = toText(citation['title'])
  const urlCitation = { url: address, title: title === '' ? address : title, start_index: 0, end_index: 0 }
  const annotation = hasAddress ? { type: 'url_citation', url_citation: urlCitation } : null
  return [{ kind: 'citation', annotation, native: { api: 'messages', value: citation } }]
}

/** Null for a citation that the API has no place for. */
export function toMessageCitation({ annotation, native }: Extract<AnswerEvent, { kind: 'citation' }>): JsonObject | null {
  if (native?.api === 'messages') return native.value
  const inner = annotation?.['url_citation']
  const { url, title } = isRecord(inner) ? inner : (annotation ?? {})
  if (typeof url !== 'string') return null
  const sourceTitle = typeof title === 'string' ? title : url
  return { type: 'web_search_result_location', url, title: sourceTitle, encrypted_index: '', cited_text: '' }
}
