/** A search as a chat answers it: the document's JSON is the content, and its citations stand beside it as OpenAI's clients expect. */
import type { Answer, Exchange, Slots } from '../../exchange/exchange.ts'
import type { Wire } from '../../exchange/run.ts'
import { completionAnswer } from '../../exchange/completion-answer.ts'
import { privateJsonHeaders } from '../../exchange/headers.ts'
import type { Finding, Search } from './search.ts'

export async function chatSearch(search: Search, x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> {
  const { document, usage }: Finding = await search.find(x, wire)
  const content = JSON.stringify(document)
  const place = placesInContent(content, document.answer)
  const annotations = document.citations.map(({ url, title, start_index: start, end_index: end }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: place(start), end_index: place(end) },
  }))
  return completionAnswer({ content, extras: { annotations } }, { x, wire, usage })
}

/** The document counts in its answer; a client counts in the content that it got, which is the whole document's JSON. 0 is nowhere. */
function placesInContent(content: string, answer: string): (place: number | undefined) => number {
  const field = '"answer":"'
  // Inside of a text the quotes would have their backslashes, so the first of these is the field.
  const begin = content.indexOf(field) + field.length
  return (place) => (place === undefined ? 0 : begin + JSON.stringify(answer.slice(0, place)).length - 2)
}

/** The document itself. */
export function foundAnswer({ document, usage }: Finding): Answer {
  return { usage, last: { kind: 'reply', reply: { status: 200, headers: privateJsonHeaders, body: JSON.stringify(document) } } }
}
