/**
 * Finds a citation's text in the sanitised answer, given its position in the backend's answer. Sanitising moves the text, and backends count
 * differently, in UTF-16 units or in code points. The result is in UTF-16 units, as for `answer.slice(start_index, end_index)`; an uncertain
 * position is omitted.
 */
import { sanitizeText } from './sanitize.ts'
import type { RawCitation } from './raw-result.ts'
import { maxLengths } from '../../api/search-document.ts'

interface CitationSpan {
  readonly start_index: number
  readonly end_index: number
}

/** How much further a text may have moved than the text before it was shortened: blanks between the two belong to either. */
const tolerance = 16

export class CitationOffsets {
  readonly #raw: string
  readonly #answer: string
  /** The code points of the raw answer if some have two units; null if both ways of counting agree. */
  readonly #characters: readonly string[] | null
  readonly #countsCharacters: boolean | null

  constructor(raw: string, answer: string, citations: readonly RawCitation[]) {
    this.#raw = raw
    this.#answer = answer
    this.#characters = /[\ud800-\udbff][\udc00-\udfff]/.test(raw) ? [...raw] : null
    this.#countsCharacters = this.#characters === null ? false : this.#detectCharacterUnits(citations)
  }

  /** Empty if the position is uncertain. */
  locate({ start, end }: RawCitation): CitationSpan | Record<string, never> {
    const span = this.#toUtf16Span(start, end)
    if (span === null) return {}
    if (this.#answer === this.#raw) return { start_index: span.start, end_index: span.end }
    const text = sanitizeText(this.#raw.slice(span.start, span.end), maxLengths.answer, 'lines')
    const at = text === '' ? -1 : this.#findInAnswer(text, span.start)
    return at === -1 ? {} : { start_index: at, end_index: at + text.length }
  }

  /** In UTF-16 units of the raw answer. */
  #toUtf16Span(start: unknown, end: unknown): { readonly start: number; readonly end: number } | null {
    if (!isOffset(start) || !isOffset(end) || start >= end) return null
    const units = end <= this.#raw.length ? { start, end } : null
    if (this.#characters === null || this.#countsCharacters === false) return units
    const characters = this.#charactersToUtf16(start, end)
    if (this.#countsCharacters === true) return characters
    // The backend's way of counting is unknown; before the first code point of two units both agree.
    return characters?.start === units?.start && characters?.end === units?.end ? units : null
  }

  #charactersToUtf16(start: number, end: number): { readonly start: number; readonly end: number } | null {
    const characters = this.#characters ?? []
    if (end > characters.length) return null
    const before = characters.slice(0, start).join('').length
    return { start: before, end: before + characters.slice(start, end).join('').length }
  }

  /** Detects the way of counting: the one under which more cited texts look like citations. */
  #detectCharacterUnits(citations: readonly RawCitation[]): boolean | null {
    let lead = 0
    for (const { url, start, end } of citations) {
      if (!isOffset(start) || !isOffset(end)) continue
      const span = this.#charactersToUtf16(start, end)
      lead += span === null ? 0 : scoreCitation(this.#raw.slice(span.start, span.end), url)
      lead -= scoreCitation(this.#raw.slice(start, end), url)
    }
    return lead === 0 ? null : lead > 0
  }

  /** The text's position in the sanitised answer; the raw position selects one of several. */
  #findInAnswer(text: string, start: number): number {
    const first = this.#answer.indexOf(text)
    if (first === this.#answer.lastIndexOf(text)) return first
    const about = sanitizeText(this.#raw.slice(0, start), maxLengths.answer, 'lines').length
    const at = this.#answer.indexOf(text, Math.max(0, about - 1))
    return at !== -1 && at - about <= tolerance ? at : -1
  }
}

/** A mark in brackets is certain; a text that contains the address may also be cut at the wrong positions. */
function scoreCitation(text: string, url: unknown): number {
  if (/^[[(【].*[\])】]$/s.test(text)) return 2
  return typeof url === 'string' && url !== '' && text.includes(url) ? 1 : 0
}

function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
