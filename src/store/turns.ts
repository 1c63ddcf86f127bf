/** The turn log: asked newest first, forgotten oldest first. */
import type { Turn, TurnQuery } from '../membership/ledger.ts'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'
import type { Selectable } from 'kysely'

export async function turnsIn({ read }: Database, query: TurnQuery): Promise<readonly Turn[]> {
  let page = read.selectFrom('turn').selectAll().orderBy('id', 'desc').limit(query.limit)
  if (query.account !== undefined) page = page.where('account', '=', query.account)
  if (query.state !== undefined) page = page.where('state', '=', query.state)
  if (query.model !== undefined) page = page.where('model', '=', query.model)
  if (query.since !== undefined) page = page.where('started_at', '>=', query.since)
  if (query.before !== undefined) page = page.where('id', '<', query.before)
  return (await page.execute()).map(toTurn)
}

/**
 * Looks at the oldest `limit` turns only, so that a call costs the same however long the log is; ids grow with time, so the old ones
 * come first, and an open hold among them is left alone. The newest turn always stays: the next id is counted from it.
 */
export async function forgetTurnsIn({ write }: Database, before: number, limit: number): Promise<number> {
  const results = await write
    .deleteFrom('turn')
    .where('id', 'in', (oldest) =>
      oldest
        .selectFrom((from) => from.selectFrom('turn').select(['id', 'ended_at']).orderBy('id').limit(limit).as('oldest'))
        .select('id')
        .where('ended_at', '<', before)
        .where('id', '<', (newest) => newest.selectFrom('turn').select((select) => select.fn.max('id').as('newest'))),
    )
    .execute()
  return results.reduce((sum, result) => sum + Number(result.numDeletedRows), 0)
}

function toTurn(row: Selectable<Schema['turn']>): Turn {
  return {
    id: row.id,
    requestId: row.request_id,
    account: row.account,
    model: row.model,
    pool: row.pool,
    state: row.state,
    credits: row.credits,
    reserved: row.reserved,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    estimated: row.estimated === 1,
    code: row.code,
    upstreamStatus: row.upstream_status,
    target: row.target,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}
