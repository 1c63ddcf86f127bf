/** The two ways into the database that every repository is written against. */
import type { Kysely } from 'kysely'
import type { Purse } from './purse.ts'
import type { Schema } from './schema.ts'

export interface Database {
  /** Sees everything that was acknowledged before; refuses to write. */
  readonly read: Kysely<Schema>
  /** Every write of one statement, and every read that it depends on. It is as if statements came one after another. */
  readonly write: Kysely<Schema>
  /** An account's purse as it is now; undefined before its books are opened. */
  purseOf(account: string): Promise<Purse | undefined>
  /**
   * Several statements, or none of them. Where nobody else may write meanwhile everybody waits, money included: keep it short and never
   * await the network inside. Where others may, `work` is done again from its beginning when they came in its way: it must do nothing but
   * ask `transaction`.
   */
  transact<Result>(work: (transaction: Kysely<Schema>) => Promise<Result>): Promise<Result>
}
