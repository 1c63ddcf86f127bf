/** The published shape of a search's answer, and of the question. Additions are allowed under the same name; anything else needs a new one. */
import { z } from 'zod'
import { count } from './fields.ts'

export const mostResults = 20
export const mostCitations = 100

/** Characters that a field has at most. */
export const longest = { query: 2_000, answer: 8_000, title: 300, snippet: 1_000, url: 2_048, source: 253, warning: 200 } as const

const index = z.int().min(1)
const url = z.url({ protocol: /^https?$/ }).max(longest.url)
const title = z.string().max(longest.title)

const result = z
  .object({
    index: index.meta({ description: 'Indexes keep their order; one that is missing was no result that could be shown.' }),
    title,
    url,
    snippet: z.string().max(longest.snippet),
    published_at: z.string().nullable().meta({ description: 'A date or date-time of RFC 3339.' }),
    source: z.string().max(longest.source).meta({ description: 'Host name, without `www.`.' }),
    score: z.number().min(0).max(1).nullable(),
  })
  .readonly()

const citation = z
  .object({
    index,
    url,
    title,
    start_index: count.optional().meta({ description: 'Where in `answer` it stands, in UTF-16 code units.' }),
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
  answer: z.string().max(longest.answer).meta({
    description: 'May be empty: results without a synthesis. Marks `[n]` refer to `results[].index`.',
  }),
  results: z.array(result).max(mostResults),
  citations: z.array(citation).max(mostCitations),
  model: z.string(),
  created: z.int(),
  usage,
  warnings: z.array(z.string().max(longest.warning)).optional(),
})

export type SearchDocument = Readonly<z.output<typeof searchDocument>>
export type SearchResult = z.output<typeof result>
export type Citation = z.output<typeof citation>
export type SearchUsage = z.output<typeof usage>

/** Of the tool. The query is trimmed where it is read (`checkQuery`), the same for every door. */
export const searchArguments = z.object({
  query: z.string().min(1).max(longest.query).meta({ description: 'What to search the web for, in plain words.' }),
})
