/** A search as a chat answers it: the document's JSON is the content, and its citations stand beside it as OpenAI's clients expect. */
import type { Answer, Exchange, Slots } from '../exchange/exchange.ts'
import type { Wire } from '../exchange/run.ts'
import { completionAnswer } from '../exchange/completion-answer.ts'
import type { Finding, Search } from './search.ts'

export async function chatSearch(search: Search, x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> {
  const { document, usage }: Finding = await search.find(x, wire)
  const annotations = document.citations.map(({ url, title, start_index: start = 0, end_index: end = 0 }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: start, end_index: end },
  }))
  return completionAnswer({ content: JSON.stringify(document), extras: { annotations } }, { x, wire, usage })
}

/** The document itself. */
export function documentAnswer({ document, usage }: Finding): Answer {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'private, no-store' }
  return { usage, last: { kind: 'reply', reply: { status: 200, headers, body: JSON.stringify(document) } } }
}
