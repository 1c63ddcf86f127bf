/** The storage port of operators: roles, second factors, sessions of the console, shell links and keys. */
import type { AuditActor } from './operator-actor.ts'
import type { PasskeyRecords } from './passkeys.ts'
import type { GroupRole, OperatorRole, OperatorScope } from './operator-role.ts'

/** An account with a role. */
export interface Operator {
  readonly account: string
  readonly email: string | null
  readonly role: OperatorRole
  /** The sign-in provider whose groups gave the role; null: given by hand. */
  readonly provider: string | null
  readonly grantedAt: number
  readonly hasSecondFactor: boolean
}

/** Thrown instead of removing, disabling or deleting the last active owner. */
export class LastOwnerError extends Error {
  constructor() {
    super('This account is the last owner. Give another account the role first.')
    this.name = 'LastOwnerError'
  }
}

/** For what a deletion does before the transaction that checks this too. @throws LastOwnerError */
export async function assertNotLastOwner(operators: Pick<Operators, 'list'>, account: string, now: number): Promise<void> {
  const owners = (await operators.list(now)).filter(({ role }) => role === 'owner')
  if (owners.length === 1 && owners[0]?.account === account) throw new LastOwnerError()
}

export interface SecondFactor {
  /** Encrypted. */
  readonly secret: Uint8Array
  /** Null until a first code has proven that the authenticator has the secret. */
  readonly confirmedAt: number | null
}

export interface OperatorSession {
  /** `ops_` + 26 characters. */
  readonly id: string
  /** The member's session that it belongs to, and ends with; null for a shell link. */
  readonly session: string | null
  readonly account: string | null
  /** Null for an account whose role was taken. */
  readonly role: OperatorRole | null
  readonly systemUser: string | null
  readonly verifiedAt: number
  readonly createdAt: number
  readonly expiresAt: number
}

export interface NewOperatorSession extends Omit<OperatorSession, 'role'> {
  readonly hash: Uint8Array
  readonly address: string | null
  readonly client: string | null
}

export interface OperatorKey {
  /** `opk_` + 26 characters. */
  readonly id: string
  /** The maker. */
  readonly account: string
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly scopes: readonly OperatorScope[]
  /** Addresses and prefixes that may use it; null: any. */
  readonly networks: readonly string[] | null
  /** Credits that it may move each day, in either direction. */
  readonly dailyCredits: number | null
  readonly createdAt: number
  readonly lastUsedAt: number | null
  /** Null: no end. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export interface NewOperatorKey extends Omit<OperatorKey, 'lastUsedAt' | 'revokedAt'> {
  readonly hash: Uint8Array
}

/** A request with an `Idempotency-Key`, kept for a day. */
export interface OperatorRequest {
  /** Of the method, the path and the body. */
  readonly fingerprint: string
  /** Null while the request runs, or if its end is unknown. */
  readonly answer: { readonly status: number; readonly body: string | null } | null
}

export interface Operators extends PasskeyRecords {
  /** Whether anything can open the console: a role, a shell link that may be used, or a session of one. */
  isOpen(now: number): Promise<boolean>
  list(now: number): Promise<readonly Operator[]>
  /** Undefined for an account without a role that has effect, and for one that is not active. */
  find(account: string, now: number): Promise<Operator | undefined>
  /** Whether the account has a role, also one without effect now: because it is disabled, or its group role lapsed. */
  hasRole(account: string): Promise<boolean>
  /**
   * Null takes the role away, and with it sessions and keys. Returns the role of before; undefined if the account is not active.
   * @throws LastOwnerError
   */
  setRole(
    account: string,
    role: { readonly name: OperatorRole; readonly provider: string | null } | null,
    at: number,
  ): Promise<{ readonly before: OperatorRole | null } | undefined>
  /**
   * Gives the role that the groups of a provider say now, or takes one that they gave before. A role that was given by hand, or by another
   * provider, stays. Returns the roles of before and after.
   */
  applyGroupRole(
    account: string,
    provider: string,
    role: GroupRole | null,
    at: number,
  ): Promise<{ readonly before: OperatorRole | null; readonly after: OperatorRole | null }>

  findSecondFactor(account: string): Promise<SecondFactor | undefined>
  /** Replaces one that was never confirmed; false where one is confirmed. */
  beginSecondFactor(account: string, secret: Uint8Array): Promise<boolean>
  /** Confirms the factor with the first step, and stores the recovery codes. False where it is confirmed already. */
  confirmSecondFactor(
    account: string,
    confirmation: { readonly step: number; readonly recoveryHashes: readonly Uint8Array[]; readonly at: number },
  ): Promise<boolean>
  /** Accepts a step once, and none before it; false for a replay. */
  useStep(account: string, step: number): Promise<boolean>
  useRecoveryCode(account: string, hash: Uint8Array, at: number): Promise<boolean>
  countRecoveryCodes(account: string): Promise<number>
  replaceRecoveryCodes(account: string, hashes: readonly Uint8Array[]): Promise<void>
  /** Removes factor, recovery codes, passkeys and sessions; false if there was none. */
  removeSecondFactor(account: string): Promise<boolean>

  createSession(session: NewOperatorSession): Promise<void>
  /** Sessions of an account only while it is active, and while the member's session exists. */
  findSession(hash: Uint8Array, now: number): Promise<OperatorSession | undefined>
  verifySession(id: string, at: number): Promise<void>
  endSession(id: string): Promise<void>

  createShellLink(link: {
    readonly hash: Uint8Array
    readonly systemUser: string
    readonly createdAt: number
    readonly expiresAt: number
  }): Promise<void>
  /** Whether the link could be used; its system user. Changes nothing. */
  findShellLink(hash: Uint8Array, now: number): Promise<string | undefined>
  /** Exactly one of several callers gets the system user. */
  useShellLink(hash: Uint8Array, now: number): Promise<string | undefined>

  /** Undefined if the maker has `limit` live keys already. */
  createKey(key: NewOperatorKey, limit: number): Promise<OperatorKey | undefined>
  listKeys(account: string | null): Promise<readonly OperatorKey[]>
  findKey(id: string): Promise<OperatorKey | undefined>
  /** The key with the role that its maker has now; undefined if the maker has none, or is not active. */
  findKeyByHash(hash: Uint8Array, now: number): Promise<{ readonly key: OperatorKey; readonly role: OperatorRole } | undefined>
  recordKeyUse(id: string, at: number): Promise<void>
  /** False for a key that does not exist. */
  revokeKey(id: string, at: number): Promise<boolean>
  /** Counts credits against the key's limit of the day; false if they do not fit, and then nothing is counted. */
  spend(key: string, day: number, credits: number): Promise<boolean>

  /** Claims an idempotency key. Returns the earlier request if there is one. */
  beginRequest(hash: Uint8Array, fingerprint: string, at: number): Promise<OperatorRequest | undefined>
  endRequest(hash: Uint8Array, answer: { readonly status: number; readonly body: string | null }): Promise<void>
  /** For a request that was refused and changed nothing. */
  forgetRequest(hash: Uint8Array): Promise<void>

  sweep(now: number): Promise<void>
}

export type { AuditActor }
