/** The tables of sign-in, devices, boosts and the audit log, as kysely sees them. Instants are milliseconds, flags 0 or 1, hashes bytes. */
import type { Generated } from 'kysely'
import type { AuditEvent } from '../membership/audit.ts'
import type { DeviceState } from '../membership/device-login.ts'
import type { PackKind } from '../membership/ledger.ts'
import type { Window } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import type { SessionKind, SessionMethod } from '../membership/session.ts'

export interface MembershipSchema {
  readonly session: SessionTable
  readonly account_change: AccountChangeTable
  readonly mail_code: MailCodeTable
  readonly identity: IdentityTable
  readonly provider_login: ProviderLoginTable
  readonly device_login: DeviceLoginTable
  readonly invite_code: InviteCodeTable
  readonly invite: InviteTable
  readonly rush: RushTable
  readonly boost_claim: BoostClaimTable
  readonly attempt: AttemptTable
  readonly person_use: PersonUseTable
  readonly audit: AuditTable
  readonly app: AppTable
  readonly app_record: AppRecordTable
}

export interface SessionTable {
  id: string
  account: string
  /** An app's session is kept as a command line's that came by a device. */
  kind: Exclude<SessionKind, 'app'>
  method: Exclude<SessionMethod, 'consent'>
  hash: Uint8Array
  client: string | null
  /** The program it was approved for; null for people's own. */
  app: string | null
  address: string | null
  created_at: number
  last_used_at: number
  /** The end whatever happens; the idle end is reckoned from `last_used_at`. */
  expires_at: number
}

/** Which accounts' credentials changed, in order: how other processes learn what to forget. */
export interface AccountChangeTable {
  seq: Generated<number>
  account: string
}

/** A letter: its code is good for minutes, its link for as long as it counts. */
export interface MailCodeTable {
  link: Uint8Array
  browser: Uint8Array
  address: string
  mailbox: string
  network: string
  known: number
  code_hash: Uint8Array
  /** How often the code may be tried; never more than that are `attempts`. */
  tries: number
  attempts: number
  /** A password to be the account's once the code is entered. */
  password_hash: string | null
  invite: string | null
  used: number
  created_at: number
}

export interface IdentityTable {
  provider: string
  subject: string
  account: string
  created_at: number
}

export interface ProviderLoginTable {
  state: Uint8Array
  provider: string
  nonce: string
  verifier: string
  next: string
  invite: string | null
  expires_at: number
}

export interface DeviceLoginTable {
  code_hash: Uint8Array
  user_code: string
  client: string
  client_version: string | null
  hostname: string | null
  address: string
  network: string
  state: DeviceState
  account: string | null
  interval_seconds: number
  polled_at: number | null
  /** Whether the last poll came too early. */
  hurried: number
  started_at: number
  expires_at: number
}

export interface InviteCodeTable {
  account: string
  code: string
}

export interface InviteTable {
  invited: string
  inviter: string
  /** Keyed hashes of the persons, so that aliases of one address count once and outlive a deleted account. */
  person: Uint8Array
  inviter_person: Uint8Array
  /** `due` from the invited account's first charged turn; then `payable` or `capped`, and `paid` once both packs are granted. */
  state: 'pending' | 'due' | 'payable' | 'capped' | 'paid'
  created_at: number
  decided_at: number | null
}

export interface RushTable {
  id: string
  packs: number
  pool: Pool
  credits: number
  /** How long a pack lasts from the moment it is taken. */
  pack_ms: number
  starts_at: number
  ends_at: number
  opened_at: number
}

/** An award: a decision to grant a pack; the ledger is told after it, under the same id, as often as needed. The table keeps its first name. */
export interface BoostClaimTable {
  id: string
  account: string
  kind: PackKind
  pool: Pool
  credits: number
  rush: string | null
  at: number
  expires_at: number
  granted: number
}

/** What a person whose account is gone has used of a pool in a period; kept until that ends. */
export interface PersonUseTable {
  person: Uint8Array
  pool: Pool
  window: Window
  starts_at: number
  ends_at: number
  used: number
}

/** One thing that was tried; it counts until `ends_at`. */
export interface AttemptTable {
  id: Generated<number>
  subject: string
  ends_at: number
}

export interface AuditTable {
  id: string
  account: string | null
  event: AuditEvent
  at: number
  address: string | null
  request_id: string | null
  /** JSON, or null. */
  detail: string | null
}

export interface AppTable {
  id: string
  /** JSON. */
  metadata: string
  created_at: number
  /** When a member last approved it. */
  used_at: number | null
}

export interface AppRecordTable {
  kind: string
  hash: Uint8Array
  session: string | null
  /** JSON, without the word itself. */
  payload: string
  consumed_at: number | null
  expires_at: number
}
