/**
 * Where in the answer that leaves a citation's text stands, from where a backend says that it stood in the answer it gave. Between the two
 * the text was cleaned, and backends count differently, in UTF-16 units or in whole characters. What comes out is counted in UTF-16 units,
 * as `answer.slice(start_index, end_index)` counts; a place that is not sure is not told.
 */
import { cleanText } from './clean.ts'
import type { FoundCitation } from './found.ts'
import { longest } from '../../api/search-document.ts'

export interface Place {
  readonly start_index: number
  readonly end_index: number
}

/** How far a text may have moved more than the text before it was shortened: blanks between the two fall to either. */
const tolerance = 16

export class Places {
  readonly #raw: string
  readonly #answer: string
  /** The raw answer's characters, where some of them are two units; null where both ways of counting are the same. */
  readonly #characters: readonly string[] | null
  readonly #countsCharacters: boolean | null

  constructor(raw: string, answer: string, citations: readonly FoundCitation[]) {
    this.#raw = raw
    this.#answer = answer
    this.#characters = /[\ud800-\udbff][\udc00-\udfff]/.test(raw) ? [...raw] : null
    this.#countsCharacters = this.#characters === null ? false : this.#guess(citations)
  }

  /** Empty where there is none to be told. */
  of({ start, end }: FoundCitation): Place | Record<string, never> {
    const span = this.#span(start, end)
    if (span === null) return {}
    if (this.#answer === this.#raw) return { start_index: span.start, end_index: span.end }
    const text = cleanText(this.#raw.slice(span.start, span.end), longest.answer, 'lines')
    const at = text === '' ? -1 : this.#find(text, span.start)
    return at === -1 ? {} : { start_index: at, end_index: at + text.length }
  }

  /** In UTF-16 units of the raw answer. */
  #span(start: unknown, end: unknown): { readonly start: number; readonly end: number } | null {
    if (!isPlace(start) || !isPlace(end) || start >= end) return null
    const units = end <= this.#raw.length ? { start, end } : null
    if (this.#characters === null || this.#countsCharacters === false) return units
    const characters = this.#inUnits(start, end)
    if (this.#countsCharacters === true) return characters
    // Nobody knows how it counts; before the first character of two units it makes no difference.
    return characters?.start === units?.start && characters?.end === units?.end ? units : null
  }

  #inUnits(start: number, end: number): { readonly start: number; readonly end: number } | null {
    const characters = this.#characters ?? []
    if (end > characters.length) return null
    const before = characters.slice(0, start).join('').length
    return { start: before, end: before + characters.slice(start, end).join('').length }
  }

  /** What is cited looks like it. Whichever way of counting brings more such texts is meant. */
  #guess(citations: readonly FoundCitation[]): boolean | null {
    let lead = 0
    for (const { url, start, end } of citations) {
      if (!isPlace(start) || !isPlace(end)) continue
      const span = this.#inUnits(start, end)
      lead += span === null ? 0 : looksCited(this.#raw.slice(span.start, span.end), url)
      lead -= looksCited(this.#raw.slice(start, end), url)
    }
    return lead === 0 ? null : lead > 0
  }

  /** The text's place in the cleaned answer; of several, the one that its beginning says. */
  #find(text: string, start: number): number {
    const first = this.#answer.indexOf(text)
    if (first === this.#answer.lastIndexOf(text)) return first
    const about = cleanText(this.#raw.slice(0, start), longest.answer, 'lines').length
    const at = this.#answer.indexOf(text, Math.max(0, about - 1))
    return at !== -1 && at - about <= tolerance ? at : -1
  }
}

/** A mark in brackets surely is one; a text with the address in it may also be one that is cut at the wrong places. */
function looksCited(text: string, url: unknown): number {
  if (/^[[(【].*[\])】]$/s.test(text)) return 2
  return typeof url === 'string' && url !== '' && text.includes(url) ? 1 : 0
}

function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
