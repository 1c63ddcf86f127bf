/** What a backend brings back, in whatever state the web left it; `document.ts` makes it fit to be handed on. */
import type { Usage } from '../../exchange/exchange.ts'

export interface Found {
  /** Null: the backend finds but does not answer. */
  readonly answer: string | null
  /** In the order that marks `[n]` in the answer count by. */
  readonly results: readonly FoundResult[]
  /** Null: they are read from the marks in the answer. */
  readonly citations: readonly FoundCitation[] | null
  /** Null: the backend reports no tokens. */
  readonly usage: Pick<Usage, 'inputTokens' | 'outputTokens'> | null
  /** How many searches were made for it, where that is known. */
  readonly searches: number | null
  /** Sentences of our own about the search. */
  readonly warnings: readonly string[]
}

/** Every field as it was sent. */
export interface FoundResult {
  readonly url: unknown
  readonly title: unknown
  readonly snippet: unknown
  readonly published: unknown
  readonly score: unknown
}

export interface FoundCitation {
  readonly url: unknown
  readonly title: unknown
  readonly start: unknown
  readonly end: unknown
}
