/** Finds what an answer takes from the sources of its searches: marks as in `[2]` and `[1, 3]`, and addresses of sources. */
import type { SearchSource } from '../../conversation/answer-event.ts'

interface FoundCitation {
  readonly source: SearchSource
  /** Place of the mark or address in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
}

/** A mark that a link follows is the text of the link. */
const markPattern = /\[(\d{1,3}(?:\s?,\s?\d{1,3}){0,9})\](?!\()/g

const maxCitations = 100

/** In the order of the text. */
export function findCitations(text: string, sources: readonly SearchSource[]): readonly FoundCitation[] {
  if (sources.length === 0) return []
  const foundCitations: FoundCitation[] = []
  for (const mark of text.matchAll(markPattern)) {
    for (const number of (mark[1] ?? '').split(',')) {
      const source = sources.find((each) => each.number === Number(number))
      if (source !== undefined) foundCitations.push({ source, start: mark.index, end: mark.index + mark[0].length })
    }
  }
  for (const source of sources) {
    const { url } = source
    for (let at = text.indexOf(url); at !== -1; at = text.indexOf(url, at + url.length))
      if (!continuesAddress(text, at + url.length)) foundCitations.push({ source, start: at, end: at + url.length })
  }
  return foundCitations.sort((a, b) => a.start - b.start).slice(0, maxCitations)
}

/** The text has a longer address that begins with the source's. */
function continuesAddress(text: string, end: number): boolean {
  return /^[\w/?#&=%~-]/.test(text.slice(end, end + 1))
}
