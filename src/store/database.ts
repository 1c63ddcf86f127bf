/** The interface to the database that every repository uses. */
import type { Kysely } from 'kysely'
import type { AccountBalance } from './ledger/account-balance.ts'
import type { Schema } from './schema/schema.ts'

/** `Retry-After` while the disk is full: making room takes a person. */
export const diskFullRetrySeconds = 30

export interface Database {
  readonly kind: 'sqlite' | 'postgres'
  /** Sees every acknowledged write; refuses to write. */
  readonly read: Kysely<Schema>
  /**
   * For every write of one statement, and every read that the write depends on. Statements behave as if they ran one after
   * another.
   */
  readonly write: Kysely<Schema>
  /** The account's current balance; undefined if the ledger has not opened the account. */
  readAccountBalance(account: string): Promise<AccountBalance | undefined>
  /**
   * Runs several statements as one transaction. On SQLite every other writer waits, turns included: keep it short and never
   * await the network inside. On PostgreSQL `work` runs again from its beginning after a conflict: it must do nothing but use
   * `transaction`.
   */
  transact<Result>(work: (transaction: Kysely<Schema>) => Promise<Result>): Promise<Result>
}
