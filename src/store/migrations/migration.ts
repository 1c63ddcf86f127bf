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
  /** Where nodes that start together would do the same step at once: what lets one of them do it first, until its transaction ends. */
  readonly lock: RawBuilder<unknown> | null
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

/** A migration by its name, loaded where it is not yet done. */
export interface Step {
  /** Sorts in the order of its number: `0001-accounts`. Never changed once released. */
  readonly name: string
  /**
   * Where several nodes share the database: the oldest step whose version may go on working, and start, when this one is done. Without, all
   * nodes of older versions must have stopped.
   */
  readonly readableBy?: string
  load(): Promise<Migration>
}

export interface Migration {
  up(db: Kysely<Schema>, dialect: Dialect): Promise<void>
}
