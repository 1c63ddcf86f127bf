/** Accounts: who owns usage. */
import type { Legacy } from './person.ts'

export type AccountStatus = 'active' | 'disabled' | 'deleted'

export interface Account {
  /** `acc_` + 26 characters, time-sortable. */
  readonly id: string
  /** Lower-cased; null once the person has been forgotten. */
  readonly email: string | null
  /** A plan id of the configuration. */
  readonly plan: string
  /** When the plan ends and the default plan comes back; null for as long as nobody changes it. */
  readonly planUntil: number | null
  readonly status: AccountStatus
  readonly createdAt: number
}

export interface NewAccount {
  readonly id: string
  readonly email: string
  readonly plan: string
  /** PHC string, or null for accounts that sign in otherwise. */
  readonly passwordHash: string | null
  /** Whether the address is known to be the person's. */
  readonly emailVerified: boolean
  readonly at: number
}

/** What signing in needs to know; never leaves the membership rooms. */
export interface SignInRecord {
  readonly account: Account
  readonly passwordHash: string | null
  readonly emailVerified: boolean
}

export interface Accounts {
  /** `undefined` when the address is taken. */
  create(account: NewAccount): Promise<Account | undefined>
  /** By id or address; deleted accounts are found by id only. */
  find(idOrEmail: string): Promise<Account | undefined>
  /** The accounts of one person's addresses (`canonicalAddress`), oldest first. */
  ofMailbox(mailbox: string): Promise<readonly Account[]>
  /** As `find`, with the secrets. */
  findForSignIn(idOrEmail: string): Promise<SignInRecord | undefined>
  setPasswordHash(id: string, hash: string): Promise<boolean>
  /** The address was proven: an unproven account's password may be somebody else's, so it goes. True when it was unproven. */
  confirmAddress(id: string): Promise<boolean>
  list(page: { readonly after?: string; readonly limit: number }): Promise<readonly Account[]>
  count(): Promise<number>
  /** How many accounts, deleted ones apart, are on each plan. */
  byPlan(): Promise<readonly { readonly plan: string; readonly accounts: number }[]>
  /** All of these: false when there is no such account. */
  setPlan(id: string, plan: string, until?: number): Promise<boolean>
  setStatus(id: string, status: 'active' | 'disabled'): Promise<boolean>
  /** Gives accounts whose plan has ended `plan` in its place; returns their ids. */
  endPlans(now: number, plan: string): Promise<readonly string[]>
  /**
   * Forgets the person: address, password, sessions, keys and links go; the ledger stays, and in the same step what their legacy names is
   * kept.
   */
  forget(id: string, at: number, legacy?: Legacy | null): Promise<boolean>
}
