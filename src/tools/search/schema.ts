/** The published shape of a search's answer, and of the question. Additions are allowed under the same name; anything else needs a new one. */
import type { Names } from '../../config/brand.ts'
import { longestQuery } from './query.ts'

export interface SearchDocument {
  readonly schema: string
  readonly id: string
  readonly query: string
  /** May be empty: results without a synthesis. Marks `[n]` refer to `results[].index`. */
  readonly answer: string
  readonly results: readonly SearchResult[]
  readonly citations: readonly Citation[]
  /** The product's id. */
  readonly model: string
  /** Unix seconds. */
  readonly created: number
  readonly usage: SearchUsage
  readonly warnings?: readonly string[]
}

export interface SearchResult {
  /** From 1. Indexes keep their order; one that is missing was no result that could be shown. */
  readonly index: number
  readonly title: string
  readonly url: string
  readonly snippet: string
  /** A date or date-time of RFC 3339. */
  readonly published_at: string | null
  /** Host name, without `www.`. */
  readonly source: string
  /** From 0 to 1. */
  readonly score: number | null
}

export interface Citation {
  readonly index: number
  readonly url: string
  readonly title: string
  /** Where in `answer` it stands, in UTF-16 code units. */
  readonly start_index?: number
  readonly end_index?: number
}

export interface SearchUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly search_requests?: number
}

export const mostResults = 20
export const mostCitations = 100

/** Characters that a field has at most. */
export const longest = { answer: 8_000, title: 300, snippet: 1_000, url: 2_048, source: 253, warning: 200 } as const

/** JSON Schema 2020-12, without an `$id`: validators keep schemas by it, and two of a name would quarrel. */
export function documentSchema({ searchSchema }: Pick<Names, 'searchSchema'>, model: string) {
  const index = { type: 'integer', minimum: 1 }
  const url = { type: 'string', format: 'uri', pattern: '^https?://', maxLength: longest.url }
  const title = { type: 'string', maxLength: longest.title }
  const count = { type: 'integer', minimum: 0 }
  return {
    title: searchSchema,
    type: 'object',
    required: ['schema', 'id', 'query', 'answer', 'results', 'citations', 'model', 'created', 'usage'],
    properties: {
      schema: { const: searchSchema },
      id: { type: 'string', pattern: '^srch_[0-9A-Za-z]{16,}$' },
      query: { type: 'string' },
      answer: { type: 'string', maxLength: longest.answer },
      results: {
        type: 'array',
        maxItems: mostResults,
        items: {
          type: 'object',
          required: ['index', 'title', 'url', 'snippet', 'published_at', 'source', 'score'],
          properties: {
            index,
            title,
            url,
            snippet: { type: 'string', maxLength: longest.snippet },
            published_at: { type: ['string', 'null'] },
            source: { type: 'string', maxLength: longest.source },
            score: { type: ['number', 'null'], minimum: 0, maximum: 1 },
          },
        },
      },
      citations: {
        type: 'array',
        maxItems: mostCitations,
        items: {
          type: 'object',
          required: ['index', 'url', 'title'],
          properties: { index, url, title, start_index: count, end_index: count },
        },
      },
      model: { const: model },
      created: { type: 'integer' },
      usage: {
        type: 'object',
        required: ['prompt_tokens', 'completion_tokens', 'total_tokens'],
        properties: { prompt_tokens: count, completion_tokens: count, total_tokens: count, search_requests: count },
      },
      warnings: { type: 'array', items: { type: 'string', maxLength: longest.warning } },
    },
  } as const
}

export const argumentsSchema = {
  type: 'object',
  required: ['query'],
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: longestQuery,
      description: 'What to search the web for, in plain words.',
    },
  },
} as const
