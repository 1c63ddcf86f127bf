/**
 * The exchange: one request from the door to its last word. It is what plugins see; it knows no web framework and no database.
 */
import type { Names } from '../config/brand.ts'
import type { GatewayError } from '../errors.ts'
import type { Account } from '../membership/account.ts'
import type { Hold } from '../membership/ledger.ts'
import type { Plan } from '../membership/plan.ts'
import type { Product } from '../membership/product.ts'
import type { ChatRequest } from './chat-request.ts'
import type { LargeBody } from './large/printed.ts'

/** A *turn* calls a model and costs quota; a *query* (the model list, tool discovery) does neither. */
export type ExchangeKind = 'turn' | 'query'

export interface Exchange {
  /** The request id, `mbr_…`: in the envelope, the log, the turn log, and `x-request-id`. */
  id: string
  /** What `x-svc-request-id` answers: the caller's own id as it was sent, else `id`. */
  echo: string
  readonly kind: ExchangeKind
  /** The names of this service's headers and tokens. */
  readonly names: Names
  /** Milliseconds since the epoch, read once when the exchange began. */
  readonly startedAt: number
  readonly inbound: Inbound
  /** Headers for the answer, whatever the answer will be. */
  readonly headers: Record<string, string>
  /** What an envelope may tell besides its code. */
  readonly debug: Debug
  /** The upstream target tried last (`upstream/model`) and what it answered; for the turn log and the metrics. */
  readonly attempted: { target: string | null; status: number | null }
  /** The same instant as `startedAt` on the clock that never goes back, and the instants at which things happened on it. */
  readonly startedTicks: number
  firstTokenTicks?: number
  /** When the call to the upstream began and ended; what lies outside is our own time. */
  callStartedTicks?: number
  callEndedTicks?: number
  /** The exchange that this one is a part of: who asks, and how fast they may, was settled there. */
  readonly within?: Exchange & Partial<Slots>
  /** Credits finally charged. */
  charged?: number
}

/** The request as it came in. Header names are lower case. */
export interface Inbound {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The client's address, resolved through trusted proxies only. */
  readonly address: string
  /** The cookie session's token, only where the request is provably the site's own page. */
  readonly cookieToken: string | null
  /**
   * The body, read once, bounded, parsed and checked. Large ones are taken in turn by member, where one is named.
   *
   * @throws GatewayError naming the field at fault
   */
  chat(member?: string): Promise<ChatRequest>
  /** The exchange has ended: nobody looks at the body any more. */
  over?(): void
}

export interface Debug {
  productModel?: string
  upstreamStatus?: number
  upstreamHost?: string
  quotaRefunded?: boolean
  latencyMs?: number
}

/**
 * What plugins leave for the ones after them, by name. A plugin of your own adds its slot by declaration merging:
 *
 *     declare module '../src/index.ts' {
 *       interface Slots { tenant: Tenant }
 *     }
 */
export interface Slots {
  /** Who asks (`auth`). */
  caller: Caller
  /** The place among the account's concurrent requests (`rate-limit`). */
  admission: Admission
  /** What is asked for (`model-allowlist`). */
  product: Product
  /** The request as the member sent it, checked (`model-allowlist`). */
  chat: ChatRequest
  /** The credits reserved (`quota-reserve`). */
  hold: HeldTurn
  /** Where it goes (`upstream-mapping`). */
  route: Route
}

export type Slot = keyof Slots

export interface Caller {
  readonly account: Account
  readonly plan: Plan
  readonly credential: 'key' | 'session' | 'cookie' | 'app' | 'jwt'
}

export interface Admission {
  release(): void
}

export interface HeldTurn extends Hold {
  /** Tokens assumed for the prompt. */
  readonly inputEstimate: number
  /** Output tokens that the hold pays for. */
  readonly outputCap: number
}

/** The places to try, best first, and what to send there. */
export interface Route {
  readonly candidates: readonly Candidate[]
  /** The id that the caller sees in every answer. */
  readonly productId: string
  readonly stream: boolean
  /** Whether the client asked for the usage chunk. */
  readonly includeUsage: boolean
  /** Tokens assumed for the prompt where the upstream reports none. */
  readonly inputEstimate: number
}

export interface Candidate {
  /** `upstream/model`: the breaker's key, the turn log's and the metrics' label. */
  readonly name: string
  /** The configured upstream that serves it. */
  readonly upstream: string
  /** That upstream's own model id; never shown to a member. */
  readonly model: string
  /** Appended to the upstream's base URL, as in `/chat/completions`. */
  readonly path: string
  /**
   * The request's body. A function, because a fallback's body is seldom needed, another cap seldomer, and how it is asked depends on the
   * target.
   */
  body(asking: Asking): string | LargeBody
}

/** How a target is asked to answer. */
export interface Asking {
  /** As a stream, also where the member wants the whole answer: what is made is seen as it is made. */
  readonly stream: boolean
  /** With `stream_options.include_usage`. */
  readonly usage: boolean
  /** A smaller cap on the answer than the one that is paid for, because the target takes no more. */
  readonly cap?: number
}

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Our own count, because the upstream reported none, or none that can be believed. */
  readonly estimated: boolean
  /** What the upstream reported where that contradicts what passed. */
  readonly contradicted?: { readonly inputTokens: number; readonly outputTokens: number }
  /** Things made, where the price is by the piece (images); 1 where it is left out. */
  readonly pieces?: number
}

export const nothingUsed: Usage = { inputTokens: 0, outputTokens: 0, estimated: false }

/** A whole answer. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** What a call hands back when it went well: the words that may be said only after the turn is settled. */
export interface Answer {
  readonly usage: Usage
  /** The whole reply (not streamed), or the stream's last frames. */
  readonly last: { readonly kind: 'reply'; readonly reply: Reply } | { readonly kind: 'tail'; readonly frames: string }
}

/** How an exchange ended; exactly one of three. */
export type Outcome =
  | { readonly kind: 'completed'; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly failure: GatewayError; readonly streamed: boolean }
  | { readonly kind: 'aborted'; readonly usage: Usage }
