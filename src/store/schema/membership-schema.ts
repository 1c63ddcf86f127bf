/**
 * The tables of accounts' sign-in, devices, boosts and the audit log, as Kysely types. Instants are milliseconds, flags 0 or 1,
 * hashes bytes.
 */
import type { Generated } from 'kysely'
import type { AuditEvent } from '../../domain/identity/audit.ts'
import type { DeviceState } from '../../domain/identity/device-login.ts'
import type { PackKind } from '../../domain/billing/ledger.ts'
import type { Window } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import type { SessionKind, SessionMethod } from '../../domain/identity/session.ts'

export interface MembershipSchema {
  readonly session: SessionTable
  readonly account_change: AccountChangeTable
  readonly email_verification: EmailVerificationTable
  readonly identity: IdentityTable
  readonly provider_login: ProviderLoginTable
  readonly device_login: DeviceLoginTable
  readonly invite_code: InviteCodeTable
  readonly invite: InviteTable
  readonly rush: RushTable
  readonly boost_claim: BoostClaimTable
  readonly attempt: AttemptTable
  readonly carried_usage: CarriedUsageTable
  readonly usage_alert_subscription: UsageAlertSubscriptionTable
  readonly usage_alert: UsageAlertTable
  readonly account_deletion: AccountDeletionTable
  readonly audit: AuditTable
  readonly oauth_client: OAuthClientTable
  readonly oauth_record: OAuthRecordTable
}

export interface SessionTable {
  id: string
  account: string
  kind: SessionKind
  method: SessionMethod
  hash: Uint8Array
  client: string | null
  /** The client that the member approved; set exactly where `kind` is `app`. */
  oauth_client: string | null
  address: string | null
  created_at: number
  last_used_at: number
  /** The absolute end; the idle end follows from `last_used_at`. */
  expires_at: number
}

/** Accounts whose credentials changed, in order, so that other processes drop their cached credentials. */
interface AccountChangeTable {
  seq: Generated<number>
  account: string
}

/** A verification email: its code is valid for minutes, its link for as long as the email counts against the limits. */
interface EmailVerificationTable {
  link_hash: Uint8Array
  browser_hash: Uint8Array
  email: string
  canonical_email: string
  network: string
  known_device: number
  code_hash: Uint8Array
  max_attempts: number
  attempts: number
  /** Becomes the account's password once the code or link is used. */
  password_hash: string | null
  invite_code: string | null
  used: number
  created_at: number
}

interface IdentityTable {
  provider: string
  subject: string
  account: string
  created_at: number
}

interface ProviderLoginTable {
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
  /** Whether the last poll came before the interval was over. */
  polled_early: number
  started_at: number
  expires_at: number
}

interface InviteCodeTable {
  account: string
  code: string
}

interface InviteTable {
  invited: string
  inviter: string
  /** Keyed hashes of the persons, so that aliases of one address count once, also after the account is deleted. */
  person: Uint8Array
  inviter_person: Uint8Array
  /**
   * `due` once the invited account's first charged turn is settled; then `payable` or `capped`, and `paid` once both packs are
   * granted.
   */
  state: 'pending' | 'due' | 'payable' | 'capped' | 'paid'
  created_at: number
  decided_at: number | null
}

export interface RushTable {
  id: string
  packs: number
  pool: Pool
  credits: number
  /** How long a pack is valid after it is claimed. */
  pack_ms: number
  starts_at: number
  ends_at: number
  opened_at: number
}

/** A decision to grant a pack. The grant follows under the same id, and is retried until the ledger has it. */
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

/** Usage of a pool in a period by a person whose account was deleted; kept until the period ends. */
interface CarriedUsageTable {
  person: Uint8Array
  pool: Pool
  window: Window
  starts_at: number
  ends_at: number
  used: number
}

/** An account with usage alerts, with the member's language and time zone. */
interface UsageAlertSubscriptionTable {
  account: string
  language: 'en' | 'zh' | null
  time_zone: string | null
  created_at: number
}

/** An email about a window of a pool at a level. */
interface UsageAlertTable {
  account: string
  pool: Pool
  window: Window
  /** The end of the window. */
  ends_at: number
  level: number
  /** `sending`: a node has begun to send it, and only that node may end it. */
  state: 'due' | 'sending' | 'sent' | 'dropped'
  attempts: number
  due_at: number
}

/** A counted attempt; it counts until `ends_at`. */
interface AttemptTable {
  id: Generated<number>
  subject: string
  ends_at: number
}

interface AuditTable {
  id: string
  account: string | null
  event: AuditEvent
  at: number
  address: string | null
  request_id: string | null
  /** JSON, or null. */
  detail: string | null
  /** JSON of the operator who acted; null for members. */
  actor: Generated<string | null>
  /** Why the operator acted; members do not see it. */
  reason: Generated<string | null>
}

interface OAuthClientTable {
  id: string
  /** JSON. */
  metadata: string
  created_at: number
  /** When a member last approved it. */
  approved_at: number | null
}

interface OAuthRecordTable {
  kind: string
  hash: Uint8Array
  session: string | null
  /** JSON, without the token itself. */
  payload: string
  consumed_at: number | null
  expires_at: number
}

/** Waits for a payment provider. */
export interface AccountDeletionTable {
  account: string
  requested_at: number
  due_at: number
  attempts: number
  language: 'en' | 'zh' | null
  time_zone: string | null
}
