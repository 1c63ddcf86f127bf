/**
 * Reads an account's balance on SQLite: its row plus the turns that the row lacks. Outside the writer this is the only way to
 * read a balance, because the row alone may be behind.
 */
import type { Kysely, RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { ReplayTurn } from './account-balance.ts'
import { replayColumns, AccountBalance } from './account-balance.ts'
import type { BalanceTable, Schema } from '../schema/schema.ts'

/** In one statement and so on one snapshot: between two statements the row could be written and its turns pruned. */
export async function readCurrentBalance(read: Kysely<Schema>, account: string): Promise<AccountBalance | undefined> {
  const { rows } = await sql<BalanceTable & AliasedTurn>`
    select written.*, ${sql.join(replayColumns.map((name) => sql`moved.${sql.ref(name)} as ${sql.ref(`turn_${name}`)}`))}
    from balance as written
    left join (
      ${selectTurns(account, sql`id > (select turn from balance_watermark)`)}
      union all
      ${selectTurns(account, sql`id in (select turn from balance_watermark_hold)`)}
    ) as moved on moved.id > written.last_turn or moved.seq > written.seq
    where written.account = ${account}`.execute(read)
  const [row] = rows
  if (row === undefined) return undefined
  const balance = AccountBalance.fromRow(row)
  balance.replay(rows.flatMap((each) => (each.turn_id === null ? [] : [toReplayTurn(each)])))
  return balance
}

/** The account's newest turn, from which `previous_turn` leads to the others; 0 if it has none. */
export function selectNewestTurn(account: string): RawBuilder<number> {
  return sql<number>`(
    select max(id) from (
      select last_turn as id from balance where account = ${account}
      union all
      select id from turn where id > (select turn from balance_watermark) and account = ${account}
    ) as newest)`
}

type AliasedTurn = { readonly [Name in keyof ReplayTurn as `turn_${Name}`]: ReplayTurn[Name] | null }

/** The turn of a joined row that has one. */
function toReplayTurn(row: AliasedTurn): ReplayTurn {
  return Object.fromEntries(replayColumns.map((name) => [name, row[`turn_${name}`]])) as unknown as ReplayTurn
}

function selectTurns(account: string, which: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select ${sql.join(replayColumns.map((name) => sql.ref(name)))} from turn where ${which} and account = ${account}`
}
