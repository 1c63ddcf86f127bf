/** Converts a backend's results to the published document: sanitised, bounded, numbered. */
import type { RawResult, RawCitation, RawHit } from './raw-result.ts'
import { sanitizeDate, sanitizeScore, sanitizeText, sanitizeUrl, getSourceHost } from './sanitize.ts'
import { CitationOffsets } from './citation-offsets.ts'
import type { Citation, SearchDocument, SearchResult, SearchUsage } from '../../api/search-document.ts'
import { maxLengths, maxCitations, maxResults } from '../../api/search-document.ts'

interface DocumentOptions {
  readonly schema: string
  readonly id: string
  readonly query: string
  readonly model: string
  /** Unix seconds. */
  readonly created: number
  readonly usage: SearchUsage
}

export function toDocument(raw: RawResult, options: DocumentOptions): SearchDocument {
  const { schema, id, query, model, created, usage } = options
  const { results, byNumber } = toResults(raw.results)
  const rawAnswer = raw.answer ?? ''
  const answer = sanitizeText(rawAnswer, maxLengths.answer, 'lines')
  const citations =
    raw.citations === null
      ? parseCitationMarks(answer, byNumber)
      : toCitations(raw.citations, results, new CitationOffsets(rawAnswer, answer, raw.citations))
  const warnings = [...raw.warnings, ...(results.length === 0 ? ['No source was named for this search.'] : [])]
  return {
    schema,
    id,
    query: sanitizeText(query, query.length, 'lines'),
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
 * `byNumber` finds a result by its original number. Numbers are kept when results are dropped, because the answer's marks refer to them; a
 * second result with an address maps to the first.
 */
export function toResults(hits: readonly RawHit[]): {
  results: SearchResult[]
  byNumber: ReadonlyMap<number, SearchResult>
} {
  const results: SearchResult[] = []
  const byNumber = new Map<number, SearchResult>()
  const byUrl = new Map<string, SearchResult>()
  for (const [position, item] of hits.entries()) {
    if (results.length === maxResults) break
    const url = sanitizeUrl(item.url, maxLengths.url)
    if (url === null) continue
    const index = position + 1
    let result = byUrl.get(url)
    if (result === undefined) {
      const source = getSourceHost(url)
      result = {
        index,
        title: sanitizeText(item.title, maxLengths.title) || source,
        url,
        snippet: sanitizeText(item.snippet, maxLengths.snippet),
        published_at: sanitizeDate(item.published),
        source,
        score: sanitizeScore(item.score),
      }
      byUrl.set(url, result)
      results.push(result)
    }
    byNumber.set(index, result)
  }
  return { results, byNumber }
}

/** `[3]`, and `[1][4]`, and `[1, 4]`. */
function parseCitationMarks(answer: string, byNumber: ReadonlyMap<number, SearchResult>): Citation[] {
  const citations: Citation[] = []
  for (const mark of answer.matchAll(/\[(\d{1,2}(?:\s?,\s?\d{1,2}){0,9})\](?!\()/g)) {
    for (const number of (mark[1] ?? '').split(',')) {
      const result = byNumber.get(Number(number))
      if (result === undefined || citations.length === maxCitations) continue
      const { index, url, title } = result
      citations.push({ index, url, title, start_index: mark.index, end_index: mark.index + mark[0].length })
    }
  }
  return citations
}

function toCitations(
  rawCitations: readonly RawCitation[],
  results: readonly SearchResult[],
  offsets: CitationOffsets,
): Citation[] {
  return rawCitations.slice(0, maxCitations).flatMap((cited) => {
    const url = sanitizeUrl(cited.url, maxLengths.url)
    const result = results.find((result) => result.url === url)
    if (result === undefined) return []
    const title = sanitizeText(cited.title, maxLengths.title) || result.title
    return [{ index: result.index, url: result.url, title, ...offsets.locate(cited) }]
  })
}
