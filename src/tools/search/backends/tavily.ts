/** Tavily: it finds, and answers where it can. */
import { isRecord } from '../../../exchange/chat-request.ts'
import type { Backend } from '../backend.ts'
import type { Engine } from '../engine.ts'
import type { Found } from '../found.ts'

export interface TavilyOptions {
  readonly endpoint: string | null
  readonly apiKey: string
  readonly maxResults: number
}

export function tavily(engine: Engine, { endpoint, apiKey, maxResults }: TavilyOptions): Backend {
  const url = new URL(`${endpoint ?? 'https://api.tavily.com'}/search`)
  return {
    async find(question) {
      const body = JSON.stringify({ query: question.query, max_results: maxResults, include_answer: true, search_depth: 'basic' })
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
      return foundInTavily(await engine.ask({ method: 'POST', url, headers, body, refusals }, question), maxResults)
    },
  }
}

/** Two statuses of its own mean that the operator's plan or allowance is used up. */
const refusals: ReadonlyMap<number, string> = new Map([
  [432, 'payment_required'],
  [433, 'payment_required'],
])

function foundInTavily({ answer, results }: Record<string, unknown>, maxResults: number): Found {
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
