/** SearXNG, a self-hosted engine: returns results; a model writes the answer. Needs `formats: [html, json]` in its settings. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { SearchEngineClient } from '../engine-client.ts'
import type { RawResult, SearchBackend, SearchSettings } from '../raw-result.ts'

export function createSearxngBackend(engine: SearchEngineClient, { searxngUrl, maxResults }: SearchSettings): SearchBackend {
  return {
    async search(context) {
      const url = new URL(`${searxngUrl ?? ''}/search`)
      url.search = new URLSearchParams({ q: context.query, format: 'json', safesearch: '1' }).toString()
      return parseSearxngResult(await engine.request({ method: 'GET', url, headers: {} }, context), maxResults)
    },
  }
}

function parseSearxngResult(
  { results, unresponsive_engines: unresponsive }: Record<string, unknown>,
  maxResults: number,
): RawResult {
  const items = Array.isArray(results) ? results.filter(isRecord).slice(0, maxResults) : []
  // Its scores have no upper bound; they are scaled so that the best becomes 1.
  const best = Math.max(0, ...items.map(({ score }) => (typeof score === 'number' && Number.isFinite(score) ? score : 0)))
  return {
    answer: null,
    results: items.map(({ url, title, content, publishedDate, score }) => ({
      url,
      title,
      snippet: content,
      published: publishedDate,
      score: typeof score === 'number' && best > 0 ? Math.round((score / best) * 1000) / 1000 : null,
    })),
    citations: null,
    usage: null,
    searches: 1,
    warnings: Array.isArray(unresponsive) && unresponsive.length > 0 ? ['Some search engines did not answer.'] : [],
  }
}
