/** Brave Search: returns results; a model writes the answer. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { SearchEngineClient } from '../engine-client.ts'
import type { RawResult, SearchBackend, SearchSettings } from '../raw-result.ts'

/** Brave refuses longer queries. */
const maxQueryWords = 50
const maxQueryChars = 400

export function createBraveBackend(engine: SearchEngineClient, { endpoint, apiKey, maxResults }: SearchSettings): SearchBackend {
  const base = `${endpoint ?? 'https://api.search.brave.com/res/v1'}/web/search`
  return {
    async search(context) {
      const url = new URL(base)
      url.search = new URLSearchParams({
        q: truncateQuery(context.query),
        count: String(maxResults),
        text_decorations: 'false',
        safesearch: 'moderate',
      }).toString()
      const headers = { 'x-subscription-token': apiKey ?? '', accept: 'application/json' }
      return parseBraveResult(await engine.request({ method: 'GET', url, headers }, context), maxResults)
    },
  }
}

function truncateQuery(query: string): string {
  const words = query.split(/\s+/).slice(0, maxQueryWords).join(' ')
  return words.slice(0, maxQueryChars).replace(/[\ud800-\udbff]$/, '')
}

function parseBraveResult({ web }: Record<string, unknown>, maxResults: number): RawResult {
  const results = isRecord(web) && Array.isArray(web['results']) ? web['results'].filter(isRecord) : []
  return {
    answer: null,
    results: results.slice(0, maxResults).map((item) => ({
      url: item['url'],
      title: item['title'],
      snippet: item['description'],
      published: item['page_age'],
      score: null,
    })),
    citations: null,
    usage: null,
    searches: 1,
    warnings: [],
  }
}
