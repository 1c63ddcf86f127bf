/** The two ways into the database that every repository is written against. */
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

export interface Database {
  /** Sees everything that was acknowledged before; refuses to write. */
  readonly read: Kysely<Schema>
  /**
   * Every write, and every read that a write depends on. A single statement shares its commit with its neighbours; a transaction has the
   * writer to itself and makes everybody else wait, money included: keep it short and never await the network inside one.
   */
  readonly write: Kysely<Schema>
}
