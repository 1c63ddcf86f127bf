/** Search backends and their results, not sanitised; `document.ts` converts them. */
import type { Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { GatewayConfig } from '../../config/config.ts'

/** The check of the configuration requires the address and the key of the chosen engine. */
export type SearchSettings = GatewayConfig['search']

/** An upstream model with search, or a search engine. */
export interface SearchBackend {
  /** @throws UpstreamFailure or ClientDisconnected */
  search(context: SearchContext): Promise<RawResult>
}

export interface SearchContext {
  readonly query: string
  readonly x: Exchange & Partial<Slots>
  readonly wire: CallContext
}

export interface RawResult {
  /** Null: the backend returns results but no answer. */
  readonly answer: string | null
  /** In the order of the marks `[n]` in the answer. */
  readonly results: readonly RawHit[]
  /** Null: citations are read from the marks in the answer. */
  readonly citations: readonly RawCitation[] | null
  /** Null: the backend reports no tokens. */
  readonly usage: Pick<Usage, 'inputTokens' | 'cachedInputTokens' | 'outputTokens'> | null
  /** Number of searches, if known. */
  readonly searches: number | null
  /** Our own sentences about the search. */
  readonly warnings: readonly string[]
}

/** Every field as received. */
export interface RawHit {
  readonly url: unknown
  readonly title: unknown
  readonly snippet: unknown
  readonly published: unknown
  readonly score: unknown
}

export interface RawCitation {
  readonly url: unknown
  readonly title: unknown
  readonly start: unknown
  readonly end: unknown
}
