/** The published schemas of search input and search results. Fields may be added under the same schema name; other changes need a new one. */
import { z } from 'zod'
import { count } from './fields.ts'

export const maxResults = 20
export const maxCitations = 100

/** Maximum characters per field. */
export const maxLengths = {
  query: 2_000,
  answer: 8_000,
  title: 300,
  snippet: 1_000,
  url: 2_048,
  source: 253,
  warning: 200,
} as const

const index = z.int().min(1)
const url = z.url({ protocol: /^https?$/ }).max(maxLengths.url)
const title = z.string().max(maxLengths.title)

const result = z
  .object({
    index: index.meta({ description: 'Ascending; a missing index belonged to a result that could not be shown.' }),
    title,
    url,
    snippet: z.string().max(maxLengths.snippet),
    published_at: z.string().nullable().meta({ description: 'An RFC 3339 date or date-time.' }),
    source: z.string().max(maxLengths.source).meta({ description: 'Host name, without `www.`.' }),
    score: z.number().min(0).max(1).nullable(),
  })
  .readonly()

const citation = z
  .object({
    index,
    url,
    title,
    start_index: count.optional().meta({ description: 'Position in `answer`, in UTF-16 code units.' }),
    end_index: count.optional(),
  })
  .readonly()

const usage = z
  .object({ prompt_tokens: count, completion_tokens: count, total_tokens: count, search_requests: count.optional() })
  .readonly()

export const searchDocument = z.object({
  schema: z.string().regex(/^[a-z][a-z0-9]*\.search\.v1$/),
  id: z.string().regex(/^srch_[0-9A-Za-z]{16,}$/),
  query: z.string(),
  answer: z.string().max(maxLengths.answer).meta({
    description: 'May be empty: results without a synthesis. Marks `[n]` refer to `results[].index`.',
  }),
  results: z.array(result).max(maxResults),
  citations: z.array(citation).max(maxCitations),
  model: z.string(),
  created: z.int(),
  usage,
  warnings: z.array(z.string().max(maxLengths.warning)).optional(),
})

export type SearchDocument = Readonly<z.output<typeof searchDocument>>
export type SearchResult = z.output<typeof result>
export type Citation = z.output<typeof citation>
export type SearchUsage = z.output<typeof usage>

/** The tool's arguments. The query is trimmed in `checkQuery`, the same for every endpoint. */
export const searchArguments = z.object({
  query: z.string().min(1).max(maxLengths.query).meta({ description: 'What to search the web for, in plain words.' }),
})
