/** The blocks of a hosted search, and the citations of the texts behind it. */
import type { HostedSearchStep, SearchFault, SearchSource } from '../../conversation/answer-event.ts'
import { findCitations } from '../shared/find-citations.ts'
import { caller } from './message-fields.ts'

type SearchStart = Extract<HostedSearchStep, { phase: 'start' }>
type SearchEnd = Extract<HostedSearchStep, { phase: 'end' }>

function toSearchId(requestId: string, { position }: HostedSearchStep): string {
  return `srvtoolu_${requestId.replace(/^[a-z]+_/, '')}_${position}`
}

export function toSearchUseBlock(step: SearchStart, requestId: string, input: object): Record<string, unknown> {
  return { type: 'server_tool_use', id: toSearchId(requestId, step), name: 'web_search', input, caller }
}

const errorCodes: Readonly<Record<SearchFault, string>> = {
  invalid_query: 'invalid_tool_input',
  too_many_searches: 'max_uses_exceeded',
  quota: 'too_many_requests',
  unavailable: 'unavailable',
}

/** The text of a result is sealed, as the client only returns it. */
export function toSearchResultBlock(step: SearchEnd, requestId: string, seal: (text: string) => string): Record<string, unknown> {
  const { sources, fault } = step
  const content =
    sources === null
      ? { type: 'web_search_tool_result_error', error_code: errorCodes[fault ?? 'unavailable'] }
      : sources.map(({ url, title, snippet, publishedAt }) => ({
          type: 'web_search_result',
          url,
          title,
          encrypted_content: seal(snippet),
          page_age: publishedAt,
        }))
  return { type: 'web_search_tool_result', tool_use_id: toSearchId(requestId, step), content, caller }
}

/** The API quotes up to this many characters. */
const maxQuoteChars = 150

/** One citation for each source that the text names. */
export function toCitations(text: string, sources: readonly SearchSource[]): readonly object[] {
  const citedSources = new Set(findCitations(text, sources).map(({ source }) => source))
  return [...citedSources].map(({ url, title, snippet, number }) => ({
    type: 'web_search_result_location',
    url,
    title,
    encrypted_index: String(number),
    cited_text: [...snippet].slice(0, maxQuoteChars).join(''),
  }))
}
