/** Brave Search: it finds, and leaves the answering to a model. */
import { isRecord } from '../../../exchange/chat-request.ts'
import type { Backend } from '../backend.ts'
import type { Engine } from '../engine.ts'
import type { Found } from '../found.ts'

export interface BraveOptions {
  readonly endpoint: string | null
  readonly apiKey: string
  readonly maxResults: number
}

/** It refuses longer questions. */
const mostWords = 50
const mostCharacters = 400

export function brave(engine: Engine, { endpoint, apiKey, maxResults }: BraveOptions): Backend {
  const base = `${endpoint ?? 'https://api.search.brave.com/res/v1'}/web/search`
  return {
    async find(question) {
      const url = new URL(base)
      url.search = new URLSearchParams({
        q: shortened(question.query),
        count: String(maxResults),
        text_decorations: 'false',
        safesearch: 'moderate',
      }).toString()
      const headers = { 'x-subscription-token': apiKey, accept: 'application/json' }
      return foundInBrave(await engine.ask({ method: 'GET', url, headers }, question), maxResults)
    },
  }
}

function shortened(query: string): string {
  const words = query.split(/\s+/).slice(0, mostWords).join(' ')
  return words.slice(0, mostCharacters).replace(/[\ud800-\udbff]$/, '')
}

function foundInBrave({ web }: Record<string, unknown>, maxResults: number): Found {
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
