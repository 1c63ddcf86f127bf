/** The searches of an answer, and where its text names their sources and those of the upstream. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { toText } from '../shared/read-json.ts'
import type { SearchSource } from '../../conversation/answer-event.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { findCitations } from '../shared/find-citations.ts'

interface Grounding {
  readonly sources: readonly SearchSource[]
  readonly queries: readonly string[]
  /** As in a chat completion. */
  readonly citations: readonly JsonObject[]
}

/** Null without a search and without a source. */
export function toGroundingMetadata(text: string, { sources, queries, citations }: Grounding): JsonObject | null {
  const urlCitations = citations.map(readUrlCitation).filter(({ url }) => url !== '')
  if (queries.length === 0 && urlCitations.length === 0) return null
  const foundSupports = findCitations(text, sources).map(({ source, start, end }) =>
    toSupport(text, start, end, sources.indexOf(source)),
  )
  const citedSupports = urlCitations.flatMap(({ start, end }, at) =>
    end > start ? toSupport(text, start, end, sources.length + at) : [],
  )
  return {
    webSearchQueries: queries,
    groundingChunks: [...sources, ...urlCitations].map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: [...foundSupports, ...citedSupports],
  }
}

function readUrlCitation(annotation: JsonObject) {
  const inner = annotation['url_citation']
  const { url, title, start_index: start, end_index: end } = isRecord(inner) ? inner : annotation
  const address = toText(url)
  return { url: address, title: toText(title) || address, start: readIndex(start), end: readIndex(end) }
}

function readIndex(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0
}

/** Places are bytes of UTF-8. */
function toSupport(text: string, start: number, end: number, chunk: number): JsonObject {
  const segment = { startIndex: countBytes(text, start), endIndex: countBytes(text, end), text: text.slice(start, end) }
  return { segment, groundingChunkIndices: [chunk] }
}

function countBytes(text: string, end: number): number {
  return Buffer.byteLength(text.slice(0, end))
}
