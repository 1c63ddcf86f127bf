/** Tavily: returns results, and an answer if it can. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { SearchEngineClient } from '../engine-client.ts'
import type { RawResult, SearchBackend, SearchSettings } from '../raw-result.ts'

export function createTavilyBackend(engine: SearchEngineClient, { endpoint, apiKey, maxResults }: SearchSettings): SearchBackend {
  const url = new URL(`${endpoint ?? 'https://api.tavily.com'}/search`)
  return {
    async search(context) {
      const body = JSON.stringify({ query: context.query, max_results: maxResults, include_answer: true, search_depth: 'basic' })
      const headers = { authorization: `Bearer ${apiKey ?? ''}`, 'content-type': 'application/json' }
      return parseTavilyResult(await engine.request({ method: 'POST', url, headers, body, errorNames }, context), maxResults)
    },
  }
}

/** Two statuses of its own mean that the operator's plan or quota is used up. */
const errorNames: ReadonlyMap<number, string> = new Map([
  [432, 'payment_required'],
  [433, 'payment_required'],
])

function parseTavilyResult({ answer, results }: Record<string, unknown>, maxResults: number): RawResult {
  return {
    answer: typeof answer === 'string' && answer.trim() !== '' ? answer : null,
    results: (Array.isArray(results) ? results.filter(isRecord).slice(0, maxResults) : []).map((item) => ({
      url: item['url'],
      title: item['title'],
      snippet: item['content'],
      published: item['published_date'] ?? item['publishedDate'],
      score: item['score'],
    })),
    citations: null,
    usage: null,
    searches: 1,
    warnings: [],
  }
}
