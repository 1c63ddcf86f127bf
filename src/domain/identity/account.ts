/** Accounts, the owners of usage. */
import type { PlanTerms } from '../billing/subscriptions/terms.ts'
import type { UsageCarryOver } from '../billing/usage/carried-usage.ts'

export type AccountStatus = 'active' | 'disabled' | 'deleted'

export interface Account {
  /** `acc_` + 26 characters, time-sortable. */
  readonly id: string
  /** In lower case; null once the account is erased. */
  readonly email: string | null
  /** A plan id of the configuration, or of `terms`. */
  readonly plan: string
  /** When the plan ends and the default plan applies again; null for no end. */
  readonly planUntil: number | null
  /** The terms of the running subscription; null where the configuration decides what the plan gives. */
  readonly terms: PlanTerms | null
  readonly status: AccountStatus
  readonly createdAt: number
}

export interface NewAccount {
  readonly id: string
  readonly email: string
  readonly plan: string
  /** PHC string, or null for accounts that sign in otherwise. */
  readonly passwordHash: string | null
  /** Whether the person has proven that the address is theirs. */
  readonly emailVerified: boolean
  readonly at: number
}

/** An account with its password hash, for signing in. Never leaves the domain. */
export interface SignInRecord {
  readonly account: Account
  readonly passwordHash: string | null
  readonly emailVerified: boolean
}

export interface Accounts {
  /**
   * `undefined` when the address is taken, or with `onePerMailbox` when any spelling of its mailbox (`isSameMailbox`) is. Of concurrent calls
   * for one mailbox one creates the account.
   */
  create(account: NewAccount, rules?: { readonly onePerMailbox: boolean }): Promise<Account | undefined>
  /** By id or address; deleted accounts are found by id only. */
  find(idOrEmail: string): Promise<Account | undefined>
  /** The accounts of one canonical address (`canonicalizeEmail`), oldest first. */
  findByCanonicalEmail(canonicalEmail: string): Promise<readonly Account[]>
  /** Like `find`, with the secrets. */
  findForSignIn(idOrEmail: string): Promise<SignInRecord | undefined>
  setPasswordHash(id: string, hash: string): Promise<boolean>
  /**
   * Replaces the address by one that is proven, and stores the usage of the person who had the old one in the same transaction. False where
   * an account has the address, or with `onePerMailbox` another spelling of its mailbox.
   */
  setEmail(
    id: string,
    email: string,
    rules: { readonly onePerMailbox: boolean; readonly carryOver: UsageCarryOver | null },
  ): Promise<boolean>
  /** Marks the address as proven and removes the password set before, which may be another person's. True if it was unproven. */
  confirmEmail(id: string): Promise<boolean>
  list(page: { readonly after?: string; readonly limit: number }): Promise<readonly Account[]>
  count(): Promise<number>
  /** Number of accounts on each plan that have no terms of their own, without deleted ones. */
  countByPlan(): Promise<readonly { readonly plan: string; readonly accounts: number }[]>
  /**
   * Sets the plan of an account without subscriptions, as the configuration has it; false if there is no such account. `SubscriptionService`
   * also decides about subscriptions.
   */
  setPlan(id: string, plan: string, until?: number): Promise<boolean>
  /**
   * Ends the console's sessions of a disabled account too; `active` takes back a deletion that waits. Undefined for an account that is deleted
   * or unknown. @throws LastOwnerError for the last active owner
   */
  setStatus(id: string, status: 'active' | 'disabled'): Promise<'changed' | 'unchanged' | undefined>
  /** Whether turns go on with packs that the member bought when the plan is used up; true by default. */
  readSpendsPacks(id: string): Promise<boolean>
  setSpendsPacks(id: string, spendsPacks: boolean): Promise<void>
  /** Moves accounts without terms whose plan has ended to `plan`; returns their ids. */
  endExpiredPlans(now: number, plan: string): Promise<readonly string[]>
  /**
   * Erases the person: address, password, sessions, keys and links. The ledger stays, and `carryOver` is stored in the same transaction.
   * @throws LastOwnerError for the last active owner
   */
  erase(id: string, at: number, carryOver?: UsageCarryOver | null): Promise<boolean>
}
