/** A schema change, and what the two databases call the same thing. */
import type { Kysely, RawBuilder } from 'kysely'
import type { Schema } from '../schema/schema.ts'

export interface Migration {
  /** Begins with its number, so that names sort in order: `0001-initial`. Never changed once released. */
  readonly name: string
  /**
   * Where nodes share the database: the oldest migration whose version can still start and work after this one. Without it, all nodes must
   * have stopped.
   */
  readonly readableBy?: string
  up(db: Kysely<Schema>, dialect: Dialect): Promise<void>
}

export interface Dialect {
  readonly database: 'sqlite' | 'postgres'
  /** A 64-bit integer: amounts, instants, ids. */
  readonly whole: 'integer' | 'bigint'
  readonly bytes: 'blob' | 'bytea'
  /** A text id, compared byte by byte whatever the language of the database. */
  readonly id: string
  /** The declaration of an id that grows and is never used twice. */
  readonly serial: string
  /** A literal of sixteen zero bytes. */
  readonly zeroHash: string
  /** Follows a table's closing bracket; `clustered` for tables that are always read by their primary key. */
  readonly tableEnd: string
  readonly clusteredTableEnd: string
  /** Null where one server has the database to itself. */
  readonly sharing: Sharing | null
  /** Statements that make every update and delete of a table's rows fail. */
  sealed(table: string): readonly RawBuilder<unknown>[]
  /** The same, only for rows (as `old`) that match the condition; null allows all. */
  kept(
    table: string,
    rules: { readonly change: RawBuilder<unknown> | null; readonly deletion: RawBuilder<unknown> | null },
  ): readonly RawBuilder<unknown>[]
  /** A trigger: after each changed row that matches `when`, `statement` runs in the same transaction. */
  after(
    name: string,
    table: string,
    change: 'delete' | 'insert' | { readonly update: readonly string[] },
    when: RawBuilder<unknown> | null,
    statement: RawBuilder<unknown>,
  ): RawBuilder<unknown>
}

/** A database that several nodes share, at times of two versions. */
interface Sharing {
  /**
   * Taken until the transaction ends, so that nodes that start together do not run the same migration at once. From then on no statement of
   * the transaction waits long for a table in use: every turn would wait behind it.
   */
  readonly lock: RawBuilder<unknown>
  /** Whether a transaction failed because it did not wait for a table. */
  isInUse(error: unknown): boolean
  countAliveNodes(db: Kysely<Schema>): Promise<number>
}
