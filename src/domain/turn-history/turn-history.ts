/**
 * What operators see of turns: lists, one turn's story, failures, sums and statements. A background job writes the data for lists and sums
 * behind the ledger, so they may lag by seconds. No part of it has a prompt or an answer.
 *
 * Instants are milliseconds since the epoch, amounts whole credits.
 */
import type { Turn, TurnState, UsageSource } from '../billing/ledger.ts'
import type { ReportDimension, ReportRow } from '../billing/report.ts'
import type { Pool } from '../billing/catalog/product.ts'
import type { LatencyPercentiles } from './latency-histogram.ts'

/** `completed`, `aborted` (charged both), `expired`, or the code of the failure. */
export type TurnEnding = string

/** The endings of charged turns; all others cost nothing. */
export const chargedEndings: readonly TurnEnding[] = ['completed', 'aborted']

/** What the lists and sums contain: every turn that had ended this long ago. */
export interface HistoryProgress {
  /** 0: they contain everything; null: older turns are still being added for the first time. */
  readonly behindMs: number | null
}

/** A turn as lists show it. */
export interface TurnSummary {
  readonly id: number
  readonly requestId: string
  readonly account: string
  /** The id of an API key, or `web`, `cli`, `app`, `jwt`, `unknown`. */
  readonly credential: UsageSource
  /** Product id. */
  readonly product: string
  /** `upstream/model`; null if no upstream was called. */
  readonly target: string | null
  readonly state: TurnState
  readonly ending: TurnEnding
  readonly credits: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly startedAt: number
  readonly endedAt: number
  /** From the start to the first visible token; null where there was none, or the turn is of an older version. */
  readonly firstTokenMs: number | null
  readonly upstreamStatus: number | null
}

/** All that are named must match. */
export interface TurnFilter {
  readonly account?: string
  /** A key is of one account; `web` and the like need `account` too. */
  readonly credential?: UsageSource
  readonly product?: string
  /** An empty text: turns that called no upstream. */
  readonly target?: string
  readonly ending?: TurnEnding
  /** The account's plan when the turn ended. */
  readonly plan?: string
  /** Only turns that failed, whatever their code. */
  readonly failedOnly?: boolean
  /** Only turns that count for a share of success; `faults`: of these, the ones that failed. */
  readonly success?: 'rated' | 'faults'
  readonly requestId?: string
  /** Started at or after. */
  readonly from?: number
  /** Started before. */
  readonly to?: number
}

/** The last turn of the page before. */
export interface TurnPosition {
  readonly startedAt: number
  readonly id: number
}

/** Newest first. */
export interface TurnPage {
  readonly turns: readonly TurnSummary[]
  /** Where the next page begins; null at the end. */
  readonly next: TurnPosition | null
}

/** Credits taken from one source. */
export interface TurnPart {
  /** `plan`, the id of a pack, or `debt`: what neither had. */
  readonly from: string
  readonly credits: number
}

/** Everything that is known of one turn; `turn` has its attempts and the time to its first token. */
export interface TurnStory {
  readonly turn: Turn
  readonly ending: TurnEnding | 'held'
  readonly isCharged: boolean
  /** From where the credits were held, and who paid in the end. */
  readonly held: readonly TurnPart[]
  readonly settled: readonly TurnPart[]
  /** The other turns of the same request: hosted searches and further calls of the model. Oldest first. */
  readonly ofSameRequest: readonly TurnSummary[]
}

/** The held turn that began first. */
export interface OldestHold {
  readonly id: number
  readonly startedAt: number
}

export interface FailureGroup {
  /** The code. */
  readonly ending: TurnEnding
  readonly product: string
  readonly target: string | null
  readonly count: number
  /** Different accounts. */
  readonly accounts: number
  readonly firstAt: number
  readonly lastAt: number
  /** The newest turn of the group. */
  readonly example: { readonly id: number; readonly requestId: string }
}

export interface FailureQuery extends Pick<TurnFilter, 'account' | 'product' | 'target'> {
  readonly from: number
  readonly to: number
}

export interface AccountCountQuery extends Required<Pick<TurnFilter, 'product' | 'from'>> {
  readonly minAccounts: number
  /** How many turns are examined, newest first: one account that has most of them hides the others. */
  readonly maxTurns: number
}

export interface UsageQuery extends Pick<TurnFilter, 'account' | 'credential' | 'product' | 'target' | 'ending'> {
  readonly from: number
  readonly to: number
  /** Hours and days of the operator's time zone. At most `maxUsageSteps`. */
  readonly step: 'hour' | 'day'
  /** Left out: one series of everything. `credential` needs an account. */
  readonly by?: 'product' | 'target' | 'route' | 'ending' | 'credential'
}

export interface UsageTotals {
  /** All ended turns. */
  readonly turns: number
  readonly charged: number
  readonly failed: number
  readonly credits: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  /** What upstreams charged the operator, as far as it is known. */
  readonly costNanodollars: number
  /** Turns by ending. */
  readonly endings: Readonly<Record<TurnEnding, number>>
  /** Of completed turns, or of the ending that the query names; null without any. */
  readonly duration: LatencyPercentiles | null
  readonly firstToken: LatencyPercentiles | null
}

export interface TurnRoute {
  readonly product: string
  readonly target: string | null
}

export interface UsageSeries {
  /** The product, target (empty: none), ending or key; empty where the query has no `by`. Of a route it is a name without a meaning. */
  readonly key: string
  /** By `route`: the product, and the target (null: none was called). */
  readonly route?: TurnRoute
  readonly total: UsageTotals
  /** One for each step. */
  readonly points: readonly UsageTotals[]
}

export interface UsageChart {
  /** When each step begins, and where the last one ends: one more than there are points. A link to the turns of a point is `from`–`to` of these. */
  readonly bounds: readonly number[]
  readonly total: UsageTotals
  /** Most turns first. */
  readonly series: readonly UsageSeries[]
}

export const maxUsageSteps = 400
/** Longer spans are read by day. */
export const maxHourlySpanMs = 8 * 86_400_000
export const maxFailureSpanMs = 31 * 86_400_000

/** A report of whole days, as `svc-gateway report` makes it: the turns that began from `from` to before `to`. */
export interface MoneyQuery extends Pick<TurnFilter, 'product' | 'plan'> {
  readonly by: readonly MoneyDimension[]
  /** Both at quarters of an hour, where each day begins. */
  readonly from: number
  readonly to: number
}

export type MoneyDimension = Extract<ReportDimension, 'day' | 'plan' | 'product'>

/** What a line of a statement did. */
export type StatementLineKind = 'turn' | 'grant' | 'adjust' | 'open' | 'limit'

/** One change of a member's balance, newest first. */
export interface StatementLine {
  /** Position in the account's chain; the cursor of the next page. */
  readonly seq: number
  readonly at: number
  readonly kind: StatementLineKind
  readonly pool: Pool
  /** Change of what the member can spend: below zero it was charged; 0 where a period began or a limit changed, which `planLeft` shows. */
  readonly credits: number
  /** The turn, pack or correction behind the line. */
  readonly turn: number | null
  readonly pack: string | null
  /** What the operator or a boost gave as the reason. */
  readonly reason: string | null
  readonly product: string | null
  readonly ending: TurnEnding | null
  /** After this line, holds left out: the plan's tightest window, and packs that had not expired. */
  readonly planLeft: number
  readonly packsLeft: number
}

export interface StatementPage {
  readonly lines: readonly StatementLine[]
  readonly next: number | null
}

/** `membership.turnHistory`. */
export interface TurnHistory {
  readProgress(): Promise<HistoryProgress>
  listTurns(filter: TurnFilter, page: { readonly after?: TurnPosition; readonly limit: number }): Promise<TurnPage>
  /** Undefined if there is none, or none any more. */
  findTurn(id: number): Promise<TurnStory | undefined>
  findOldestHold(): Promise<OldestHold | undefined>
  /** Most turns first; at most 200 groups of at most 31 days. */
  listFailures(query: FailureQuery): Promise<readonly FailureGroup[]>
  /** Whether the newest turns of a product that count for a share of success are of at least so many accounts. */
  hasAccounts(query: AccountCountQuery): Promise<boolean>
  /** @throws `invalid_request` for a span that is too long, or a key that belongs to no single account */
  readUsage(query: UsageQuery): Promise<UsageChart>
  /** The sums of the ledger as far as the lists have come; by day oldest first, then the most credits. */
  readMoney(query: MoneyQuery): Promise<readonly ReportRow[]>
  /** @throws `temporarily_unavailable` while the account changes during each read */
  readStatement(account: string, page: { readonly before?: number; readonly limit: number }): Promise<StatementPage>
}
