/**
 * The ledger's words: a *hold* is reserved before the upstream's first byte and has exactly one ending — settled, refunded or expired.
 * The store implements `Ledger`; nothing above it knows how.
 *
 * All amounts are credits (integers), all instants milliseconds since the epoch.
 */
import type { PoolLimits, Window } from './plan.ts'
import type { Periods } from './period.ts'
import type { Pool } from './product.ts'
import type { Price, Tokens } from './price.ts'

export interface ReserveOrder {
  readonly account: string
  /** The exchange's request id, for the turn log; a client may repeat it, so it identifies nothing. */
  readonly requestId: string
  /** Product id. */
  readonly model: string
  readonly pool: Pool
  /** The one clock reading of this operation. */
  readonly at: number
  readonly periods: Periods
  /** What the account's plan includes of this pool. */
  readonly limits: PoolLimits
  /** Credits wanted: the price of the whole turn at its upper bound. */
  readonly want: number
  /** Fewer credits than this are no use: refuse instead. `floor <= want`. */
  readonly floor: number
  /** Kept on the turn, so that a later change of price rewrites nothing. */
  readonly price: Price
  /** When the hold expires if nobody ends it, by this process's clock of durations: a step of the wall clock ends no turn. */
  readonly until: number
  /** At most one charge for the same key of the same account. */
  readonly idempotency: { readonly key: string; readonly bodyHash: string } | null
  /** The account's open holds at most, this one included: its turns at once, whoever runs them. */
  readonly concurrency: number
}

export interface Hold {
  readonly id: number
  /** What was reserved: `want`, or less when less was left. */
  readonly credits: number
}

export type Reservation =
  | { readonly kind: 'held'; readonly hold: Hold }
  /** The pool and its boosts are used up; `resetsAt` is the earliest instant at which there is room again, when `window` begins anew. */
  | { readonly kind: 'empty'; readonly resetsAt: number; readonly window: Window }
  /** Only holds of running turns are in the way: worth trying again shortly. */
  | { readonly kind: 'busy' }
  /** As many of the account's turns run as may at once. */
  | { readonly kind: 'crowded' }
  /** This idempotency key has been used: by a turn that still runs, was charged, or had another body. */
  | {
      readonly kind: 'duplicate'
      readonly state: 'held' | 'settled'
      readonly sameBody: boolean
      readonly requestId: string
      /** The client of that turn had left before its end. */
      readonly aborted: boolean
      /** What that turn was charged; 0 while it runs. */
      readonly credits: number
    }

/** What was used, for the ledger and the turn log. */
export interface SettleOrder {
  readonly hold: number
  readonly at: number
  readonly credits: number
  readonly tokens: Tokens
  /** The upstream reported no usage: the tokens are our own count. */
  readonly estimated: boolean
  /** What the upstream reported where that is not believed; kept beside what is charged. */
  readonly contradicted?: Tokens | null
  readonly outcome: 'completed' | 'aborted'
  /** The upstream's model target, `upstream/model`, for the operator's log. */
  readonly target: string | null
  readonly upstreamStatus: number | null
}

export interface RefundOrder {
  readonly hold: number
  readonly at: number
  /** The failure's catalogue code. */
  readonly code: string
  readonly target: string | null
  readonly upstreamStatus: number | null
}

/** `done` is false when the hold had its ending already: then nothing changed. */
export interface Ending {
  readonly done: boolean
  readonly state: TurnState
  /** Credits finally charged. */
  readonly credits: number
  /** Of them, what neither the three windows together nor packs could cover. Each window owes of it what it has no room for itself. */
  readonly debt: number
}

/** What an account's person has used already of one pool, in the periods at hand. */
export interface CarryOrder {
  readonly account: string
  readonly pool: Pool
  readonly at: number
  readonly periods: Periods
  readonly used: PoolLimits
}

export type TurnState = 'held' | 'settled' | 'refunded' | 'expired'

export interface Turn {
  readonly id: number
  readonly requestId: string
  readonly account: string
  readonly model: string
  readonly pool: Pool
  readonly state: TurnState
  readonly credits: number
  readonly reserved: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly estimated: boolean
  /** What the upstream reported where that was not believed; null otherwise. */
  readonly contradicted: Tokens | null
  readonly code: string | null
  readonly upstreamStatus: number | null
  readonly target: string | null
  readonly startedAt: number
  readonly endedAt: number | null
}

export interface TurnQuery {
  readonly account?: string
  readonly state?: TurnState
  readonly model?: string
  /** Only turns that started at or after this instant. */
  readonly since?: number
  /** Only turns older than this id: the page after it. Newest first. */
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

/** One plan pool of an account in the period at hand. `used` counts settled credits. */
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
  /** Unexpired packs with something left or held, earliest expiry first. */
  readonly packs: readonly Pack[]
}

export interface BalanceQuery {
  readonly account: string
  readonly at: number
  readonly periods: Periods
  readonly limits: Readonly<Record<Pool, PoolLimits>>
}

/** One broken promise found by `verify`. */
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

/** Figures for `/metrics` and `/readyz`. */
export interface LedgerVitals {
  readonly holdsOpen: number
  /** Operations waiting for the writer. */
  readonly queue: number
  readonly commits: number
  readonly operations: number
  /** Waits for the disk; what is committed meanwhile shares one. */
  readonly syncs: number
  /** Seconds of each commit since the last look, and of each wait for the disk behind them. */
  readonly commitSeconds: readonly number[]
  readonly flushSeconds: readonly number[]
  readonly writable: boolean
  /** What stands in the way of new turns although writing may succeed, in a sentence; null where nothing does. */
  readonly trouble: string | null
  /** Endings of turns that the ledger does not take now: they are kept and tried again until it has them. */
  readonly owed: number
  /** When the oldest of them became known; null when nothing is owed. */
  readonly owedSince: number | null
}

export interface Ledger {
  /**
   * One conditional step over day, week, month and packs. Resolves when the hold is committed (it survives the process). Throws
   * `temporarily_unavailable` while too many endings are owed.
   */
  reserve(order: ReserveOrder): Promise<Reservation>
  /**
   * Never fails for lack of credits. What exceeds the hold comes from the same pools as far as day, week and month all have room, then
   * from packs; what is left counts in each window by itself, as used where there is room and as that window's debt beyond. Resolves when it
   * is durable: in the ledger or, while that cannot be written, in a journal that outlives the process. Where it throws because neither
   * takes it, it is still owed, and tried again until the process ends; the hold is not given back meanwhile.
   */
  settle(order: SettleOrder): Promise<Ending>
  /** Gives everything back to the periods and packs it came from. Resolves, and throws, as `settle`. */
  refund(order: RefundOrder): Promise<Ending>
  /** Adds a pack; the same id twice adds one. Durable. */
  grant(order: GrantOrder): Promise<Pack>
  /** Opens a new account's books with what its person has used; periods that have been opened stay as they are. Durable. */
  carry(order: CarryOrder): Promise<void>
  /**
   * Gives back this process's holds whose lease is over at `ticks`, and those of processes that are proved dead; a living one's are its own
   * to end. `at` is when, for the turn log; the wall clock decides nothing. For a server alone. Returns how many.
   */
  expire(at: number, ticks: number): Promise<number>
  /** Endings in journals, of any process, that the ledger does not have yet: a server that runs is at it, or the next start will be. */
  owed(): Promise<number>
  balance(query: BalanceQuery): Promise<Balance>
  turns(query: TurnQuery): Promise<readonly Turn[]>
  /**
   * Deletes ended turns older than `before` from the log, with all else that their accounts' books no longer need to add up, looking at
   * the oldest `limit` turns only. Returns how many turns; 0 when there is nothing more to do.
   */
  forgetTurns(before: number, limit: number, signal?: AbortSignal): Promise<number>
  /** @throws where it is given up by `signal` */
  verify(signal?: AbortSignal): Promise<Verification>
  vitals(): LedgerVitals
}
