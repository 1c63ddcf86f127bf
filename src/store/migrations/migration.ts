/** One step of the schema, and what it may ask of the database. */
import type { Kysely, RawBuilder } from 'kysely'
import type { Schema } from '../schema.ts'

/** What the databases call the same thing. */
export interface Dialect {
  /** A whole number of 64 bits: amounts, instants, ids. */
  readonly whole: 'integer' | 'bigint'
  readonly bytes: 'blob' | 'bytea'
  /** As a column's default. */
  readonly noBytes: RawBuilder<unknown>
  /** How an ever-growing id that is never used twice is declared; `log` where the newest row is never deleted, which may be cheaper. */
  readonly serial: RawBuilder<unknown>
  readonly logSerial: RawBuilder<unknown>
  /** What stands after a table's closing bracket; `clustered` where rows are always sought by their primary key. */
  readonly tableEnd: RawBuilder<unknown>
  readonly clusteredTableEnd: RawBuilder<unknown>
  /** Null where one server has the database for itself. */
  readonly sharing: Sharing | null
  /** Statements that make every update and delete of a table's rows fail. */
  sealed(table: string): readonly RawBuilder<unknown>[]
  /** The same, but only for rows (as `old`) that the conditions hold of; null where there is no rule. */
  kept(
    table: string,
    rules: { readonly change: RawBuilder<unknown> | null; readonly deletion: RawBuilder<unknown> | null },
  ): readonly RawBuilder<unknown>[]
  /** A trigger: after each changed row that `when` holds of, `statement` is run in the same transaction. */
  after(
    name: string,
    table: string,
    change: 'delete' | { readonly update: readonly string[] },
    when: RawBuilder<unknown> | null,
    statement: RawBuilder<unknown>,
  ): RawBuilder<unknown>
}

/** A database that several nodes work on, of two versions at times. */
export interface Sharing {
  /**
   * Nodes that start together would do the same step at once: lets one of them do it first, until its transaction ends. From then on no
   * statement waits long for a table that somebody reads: all turns would wait behind it.
   */
  readonly lock: RawBuilder<unknown>
  /** Whether a transaction came to nothing because it did not wait. */
  isInUse(error: unknown): boolean
  /** How many nodes work on it now. */
  alive(db: Kysely<Schema>): Promise<number>
}

/** A migration by its name, loaded where it is not yet done. */
export interface Step {
  /** Sorts in the order of its number: `0001-accounts`. Never changed once released. */
  readonly name: string
  /**
   * Where several nodes share the database: the oldest step whose version may go on working, and start, when this one is done. Without, all
   * nodes must have stopped.
   */
  readonly readableBy?: string
  load(): Promise<Migration>
}

export interface Migration {
  up(db: Kysely<Schema>, dialect: Dialect): Promise<void>
}
