/** The tables of operators: roles, second factors, sessions, shell links, keys, targets that are out, and notices, as Kysely types. Instants are ms. */
import type { PasskeyPurpose } from '../../domain/identity/operators/passkeys.ts'
import type { NoticeKind } from '../../domain/notice.ts'
import type { OperatorRole } from '../../domain/identity/operators/operator-role.ts'

export interface OperatorSchema {
  readonly operator: OperatorTable
  readonly second_factor: SecondFactorTable
  readonly recovery_code: RecoveryCodeTable
  readonly passkey: PasskeyTable
  readonly passkey_challenge: PasskeyChallengeTable
  readonly operator_session: OperatorSessionTable
  readonly shell_link: ShellLinkTable
  readonly operator_key: OperatorKeyTable
  readonly operator_request: OperatorRequestTable
  readonly taken_out_target: TakenOutTargetTable
  readonly notice: NoticeTable
}

interface OperatorTable {
  account: string
  role: OperatorRole
  /** The sign-in provider whose groups gave the role. */
  provider: string | null
  granted_at: number
}

interface SecondFactorTable {
  account: string
  /** Encrypted with a key of the installation. */
  secret: Uint8Array
  confirmed_at: number | null
  /** The newest step of 30 s that was accepted; 0 before the first. */
  used_step: number
}

interface RecoveryCodeTable {
  account: string
  hash: Uint8Array
  used_at: number | null
}

export interface PasskeyTable {
  id: string
  account: string
  name: string
  credential: Uint8Array
  public_key: Uint8Array
  counter: number
  /** Separated by blanks. */
  transports: string
  created_at: number
  last_used_at: number | null
}

/** One for each session and purpose; the newest counts. */
interface PasskeyChallengeTable {
  session: string
  purpose: PasskeyPurpose
  challenge: Uint8Array
  expires_at: number
}

/** Of an account (`account`, `session`), or of a shell link (`system_user`). */
interface OperatorSessionTable {
  id: string
  hash: Uint8Array
  account: string | null
  session: string | null
  system_user: string | null
  address: string | null
  client: string | null
  verified_at: number
  created_at: number
  expires_at: number
}

interface ShellLinkTable {
  hash: Uint8Array
  system_user: string
  created_at: number
  expires_at: number
  used_at: number | null
}

export interface OperatorKeyTable {
  id: string
  account: string
  name: string
  prefix: string
  last4: string
  hash: Uint8Array
  /** Separated by blanks. */
  scopes: string
  /** Separated by blanks; null: any. */
  networks: string | null
  daily_credits: number | null
  /** The start of the day that `spent_credits` counts. */
  spent_day: number
  spent_credits: number
  created_at: number
  last_used_at: number | null
  expires_at: number | null
  revoked_at: number | null
}

/** An `Idempotency-Key` and the answer to its request; without a status the request runs, or its end is unknown. */
interface OperatorRequestTable {
  hash: Uint8Array
  fingerprint: string
  status: number | null
  body: string | null
  created_at: number
}

export interface TakenOutTargetTable {
  /** `upstream/model`. */
  target: string
  taken_out_at: number
  ends_at: number
  reason: string
}

interface NoticeTable {
  id: string
  kind: NoticeKind
  text_en: string | null
  text_zh: string | null
  starts_at: number
  ends_at: number
  revision: number
  created_at: number
}
