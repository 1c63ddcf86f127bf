/**
 * The ledger's port. A *hold* is reserved before the upstream's first byte and ends exactly once: settled, refunded or expired.
 * The store implements `Ledger`.
 *
 * All amounts are credits (integers), all instants milliseconds since the epoch.
 */
import type { PoolLimits, Window } from './catalog/plan.ts'
import type { Periods } from './period.ts'
import type { Pool } from './catalog/product.ts'
import type { Price, Tokens } from './catalog/price.ts'
import type { ReportQuery, ReportSlot } from './report.ts'

/** The id of an API key, or `web`, `cli`, `app` for sessions of these kinds, `jwt` for a trusted issuer's token, or `unknown`. */
export type UsageSource = string

export const unknownCredential = 'unknown'

export interface ReserveOrder {
  readonly account: string
  /** The exchange's request id, for the turn log. Not unique: a client may repeat it. */
  readonly requestId: string
  /** Product id. */
  readonly model: string
  /** The API format of the request, for the turn log; the default is `chat_completions`. */
  readonly apiFormat?: string
  /** The model as the client named it, for the turn log; null if that was the product's id. */
  readonly requestedModel?: string | null
  /** Who used it, for the turn log and the sums; the default is `unknown`. */
  readonly credential?: UsageSource | undefined
  readonly pool: Pool
  /** The one clock reading of this operation. */
  readonly at: number
  readonly periods: Periods
  /** The plan's limits for this pool. */
  readonly limits: PoolLimits
  /** Credits to reserve: the price of the whole turn at its upper bound. */
  readonly amount: number
  /** Refuse if fewer credits than this are available. `minAmount <= amount`. */
  readonly minAmount: number
  /** Stored with the turn, so that a later price change rewrites nothing. */
  readonly price: Price
  /** When an unfinished hold expires, by this process's monotonic clock: a step of the wall clock ends no turn. */
  readonly leaseUntil: number
  /** At most one charge for the same key of the same account. */
  readonly idempotency: IdempotencyKey | null
  /** Maximum open holds of the account, this one included, over all processes. */
  readonly maxConcurrentTurns: number
}

export interface Hold {
  readonly id: number
  /** Credits reserved: `amount`, or less if less was left. */
  readonly credits: number
}

/** The window of a pool with the fewest credits left. Of windows with the same, the last to reset. */
export interface WindowLeft {
  readonly window: Window
  /** Neither used nor reserved; boosts are not counted. */
  readonly credits: number
  readonly resetsAt: number
}

export type Reservation =
  /** `left`: before this hold; absent if the answer of the database was lost and the hold was found later. */
  | { readonly kind: 'held'; readonly hold: Hold; readonly left?: WindowLeft }
  /** The pool and its boosts are used up; `resetsAt` is the earliest instant with room again, when `window` resets. */
  | { readonly kind: 'insufficient'; readonly resetsAt: number; readonly window: Window }
  /** Only the holds of running turns block this one: retry shortly. */
  | { readonly kind: 'reserved_elsewhere' }
  /** The account runs as many turns as it may. */
  | { readonly kind: 'concurrency_limit' }
  /** The idempotency key has been used: by a running request, a charged one, or with another body. */
  | {
      readonly kind: 'duplicate'
      readonly state: 'held' | 'settled'
      readonly sameBody: boolean
      readonly requestId: string
      /** The client of that request disconnected before its end. */
      readonly aborted: boolean
      /** Credits charged so far for that request, with all its parts. */
      readonly credits: number
    }

export interface IdempotencyKey {
  readonly key: string
  readonly bodyHash: string
  /** Which later part of the request the turn is, from 1 to `maxLaterParts`; left out for its first turn. */
  readonly part?: number
}

/** The most turns that a request has after its first: calls of the model and searches in turn. */
export const maxLaterParts = 10

/** The key under which a part of a request is stored, so that the first turn's key finds all of them. A header cannot hold the separator. */
export function toPartKey(key: string, part: number): string {
  return `${key}\u001F${part}`
}

/** The stored keys of all later parts of a request. */
export function listPartKeys(key: string): readonly string[] {
  return Array.from({ length: maxLaterParts }, (_, i) => toPartKey(key, i + 1))
}

/** Actual usage, for the ledger and the turn log. */
export interface SettleOrder {
  readonly hold: number
  readonly at: number
  readonly credits: number
  readonly tokens: Tokens
  /** The upstream reported no usage: the tokens are our own count. */
  readonly estimated: boolean
  /** The upstream's report if it was rejected; stored beside the charged tokens. */
  readonly disputed?: Tokens | null
  readonly outcome: 'completed' | 'aborted'
  /** The upstream's model target, `upstream/model`, for the operator's log. */
  readonly target: string | null
  readonly upstreamStatus: number | null
  readonly details?: TurnDetails
  readonly trace?: TurnTrace
}

/** What a turn's record keeps for the operator's reports; null where it is unknown. */
export interface TurnDetails {
  /** The account's plan. */
  readonly plan: string | null
  /** The model and the id of the answer, as the upstream named them. */
  readonly upstreamModel: string | null
  readonly upstreamResponseId: string | null
  /** What the upstream charges the operator; a credit is a thousand nano-dollars. */
  readonly upstreamCostNanodollars: number | null
}

/** How a turn went, for operators who explain it; null where it is unknown. */
export interface TurnTrace {
  /** From the start to the first visible token; null where there was none. */
  readonly firstTokenMs: number | null
  readonly attempts: readonly TurnAttempt[] | null
}

/** One call of an upstream. Milliseconds count from the start of the turn. */
export interface TurnAttempt {
  /** `upstream/model`. */
  readonly target: string
  readonly startedMs: number
  readonly endedMs: number
  /** What the upstream answered with; null if it did not answer. */
  readonly status: number | null
  /** Why it failed; null for the attempt that answered. */
  readonly failure: string | null
}

export interface RefundOrder {
  readonly hold: number
  readonly at: number
  /** The failure's catalogue code. */
  readonly code: string
  readonly target: string | null
  readonly upstreamStatus: number | null
  readonly details?: TurnDetails
  readonly trace?: TurnTrace
}

/** `done` is false if the hold had already ended; then nothing changed. */
export interface Ending {
  readonly applied: boolean
  readonly state: TurnState
  /** Credits finally charged. */
  readonly credits: number
  /** The part that neither the three windows nor packs could cover. Each window owes the part that it has no room for itself. */
  readonly debt: number
}

/** Usage of one pool in the current periods by the person who owns the account. */
export interface OpenWithUsageOrder {
  readonly account: string
  readonly pool: Pool
  readonly at: number
  readonly periods: Periods
  readonly used: PoolLimits
}

export type TurnState = 'held' | 'settled' | 'refunded' | 'expired'

export interface Turn extends TurnDetails, TurnTrace {
  readonly id: number
  readonly requestId: string
  readonly account: string
  readonly model: string
  readonly apiFormat: string
  /** The model as the client named it, if it was an alias. */
  readonly requestedModel: string | null
  readonly credential: UsageSource
  readonly pool: Pool
  readonly state: TurnState
  readonly credits: number
  readonly reserved: number
  readonly inputTokens: number
  /** The part of `inputTokens` that the upstream read from its cache. */
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly estimated: boolean
  /** The upstream's report if it was rejected; null otherwise. */
  readonly disputed: Tokens | null
  readonly code: string | null
  readonly upstreamStatus: number | null
  readonly target: string | null
  readonly startedAt: number
  readonly endedAt: number | null
}

export interface TurnQuery {
  readonly account?: string
  /** Only turns of this request, among the newest `searched` of all. */
  readonly request?: { readonly id: string; readonly searched: number }
  readonly state?: TurnState
  readonly model?: string
  readonly credential?: UsageSource
  readonly apiFormat?: string
  /** Only turns that started at or after this instant. */
  readonly since?: number
  /** Only turns that started before this instant. */
  readonly until?: number
  /** How many of the newest matching turns to leave out. */
  readonly offset?: number
  /** Only turns older than this one, which is the account's where one is named (the next page). Newest first. */
  readonly before?: number
  readonly limit: number
}

export type PackKind = 'checkin' | 'invite' | 'rush' | 'grant'

/** A boost pack: credits of one pool with an expiry. */
export interface Pack {
  readonly id: string
  readonly account: string
  readonly kind: PackKind
  readonly pool: Pool
  readonly granted: number
  readonly reserved: number
  readonly settled: number
  readonly expiresAt: number
  readonly createdAt: number
}

export interface GrantOrder {
  readonly id: string
  readonly account: string
  readonly kind: PackKind
  readonly pool: Pool
  readonly credits: number
  readonly at: number
  readonly expiresAt: number
}

/** A correction by the operator: a link of the account's chain, with its reason. */
export interface AdjustOrder {
  /** `adj_` + 26 characters; the same id twice is one correction. */
  readonly id: string
  readonly account: string
  readonly pool: Pool
  /** Below zero it is charged like a turn: to the plan as far as all windows have room, then to packs, and the rest as debt. */
  readonly credits: number
  readonly reason: string
  readonly at: number
  /** When added credits expire. */
  readonly expiresAt: number
  readonly periods: Periods
  readonly limits: PoolLimits
}

/** Takes credits of one pack that are neither spent nor held, all of them or none, or gives them back. A link of the account's chain. */
export interface ChangePackOrder {
  /** The same id twice is one change. */
  readonly id: string
  readonly account: string
  readonly pack: string
  /** Below zero they are taken. At most what was taken before can be given back. */
  readonly credits: number
  readonly reason: string
  readonly at: number
}

/** One plan pool of an account in the current period. `used` counts settled credits. */
export interface PoolBalance {
  readonly pool: Pool
  readonly window: Window
  readonly limit: number
  readonly used: number
  readonly reserved: number
  readonly remaining: number
  readonly debt: number
  readonly resetsAt: number
}

export interface Balance {
  readonly pools: readonly PoolBalance[]
  /** Unexpired packs with credits left or reserved, earliest expiry first. */
  readonly packs: readonly Pack[]
}

export interface BalanceQuery {
  readonly account: string
  readonly at: number
  readonly periods: Periods
  readonly limits: Readonly<Record<Pool, PoolLimits>>
}

/** One violated invariant found by `verify`. */
export interface Mismatch {
  readonly rule: string
  readonly account: string
  readonly detail: string
}

export interface Verification {
  readonly ok: boolean
  readonly accounts: number
  readonly turns: number
  readonly holdsOpen: number
  readonly mismatches: readonly Mismatch[]
}

/** Statistics for `/metrics` and `/readyz`. */
export interface LedgerStats {
  readonly holdsOpen: number
  /** Operations queued for the writer. */
  readonly queue: number
  readonly commits: number
  readonly operations: number
  /** Number of disk syncs; commits made during one share it. */
  readonly syncs: number
  /** Seconds of each commit since the last read, and of each disk sync behind them. */
  readonly commitSeconds: readonly number[]
  readonly flushSeconds: readonly number[]
  readonly writable: boolean
  /** Why it cannot be written, where that is known: there is no room on the disk of the database. */
  readonly isDiskFull?: boolean
  /** Why the ledger accepts no new turns although writes may succeed; null if it does. */
  readonly unhealthyReason: string | null
  /** Settlements and refunds that could not be written yet and are retried. */
  readonly pendingSettlements: number
  /** When the oldest of them was recorded; null if there is none. */
  readonly pendingSince: number | null
  /** Holds that this process has released since its start, because their process had died or their lease had ended. */
  readonly releasedHolds: number
}

export interface Ledger {
  /**
   * One conditional step over day, week, month and packs. Resolves when the hold is committed (it survives the process). Throws
   * `temporarily_unavailable` while too many settlements are pending.
   */
  reserve(order: ReserveOrder): Promise<Reservation>
  /**
   * Never fails for lack of credits. The gateway settles the hold at most. A part above it is taken from the same pools as far as day, week and month all have room, then
   * from packs; the rest counts in each window by itself, as used where there is room and as that window's debt beyond. Resolves when the
   * settlement is durable: in the ledger or, while the ledger cannot be written, in a journal that outlives the process. Throws if neither
   * accepts it; the settlement stays pending and is retried until the process ends, and the hold is not released meanwhile.
   */
  settle(order: SettleOrder): Promise<Ending>
  /** Returns the whole hold to the periods and packs it was taken from. Resolves and throws as `settle`. */
  refund(order: RefundOrder): Promise<Ending>
  /** Adds a pack; the same id twice adds one. Durable. */
  grant(order: GrantOrder): Promise<Pack>
  /** Adds or takes credits. Returns the pack with the added credits, which is empty where credits were taken. Durable. */
  adjust(order: AdjustOrder): Promise<Pack>
  /** False where too little of the pack is left, or there is none; then nothing changed. Durable. */
  changePack(order: ChangePackOrder): Promise<boolean>
  /** Opens a new account's balances with the usage of its person; periods that are already open stay unchanged. Durable. */
  openWithUsage(order: OpenWithUsageOrder): Promise<void>
  /**
   * Releases this process's holds whose lease ended at `monotonicMs`, and those of processes proved dead; living processes end their own.
   * `at` is for the turn log only. For a server that uses its database alone. Returns the number of holds.
   */
  expire(at: number, monotonicMs: number): Promise<number>
  /** Settlements in the journals of all processes that the ledger does not have yet. The running server or the next start writes them. */
  countPendingSettlements(): Promise<number>
  balance(query: BalanceQuery): Promise<Balance>
  /** Undefined where there is none, or none any more. */
  findPack(account: string, id: string): Promise<Pack | undefined>
  turns(query: TurnQuery): Promise<readonly Turn[]>
  /**
   * Deletes ended turns older than `before`, with everything else that their accounts no longer need to add up, examining only the oldest
   * `limit` turns. Returns the number of turns; 0 when done.
   */
  pruneTurns(before: number, limit: number, signal?: AbortSignal): Promise<number>
  /** Sums of ended turns, of one snapshot. For commands: it may block its thread while the database groups the turns. */
  report(query: ReportQuery): AsyncIterable<ReportSlot>
  /** @throws if `signal` aborts it */
  verify(signal?: AbortSignal): Promise<Verification>
  stats(): LedgerStats
}
