/**
 * Rows as one JSON parameter, so that a batch of any size is one statement with one text: a statement with a parameter for each value costs
 * more to build and to prepare than to run.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Database } from '../database.ts'

export type JsonColumns = Readonly<Record<string, 'whole' | 'text'>>
export type JsonRow = readonly (string | number | null)[]

/** `json_each(…) as row` with the values of each row in `value`. */
export function selectRows(kind: Database['kind'], rows: readonly JsonRow[]): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  return kind === 'sqlite' ? sql`json_each(${json}) as row` : sql`jsonb_array_elements(${json}::jsonb) as row(value)`
}

/** The value at a position of the row. */
export function pickValue(kind: Database['kind'], position: number, type: 'whole' | 'text'): RawBuilder<unknown> {
  const value = sql.raw(`(row.value ->> ${position})`)
  return kind === 'postgres' && type === 'whole' ? sql`${value}::bigint` : value
}

/** `insert into table (columns) select …` of these rows; `after` follows it, such as a conflict clause. */
export function insertRows(
  kind: Database['kind'],
  table: string,
  columns: JsonColumns,
  rows: readonly JsonRow[],
  after: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  const values = Object.values(columns).map((type, position) => pickValue(kind, position, type))
  // Without `where`, SQLite would read the conflict clause as a join.
  return sql`insert into ${sql.table(table)} (${sql.join(Object.keys(columns).map((name) => sql.ref(name)))})
    select ${sql.join(values)} from ${selectRows(kind, rows)} where true ${after}`
}
