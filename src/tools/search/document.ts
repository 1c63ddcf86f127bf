/** From what a backend found to the document that leaves: cleaned, capped, counted. */
import type { Found, FoundCitation, FoundResult } from './found.ts'
import { cleanDate, cleanScore, cleanText, cleanUrl, sourceOf } from './clean.ts'
import { Places } from './places.ts'
import type { Citation, SearchDocument, SearchResult, SearchUsage } from '../../api/search-document.ts'
import { longest, mostCitations, mostResults } from '../../api/search-document.ts'

export interface DocumentOptions {
  readonly schema: string
  readonly id: string
  readonly query: string
  readonly model: string
  /** Unix seconds. */
  readonly created: number
  readonly usage: SearchUsage
}

export function toDocument(found: Found, options: DocumentOptions): SearchDocument {
  const { schema, id, query, model, created, usage } = options
  const { results, at } = toResults(found.results)
  const raw = found.answer ?? ''
  const answer = cleanText(raw, longest.answer, 'lines')
  const citations =
    found.citations === null
      ? marksIn(answer, at)
      : toCitations(found.citations, results, new Places(raw, answer, found.citations))
  const warnings = [...found.warnings, ...(results.length === 0 ? ['No source was named for this search.'] : [])]
  return {
    schema,
    id,
    query: cleanText(query, query.length, 'lines'),
    answer,
    results,
    citations,
    model,
    created,
    usage,
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}

/**
 * `at` finds a result by the number it had when it was found. Numbers are kept when results are dropped, because the answer's marks count
 * by them; a second result of an address stands for the first.
 */
export function toResults(found: readonly FoundResult[]): {
  results: SearchResult[]
  at: ReadonlyMap<number, SearchResult>
} {
  const results: SearchResult[] = []
  const at = new Map<number, SearchResult>()
  const byUrl = new Map<string, SearchResult>()
  for (const [position, item] of found.entries()) {
    if (results.length === mostResults) break
    const url = cleanUrl(item.url, longest.url)
    if (url === null) continue
    const index = position + 1
    let result = byUrl.get(url)
    if (result === undefined) {
      const source = sourceOf(url)
      result = {
        index,
        title: cleanText(item.title, longest.title) || source,
        url,
        snippet: cleanText(item.snippet, longest.snippet),
        published_at: cleanDate(item.published),
        source,
        score: cleanScore(item.score),
      }
      byUrl.set(url, result)
      results.push(result)
    }
    at.set(index, result)
  }
  return { results, at }
}

/** `[3]`, and `[1][4]`, and `[1, 4]`. */
function marksIn(answer: string, at: ReadonlyMap<number, SearchResult>): Citation[] {
  const citations: Citation[] = []
  for (const mark of answer.matchAll(/\[(\d{1,2}(?:\s?,\s?\d{1,2}){0,9})\](?!\()/g)) {
    for (const number of (mark[1] ?? '').split(',')) {
      const result = at.get(Number(number))
      if (result === undefined || citations.length === mostCitations) continue
      const { index, url, title } = result
      citations.push({ index, url, title, start_index: mark.index, end_index: mark.index + mark[0].length })
    }
  }
  return citations
}

function toCitations(found: readonly FoundCitation[], results: readonly SearchResult[], places: Places): Citation[] {
  return found.slice(0, mostCitations).flatMap((cited) => {
    const url = cleanUrl(cited.url, longest.url)
    const result = results.find((result) => result.url === url)
    if (result === undefined) return []
    const title = cleanText(cited.title, longest.title) || result.title
    return [{ index: result.index, url: result.url, title, ...places.of(cited) }]
  })
}
