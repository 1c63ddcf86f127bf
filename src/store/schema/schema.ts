/**
 * The tables, as Kysely types. Instants are milliseconds since the epoch, amounts whole credits, flags 0 or 1. The columns are
 * created in `migrations/`; a test compares the two databases.
 */
import type { Generated } from 'kysely'
import type { AccountStatus } from '../../domain/identity/account.ts'
import type { ImageKind } from '../../domain/image.ts'
import type { PackKind, TurnState } from '../../domain/billing/ledger.ts'
import type { Window } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import type { MembershipSchema } from './membership-schema.ts'
import type { HistorySchema } from './history-schema.ts'
import type { NotificationSchema } from './notification-schema.ts'
import type { OperatorSchema } from './operator-schema.ts'
import type { SaleSchema } from './sale-schema.ts'

export interface Schema extends HistorySchema, MembershipSchema, NotificationSchema, OperatorSchema, SaleSchema {
  readonly account: AccountTable
  readonly api_key: ApiKeyTable
  readonly balance: BalanceTable
  readonly balance_watermark: BalanceWatermarkTable
  readonly balance_watermark_hold: BalanceWatermarkHoldTable
  readonly bucket: BucketTable
  readonly pack: PackTable
  readonly turn: TurnTable
  readonly entry: EntryTable
  readonly usage_sum: UsageSumTable
  readonly checkpoint: CheckpointTable
  readonly ledger_account: LedgerAccountTable
  readonly ledger_account_head: LedgerAccountHeadTable
  readonly image: ImageTable
  readonly image_owner: ImageOwnerTable
  readonly process: ProcessTable
  readonly migration: MigrationTable
}

export interface AccountTable {
  id: string
  email: string | null
  /** The same for all addresses of one mailbox; null once the account is deleted. */
  canonical_email: string | null
  plan: string
  /** When the account returns to the default plan. */
  plan_until: number | null
  /** The terms of the running subscription. */
  terms: Generated<string | null>
  /** While a subscription runs: the plan that was given without an end; null: the default plan. */
  base_plan: Generated<string | null>
  /** 0: turns take nothing from packs that the member bought. */
  spends_packs: Generated<number>
  status: AccountStatus
  password_hash: string | null
  email_verified: number
  created_at: number
}

interface ApiKeyTable {
  id: string
  account: string
  name: string
  prefix: string
  last4: string
  hash: Uint8Array
  created_at: number
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
}

/**
 * A bucket's values, in the order of the balance's columns. `settled` includes `debt`; granted = remaining + reserved + settled
 * − debt.
 */
export const bucketFields = ['id', 'starts_at', 'ends_at', 'granted', 'reserved', 'settled', 'debt'] as const
type BucketField = (typeof bucketFields)[number]

/**
 * One row with everything that an account's turns change: the buckets of the current periods, and the end of its chain. A
 * bucket whose `id` is 0 has not been opened. On SQLite the row may be behind: read it with `current-balance.ts`.
 */
export type BalanceTable = {
  account: string
  /** Position of the last link of the account's chain. */
  seq: number
  hash: Uint8Array
  /** The account's newest turn, 0 before the first; `turn.previous_turn` leads from it to the older turns. */
  last_turn: number
} & Record<`${Pool}_${Window}_${BucketField}`, number>

/**
 * The turn after which balances may be behind. A balance contains every change of the turns up to `turn` that was made before
 * the watermark; the turns that were held then are in `balance_watermark_hold`. The table has one row.
 */
interface BalanceWatermarkTable {
  /**
   * Identifies the process whose balance cache is valid. A process that starts a cache increments it, so that all others
   * discard theirs.
   */
  epoch: number
  turn: number
  /** The newest turn. If an id between the two is missing, a turn was deleted that no balance contains. */
  newest_turn: number
}

interface BalanceWatermarkHoldTable {
  turn: number
}

/** A bucket that has left the balance because its period is over; late endings of its holds still change it. */
export interface BucketTable extends Record<BucketField, number> {
  account: string
  pool: Pool
  window: Window
}

export interface PackTable {
  id: string
  account: string
  kind: PackKind
  pool: Pool
  granted: number
  reserved: number
  settled: number
  expires_at: number
  created_at: number
}

/**
 * The turn log; a turn in state `held` is an open hold. An ended turn is a link of its account's chain, so most of its columns
 * are final. `turn-columns.ts` shows which step sets which column.
 */
export interface TurnTable {
  id: Generated<number>
  /**
   * The account's turn before this one. An index by account would add a page to write, and a quarter of the cost, to every
   * turn.
   */
  previous_turn: number
  request_id: string
  account: string
  model: string
  /** The API format of the request. */
  api_format: string
  /** The model as the client named it; null if that was the product's id. */
  requested_model: string | null
  /** The id of an API key, or another `UsageSource`. */
  credential: string
  pool: Pool
  state: TurnState
  /** The process that holds it. */
  owner_process: number
  /** By the owner's monotonic clock, which means nothing to other processes. */
  lease_until: number
  started_at: number
  ended_at: number | null
  /** Held credits in total, and the part held in the plan's pools (the same in each of the three windows). */
  reserved: number
  reserved_plan: number
  /** JSON `[[pack, credits], …]` of the credits held in packs, or null. */
  reserved_packs: string | null
  /** The buckets it is charged to, by their ids within the account. */
  day_bucket: number
  week_bucket: number
  month_bucket: number
  credits: number
  /** Credits that neither the plan's windows nor packs covered. */
  debt: number
  /** JSON `[day, week, month]` of each window's debt, or null if `debt` is 0. */
  window_debts: string | null
  /** JSON `[[pack, credits], …]` of the credits paid from packs, or null. */
  settled_packs: string | null
  price_input: number
  /** Null if it was the same as `price_input`. */
  price_cached_input: number | null
  price_output: number
  discount_percent: number
  input_tokens: number
  /** The part of `input_tokens` that the upstream read from its cache. */
  cached_input_tokens: number
  output_tokens: number
  estimated: number
  /** The upstream's usage report if it was rejected; null otherwise. */
  disputed_input: number | null
  disputed_output: number | null
  code: string | null
  upstream_status: number | null
  target: string | null
  /** The account's plan when the turn ended. Null, as in the three columns below: it ended under an older version, or its process died. */
  plan: string | null
  /** The model and the id of the answer, as the upstream named them; null if it named none. */
  upstream_model: string | null
  upstream_response_id: string | null
  /** What the upstream charges the operator, by the configured prices; null if none are configured. */
  upstream_cost_nanodollars: number | null
  /** From the start to the first visible token; null: there was none, or the turn ended under an older version. */
  first_token_ms: Generated<number | null>
  /** The calls of upstreams, as `encodeAttempts` writes them; null as above. */
  attempts: Generated<string | null>
  idempotency_key: string | null
  body_hash: string | null
  /** The position in the account's chain, 0 while it is held. */
  seq: number
  /** Which columns the link's hash covers (`hash-chain.ts`); 1 while the turn is held. */
  hash_version: Generated<number>
  /** The hash of the hold; after the ending the hash of its link in the chain, which covers the first. */
  hash: Uint8Array
}

export type EntryKind = 'open' | 'limit' | 'grant' | 'adjust'

/**
 * The links of an account's chain that are not turns: a bucket was opened, its limit changed, a pack was granted, credits were corrected. Rows are
 * never changed.
 */
export interface EntryTable {
  account: string
  seq: number
  kind: EntryKind
  at: number
  /** JSON; its shape depends on `kind`. */
  detail: string
  /** Covers all of the above and the hash of the link before. */
  hash: Uint8Array
}

/** Sums of an account's ended turns that began in the same quarter of an hour, by what members filter by. */
interface UsageSumTable {
  account: string
  starts_at: number
  pool: Pool
  model: string
  credential: string
  api_format: string
  /** Turns that were charged. */
  turns: number
  /** Turns that cost nothing because they failed. */
  failed: number
  credits: number
  input_tokens: number
  cached_input_tokens: number
  output_tokens: number
}

/** An account's balances at the link up to which its chain was pruned. One per account. */
export interface CheckpointTable {
  account: string
  /** Position of the last link that it replaces. */
  seq: number
  hash: Uint8Array
  /** JSON of every balance at that link; `balance-replay.ts` has the shape. */
  balances: string
  /** A hash of all of the above. */
  seal: Uint8Array
}

/** The accounts that the ledger has opened, in a hash chain, so that no account can disappear unnoticed. */
export interface LedgerAccountTable {
  number: number
  account: string
  hash: Uint8Array
}

/** The end of that chain: without it a missing last row could not be detected. */
export interface LedgerAccountHeadTable {
  number: number
  hash: Uint8Array
}

interface ImageTable {
  hash: string
  kind: ImageKind
  bytes: number
  created_at: number
  accessed_at: number
}

interface ImageOwnerTable {
  hash: string
  account: string
  created_at: number
}

interface ProcessTable {
  id: Generated<number>
  name: string
  pid: number
  started_at: number
}

export interface MigrationTable {
  name: string
  applied_at: number
  /** On a shared database: the oldest migration whose version still works with this one. */
  readable_by?: string | null
}
