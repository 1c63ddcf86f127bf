/**
 * An account's purse as it is now, in SQL that any database serves: its row, and the turns that the row does not have yet. The only way
 * to read one, but for the writer's, because a row alone may be behind.
 */
import type { Kysely, RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { MovedTurn } from './purse.ts'
import { movedColumns, Purse } from './purse.ts'
import type { PurseTable, Schema } from './schema.ts'

/** In one statement, which sees one moment: between two the row might be written, and turns forgotten that it was read without. */
export async function purseNow(read: Kysely<Schema>, account: string): Promise<Purse | undefined> {
  const { rows } = await sql<PurseTable & Aliased>`
    select written.*, ${sql.join(movedColumns.map((name) => sql`moved.${sql.ref(name)} as ${sql.ref(`turn_${name}`)}`))}
    from written_purse as written
    left join (
      ${turnsOf(account, sql`id > (select turn from purse_mark)`)}
      union all
      ${turnsOf(account, sql`id in (select turn from purse_mark_hold)`)}
    ) as moved on moved.id > written.last_turn or moved.seq > written.seq
    where written.account = ${account}`.execute(read)
  const [row] = rows
  if (row === undefined) return undefined
  const purse = Purse.from(row)
  purse.takeIn(rows.flatMap((each) => (each.turn_id === null ? [] : [turnIn(each)])))
  return purse
}

/** Its newest turn, from which the others are found; 0 where it has none. */
export function newestTurnOf(account: string): RawBuilder<number> {
  return sql<number>`(
    select max(id) from (
      select last_turn as id from written_purse where account = ${account}
      union all
      select id from turn where id > (select turn from purse_mark) and account = ${account}
    ) as newest)`
}

type Aliased = { readonly [Name in keyof MovedTurn as `turn_${Name}`]: MovedTurn[Name] | null }

/** The turn of a joined row, which has one. */
function turnIn(row: Aliased): MovedTurn {
  return Object.fromEntries(movedColumns.map((name) => [name, row[`turn_${name}`]])) as unknown as MovedTurn
}

function turnsOf(account: string, which: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select ${sql.join(movedColumns.map((name) => sql.ref(name)))} from turn where ${which} and account = ${account}`
}
