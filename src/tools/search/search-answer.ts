/** A search result as a chat answer: the document's JSON is the content, with citations beside it as OpenAI's clients expect. */
import type { CallResult, Exchange, Slots } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import { createCompletionResult } from '../../exchange/completion-result.ts'
import { privateJsonHeaders } from '../../exchange/response-headers.ts'
import type { SearchOutcome, SearchService } from './search-service.ts'

export async function answerChatSearch(
  search: SearchService,
  x: Exchange & Partial<Slots>,
  callContext: CallContext,
): Promise<CallResult> {
  const { document, usage }: SearchOutcome = await search.search(x, callContext)
  const content = JSON.stringify(document)
  const toContentOffset = createOffsetMapper(content, document.answer)
  const annotations = document.citations.map(({ url, title, start_index: start, end_index: end }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: toContentOffset(start), end_index: toContentOffset(end) },
  }))
  return createCompletionResult({ content, annotations }, { x, callContext, usage })
}

/** Maps offsets in the document's answer to offsets in the content, which is the document's JSON. 0 is no position. */
function createOffsetMapper(content: string, answer: string): (offset: number | undefined) => number {
  const field = '"answer":"'
  // Inside a text, quotes would be escaped, so the first match is the field.
  const begin = content.indexOf(field) + field.length
  return (offset) => (offset === undefined ? 0 : begin + JSON.stringify(answer.slice(0, offset)).length - 2)
}

/** The document as the answer. */
export function toSearchAnswer({ document, usage }: SearchOutcome): CallResult {
  return { usage, final: { kind: 'reply', reply: { status: 200, headers: privateJsonHeaders, body: JSON.stringify(document) } } }
}
