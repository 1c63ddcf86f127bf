/** SearXNG, an engine of one's own: it finds, and leaves the answering to a model. Needs `formats: [html, json]` in its settings. */
import { isRecord } from '../../../exchange/chat-request.ts'
import type { Backend } from '../backend.ts'
import type { Engine } from '../engine.ts'
import type { Found } from '../found.ts'

export function searxng(
  engine: Engine,
  { address, maxResults }: { readonly address: string; readonly maxResults: number },
): Backend {
  return {
    async find(question) {
      const url = new URL(`${address}/search`)
      url.search = new URLSearchParams({ q: question.query, format: 'json', safesearch: '1' }).toString()
      return foundInSearxng(await engine.ask({ method: 'GET', url, headers: {} }, question), maxResults)
    },
  }
}

function foundInSearxng({ results, unresponsive_engines: silent }: Record<string, unknown>, maxResults: number): Found {
  const items = Array.isArray(results) ? results.filter(isRecord).slice(0, maxResults) : []
  // Its scores have no upper end; the best of them becomes 1.
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
    warnings: Array.isArray(silent) && silent.length > 0 ? ['Some search engines did not answer.'] : [],
  }
}
