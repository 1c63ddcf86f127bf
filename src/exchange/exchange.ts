/** The exchange: one request from its arrival to its final response. Plugins receive it; it depends on no web framework and no database. */
import type { ApiFormatName } from './api-format/api-format-name.ts'
import type { BrandNames } from './brand-names.ts'
import { GatewayError } from '../errors.ts'
import type { Account } from '../domain/identity/account.ts'
import type { Hold, TurnAttempt, WindowLeft } from '../domain/billing/ledger.ts'
import type { Plan } from '../domain/billing/catalog/plan.ts'
import type { Pool, Product } from '../domain/billing/catalog/product.ts'
import type { UpstreamCost } from '../domain/billing/catalog/upstream-cost.ts'
import type { ChatRequest } from './request/chat-request.ts'

/** A *turn* calls a model and costs quota; an *unmetered* request (model list, tool discovery) does neither. */
export type ExchangeKind = 'turn' | 'unmetered'

export interface Exchange {
  /** The request id, `mbr_…`: in the envelope, the log, the turn log, and `x-request-id`. */
  id: string
  /** Value of the response header `x-svc-request-id`: the client's own id as sent, else `id`. */
  responseRequestId: string
  readonly kind: ExchangeKind
  /** Names of this service's headers and tokens. */
  readonly names: BrandNames
  /** Origin of the website, whose pages explain failures. */
  readonly siteUrl: string
  /** Milliseconds since the epoch, read once at the start. */
  readonly startedAt: number
  readonly inbound: Inbound
  /** Set if the client uses another API format than chat completions. */
  readonly translation?: Translation
  /** Headers of the response, whatever the response is. */
  readonly headers: Record<string, string>
  /** Details that an error envelope may contain. */
  readonly debug: Debug
  readonly lastAttempt: LastAttempt
  /** The calls of upstreams that have ended, in order. */
  attempts?: TurnAttempt[]
  /** What search engines charge the operator for this exchange. */
  searchCostNanodollars?: number
  /** The monotonic clock at `startedAt`, and at later events. */
  readonly startedMonotonicMs: number
  firstTokenMonotonicMs?: number
  /** Start and end of the upstream call; the rest is the gateway's own time. */
  callStartedMonotonicMs?: number
  callEndedMonotonicMs?: number
  /** The exchange that this one is a part of; authentication and rate limit were applied there. */
  readonly parent?: Exchange & Partial<Slots>
  /** Which part of `parent` it is, from 1, if that has several. */
  readonly position?: number
  /** Credits charged in the end. */
  chargedCredits?: number
  /** What the turns within this one were charged. */
  nestedCharge?: NestedCharge
}

/** The charge of the turns within another one. */
export interface NestedCharge {
  readonly credits: number
  /** What the last of them left in the pool of the turn around them; null if none of them used it. */
  readonly left: WindowLeft | null
}

/** The last call of an upstream, for the turn log and the metrics. */
interface LastAttempt {
  /** `upstream/model`. */
  target: string | null
  status: number | null
  /** What the target costs the operator; null or absent: it is not configured. */
  cost?: UpstreamCost | null
  /** What its answer has as its model and id. */
  model?: unknown
  responseId?: unknown
  /** What it had produced when it failed; null: nothing. */
  failedUsage?: Usage | null
}

/** Translates an exchange between its API format and chat completions (`src/formats/exchange-translation.ts`). */
export interface Translation {
  readonly format: ApiFormatName
  /** The model as the client names it, once the body was read. It may be an alias of the product. */
  readonly requestedModel: string | undefined
  /** What the client has named its session with, if its format has a field for that. */
  readonly sessionMark?: string | undefined
  /** A response of chat completions in this format. */
  translateReply(x: Exchange & Partial<Slots>, reply: Reply): Reply
  /** The complete response of a failure before the answer has begun. `reply` is the one of chat completions. */
  toFailureReply(x: FailedExchange, failure: GatewayError, reply: Reply): Reply
  /** The last frames of a stream that failed. @throws if the stream cannot be ended so */
  toFailureFrames(x: FailedExchange, failure: GatewayError): string
}

/** The parts of an exchange that the response of a failure depends on: programs differ in the statuses after which they try again. */
export type FailedExchange = Pick<Exchange, 'id' | 'debug' | 'names' | 'startedAt'> & {
  readonly inbound: Pick<Inbound, 'headers'>
} & Partial<Pick<Slots, 'product' | 'hold'>>

/** The request as received. Header names are in lower case. */
export interface Inbound {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The client's IP address, resolved through trusted proxies only. */
  readonly address: string
  /** The token of the cookie session, only if the request comes from the site's own pages. */
  readonly cookieToken: string | null
  /**
   * The body, read once with a size limit, parsed and checked. Large bodies of different members are parsed in turn.
   *
   * @param options.hostsSearch whether a hosted search may run for this member; default false
   * @throws GatewayError naming the invalid field
   */
  chat(member?: string, options?: { readonly hostsSearch?: boolean }): Promise<ChatRequest>
  /** Registers a listener for the client's disconnect, for work before the call. */
  onDisconnect?(listener: () => void): void
  /** Ends the exchange: the body is no longer used. */
  dispose?(account?: string): void
}

interface Debug {
  productModel?: string
  upstreamStatus?: number
  upstreamHost?: string
  quotaRefunded?: boolean
  latencyMs?: number
}

/**
 * Values that plugins pass to later plugins, by name. A plugin of your own adds its slot by declaration merging:
 *
 *     declare module '../src/index.ts' {
 *       interface Slots { tenant: Tenant }
 *     }
 */
export interface Slots {
  /** The authenticated account (`auth`). */
  caller: Caller
  /** The slot among the account's concurrent requests (`rate-limit`). */
  admission: Admission
  /** The requested product (`model-allowlist`). */
  product: Product
  /** The member's request, checked (`model-allowlist`). */
  chat: ChatRequest
  /** The reserved credits (`quota-reserve`). */
  hold: HeldTurn
  /** The targets (`upstream-mapping`). */
  route: Route
}

export type Slot = keyof Slots

export interface Caller {
  readonly account: Account
  readonly plan: Plan
  readonly credential: 'key' | 'session' | 'cookie' | 'app' | 'jwt'
  /** How the turn log names the credential: the key's id, or the kind of session. */
  readonly source?: string
}

export interface Admission {
  release(): void
}

export interface HeldTurn extends Hold {
  /** Tokens assumed for the prompt. */
  readonly inputEstimate: number
  /** The part of `inputEstimate` that is assumed for media, which a text model may drop; default 0. */
  readonly mediaEstimate?: number
  /** The most that the prompt may cost, in tokens, and the part of it for media; default: unbounded. */
  readonly maxInput?: number
  readonly maxMediaInput?: number
  /** Output tokens that the hold covers. */
  readonly outputCap: number
  /**
   * Settles before the end of the exchange, which goes on with calls that have holds of their own (`src/tools/hosted-search/`). Later endings
   * change nothing. Undefined: the hold is settled at the end only.
   */
  settleEarly?(usage: Usage): Promise<void>
  /** Undefined: answers carry no charge. */
  readonly billing?: HoldBilling
}

/** How a held turn is charged. */
export interface HoldBilling {
  readonly pool: Pool
  /** Before the hold; null if it is not known. */
  readonly left: WindowLeft | null
  /** The credits that this usage is charged, never more than the hold. */
  computeCredits(usage: Usage): number
}

/** The targets to try, best first, and what to send them. */
export interface Route {
  readonly candidates: readonly Candidate[]
  /** The model id in every response. */
  readonly productId: string
  readonly stream: boolean
  /** Whether the client requested the usage chunk. */
  readonly includeUsage: boolean
  /** Tokens assumed for the prompt if the upstream reports none. */
  readonly inputEstimate: number
}

export interface Candidate {
  /** `upstream/model`: key of the breaker, label in the turn log and the metrics. */
  readonly name: string
  /** Name of the configured upstream. */
  readonly upstream: string
  /** The upstream's own model id; never shown to a member. */
  readonly model: string
  /** What its calls cost the operator; null or absent: it is not configured. */
  readonly cost?: UpstreamCost | null
  /** Appended to the upstream's base URL, as in `/chat/completions`. */
  readonly path: string
  /**
   * The fields of the request's body; those that are undefined are not sent. A function, because most fallbacks are never called and the
   * body depends on what the target supports.
   */
  body(mode: UpstreamRequestMode): Readonly<Record<string, unknown>>
}

/** How to request a response from a target. */
export interface UpstreamRequestMode {
  /** As a stream, even if the member wants the whole response, so that output is visible while it is produced. */
  readonly stream: boolean
  /** With `stream_options.include_usage`. */
  readonly includeUsage: boolean
  /** A smaller cap than the hold covers, because the target accepts no more. */
  readonly outputCap?: number
  /** Without the encrypted reasoning of earlier answers, because the target cannot read it. */
  readonly withoutEncryptedReasoning?: boolean
}

export interface Usage {
  readonly inputTokens: number
  /** The part of `inputTokens` that the upstream read from its cache, as it reported; default 0. */
  readonly cachedInputTokens?: number
  readonly outputTokens: number
  /** Our own count, because the upstream reported no plausible usage. */
  readonly estimated: boolean
  /** The reported usage, if it disputes the measured output. */
  readonly disputed?: { readonly inputTokens: number; readonly outputTokens: number }
  /** The upstream produced far more output than the cap that it was sent. */
  readonly ignoredCap?: boolean
  /** Number of pieces if the price is per piece (images); default 1. */
  readonly pieces?: number
}

export const zeroUsage: Usage = { inputTokens: 0, outputTokens: 0, estimated: false }

/** A complete response. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Bytes have memory of their own, which is freed once they were sent. */
  readonly body: string | Uint8Array
}

/** Result of a successful call: what may be sent only after the turn was settled. */
export interface CallResult {
  readonly usage: Usage
  /** The client was so slow that the upstream ended the call; the answer was cut off there, and is charged as far as it was produced. */
  readonly isAbandoned?: true
  /** The complete reply (not streamed), or the stream's last frames. */
  readonly final: { readonly kind: 'reply'; readonly reply: Reply } | { readonly kind: 'trailer'; readonly frames: string }
}

/** How an exchange ended. */
export type Outcome =
  | { readonly kind: 'completed'; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly failure: GatewayError; readonly streamed: boolean }
  | { readonly kind: 'aborted'; readonly usage: Usage }

/** Thrown when the client disconnects before the end. This is no failure: the output produced so far is charged. */
export class ClientDisconnected extends Error {
  readonly usage: Usage

  constructor(usage: Usage) {
    super('the client disconnected')
    this.name = 'ClientDisconnected'
    this.usage = usage
  }
}

/** Converts anything thrown into a failure. An unclassified error becomes `internal_error`; its message stays in the log. */
export function toFailure(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : new GatewayError('internal_error', { cause: thrown })
}
