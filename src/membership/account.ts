/** Accounts: who owns usage. */

export type AccountStatus = 'active' | 'disabled' | 'deleted'

export interface Account {
  /** `acc_` + 26 characters, time-sortable. */
  readonly id: string
  /** Lower-cased; null once the person has been forgotten. */
  readonly email: string | null
  /** A plan id of the configuration. */
  readonly plan: string
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

export interface Accounts {
  /** `undefined` when the address is taken. */
  create(account: NewAccount): Promise<Account | undefined>
  /** By id or address; deleted accounts are found by id only. */
  find(idOrEmail: string): Promise<Account | undefined>
  list(page: { readonly after?: string; readonly limit: number }): Promise<readonly Account[]>
  count(): Promise<number>
  /** All of these: false when there is no such account. */
  setPlan(id: string, plan: string): Promise<boolean>
  setStatus(id: string, status: 'active' | 'disabled'): Promise<boolean>
  /** Forgets the person: address, password, sessions and keys go; the ledger stays. */
  forget(id: string, at: number): Promise<boolean>
}
