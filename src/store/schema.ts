/**
 * The tables, as kysely sees them. Instants are milliseconds since the epoch, amounts whole credits, flags 0 or 1.
 * The columns themselves are made in `migrations/`; both must say the same.
 */
import type { Generated } from 'kysely'
import type { AccountStatus } from '../membership/account.ts'
import type { ImageKind } from '../membership/image.ts'
import type { PackKind, TurnState } from '../membership/ledger.ts'
import type { Window } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import type { MembershipSchema } from './membership-schema.ts'

export interface Schema extends MembershipSchema {
  readonly account: AccountTable
  readonly api_key: ApiKeyTable
  readonly written_purse: PurseTable
  readonly purse_mark: PurseMarkTable
  readonly purse_mark_hold: PurseMarkHoldTable
  readonly bucket: BucketTable
  readonly pack: PackTable
  readonly turn: TurnTable
  readonly entry: EntryTable
  readonly checkpoint: CheckpointTable
  readonly roster: RosterTable
  readonly roster_end: RosterEndTable
  readonly image: ImageTable
  readonly image_owner: ImageOwnerTable
  readonly process: ProcessTable
  readonly migration: MigrationTable
}

export interface AccountTable {
  id: string
  email: string | null
  /** One for all addresses of one person, null once they have been forgotten. */
  mailbox: string | null
  plan: string
  /** When the plan ends and the default plan comes back. */
  plan_until: number | null
  status: AccountStatus
  password_hash: string | null
  email_verified: number
  created_at: number
}

export interface ApiKeyTable {
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

/** What a bucket is made of, in the order of the purse's columns. `settled` includes `debt`; granted = remaining + reserved + settled − debt. */
export const bucketFields = ['id', 'starts_at', 'ends_at', 'granted', 'reserved', 'settled', 'debt'] as const
export type BucketField = (typeof bucketFields)[number]

/**
 * What one account's turns touch, all in one row: the buckets of the periods at hand, and the end of its chain. A bucket whose
 * `id` is 0 has not been opened. Written only now and then, so it is never to be read alone: `purse-now.ts` adds its turns since.
 */
export type PurseTable = {
  account: string
  /** Of the last link of the account's chain. */
  seq: number
  hash: Uint8Array
  /** The account's newest turn, 0 before the first: with `turn.previous` the way to its turns, newest first. */
  last_turn: number
} & Record<`${Pool}_${Window}_${BucketField}`, number>

/**
 * From where on purses may be behind. Every row has all that turns up to `turn` have done until they were marked; those that were held
 * then, and may have ended since, stand in `purse_mark_hold`. There is one mark.
 */
export interface PurseMarkTable {
  /** Whose memory of purses holds: moved on by whoever begins to keep some, so that everybody else forgets theirs. */
  round: number
  turn: number
  /** The newest turn there is. Between the two no id is missing, or a turn has been deleted that no purse tells of yet. */
  newest: number
}

export interface PurseMarkHoldTable {
  turn: number
}

/** A bucket that has left the purse because its period is over; late endings of its holds still come back to it. */
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
 * The turn log; a turn in state `held` is an open hold. An ended turn is itself a link of its account's chain, which is why most of its
 * columns are final from then on. `turn-columns.ts` says who knows which column when.
 */
export interface TurnTable {
  id: Generated<number>
  /**
   * The account's turn before this one. A chain instead of an index: an index by account would add a page to write, and a quarter of the
   * cost, to every turn.
   */
  previous: number
  request_id: string
  account: string
  model: string
  pool: Pool
  state: TurnState
  /** The process that holds it. */
  owner: number
  /** By the owner's clock of durations, which says nothing to anybody else. */
  until: number
  started_at: number
  ended_at: number | null
  /** Credits held in all, and how many of them by the plan's pools (from each of the three windows). */
  reserved: number
  reserved_plan: number
  /** JSON `[[pack, credits], …]` of what packs hold, or null. */
  reserved_packs: string | null
  /** The buckets it draws on, by their ids within the account. */
  day_bucket: number
  week_bucket: number
  month_bucket: number
  credits: number
  /** Credits that neither the plan's windows together nor packs covered. */
  debt: number
  /** JSON `[day, week, month]` of what each window had no room for, or null where `debt` is 0. While it is held, blanks may keep room for its ending. */
  window_debts: string | null
  /** JSON `[[pack, credits], …]` of what packs have paid, or null. */
  settled_packs: string | null
  price_input: number
  price_output: number
  discount_percent: number
  input_tokens: number
  output_tokens: number
  estimated: number
  /** What the upstream reported where that was not believed; null otherwise. */
  contradicted_input: number | null
  contradicted_output: number | null
  code: string | null
  upstream_status: number | null
  target: string | null
  idempotency_key: string | null
  body_hash: string | null
  /** Its place in the account's chain, 0 while it is held. */
  seq: number
  /** Of what it is held as; from its ending on of its link in the chain, which covers that. */
  hash: Uint8Array
}

export type EntryKind = 'open' | 'limit' | 'grant'

/** The links of an account's chain that are no turns: a bucket was opened, its limit changed, a pack was granted. Only ever added. */
export interface EntryTable {
  account: string
  seq: number
  kind: EntryKind
  at: number
  /** JSON, its shape depending on `kind`. */
  detail: string
  /** Of everything above and the hash of the link before, so that no byte changes unseen. */
  hash: Uint8Array
}

/** What an account's chain came to where it was cut off: what stands before it has been forgotten. One an account. */
export interface CheckpointTable {
  account: string
  /** Of the last link that it stands for. */
  seq: number
  hash: Uint8Array
  /** JSON: every balance as that link left it; `books.ts` has the shape. */
  balances: string
  /** Of everything above. */
  seal: Uint8Array
}

/** Every account that has books, in the order they were opened and chained to one another, so that no account's books can go missing. */
export interface RosterTable {
  number: number
  account: string
  hash: Uint8Array
}

/** Where the roster ends: its last row could be missed no other way. */
export interface RosterEndTable {
  number: number
  hash: Uint8Array
}

export interface ImageTable {
  hash: string
  kind: ImageKind
  bytes: number
  created_at: number
  accessed_at: number
}

export interface ImageOwnerTable {
  hash: string
  account: string
  created_at: number
}

export interface ProcessTable {
  id: Generated<number>
  name: string
  pid: number
  started_at: number
}

export interface MigrationTable {
  name: string
  applied_at: number
  /** Where nodes share the database: the oldest step whose version still works with it. */
  readable_by?: string | null
}
