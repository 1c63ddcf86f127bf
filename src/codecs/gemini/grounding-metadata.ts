/** The searches of an answer, and where its text names their sources. */
import type { SearchSource } from '../../conversation/answer-event.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { findCitations } from '../shared/find-citations.ts'

interface Searches {
  readonly sources: readonly SearchSource[]
  readonly queries: readonly string[]
}

/** Null without a search. */
export function toGroundingMetadata(text: string, { sources, queries }: Searches): JsonObject | null {
  if (queries.length === 0) return null
  return {
    webSearchQueries: queries,
    groundingChunks: sources.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: findCitations(text, sources).map(({ source, start, end }) => ({
      // Places are bytes of UTF-8.
      segment: { startIndex: countBytes(text, start), endIndex: countBytes(text, end), text: text.slice(start, end) },
      groundingChunkIndices: [sources.indexOf(source)],
    })),
  }
}

function countBytes(text: string, end: number): number {
  return Buffer.byteLength(text.slice(0, end))
}
