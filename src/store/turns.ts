/** The turn log, asked newest first. */
import type { Kysely, Selectable, SelectQueryBuilder } from 'kysely'
import type { Turn, TurnQuery } from '../membership/ledger.ts'
import type { Database } from './database.ts'
import { newestTurnOf } from './purse-now.ts'
import type { Schema } from './schema.ts'

/** Whether a query can be answered without looking at more turns than it returns; others belong off the event loop. */
export function isShortQuery(query: TurnQuery): boolean {
  return query.state === undefined && query.model === undefined && query.since === undefined && query.before === undefined
}

/** `ofAccount`: how the database finds one account's, newest first. */
export async function turnsIn(read: Kysely<Schema>, query: TurnQuery, ofAccount = turnsByChain): Promise<readonly Turn[]> {
  const { account } = query
  const from = account === undefined ? read.selectFrom('turn').orderBy('turn.id', 'desc') : ofAccount(read, account)
  let page = from.selectAll('turn').limit(query.limit)
  if (query.state !== undefined) page = page.where('turn.state', '=', query.state)
  if (query.model !== undefined) page = page.where('turn.model', '=', query.model)
  if (query.since !== undefined) page = page.where('turn.started_at', '>=', query.since)
  if (query.before !== undefined) page = page.where('turn.id', '<', query.before)
  return (await page.execute()).map(toTurn)
}

/**
 * One account's turns, newest first: the way from each to the one before is followed, only as far as the page needs. No `order by`: it would make
 * the database follow the chain to its end first; and a cross join, because that keeps the chain's order in front. Where the log was forgotten the chain simply ends.
 */
function turnsByChain(read: Kysely<Schema>, account: string): SelectQueryBuilder<Schema, 'turn', object> {
  return read
    .withRecursive('chain(id, previous)', (db) =>
      db
        .selectFrom('turn as newest')
        .select(['newest.id', 'newest.previous'])
        .where('newest.id', '=', newestTurnOf(account))
        .unionAll(
          db.selectFrom('chain').innerJoin('turn as older', 'older.id', 'chain.previous').select(['older.id', 'older.previous']),
        ),
    )
    .selectFrom('chain')
    .crossJoin('turn')
    .whereRef('turn.id', '=', 'chain.id')
}

/**
 * Where the log is kept by account. Asked as a range and in the order of both columns, which only the account's own index has: a page of
 * one that was idle for long would otherwise be sought through everybody's turns, newest first.
 */
export function turnsByIndex(read: Kysely<Schema>, account: string): SelectQueryBuilder<Schema, 'turn', object> {
  return read
    .selectFrom('turn')
    .where('turn.account', '>=', account)
    .where('turn.account', '<=', account)
    .orderBy('turn.account', 'desc')
    .orderBy('turn.id', 'desc')
}

/** Whether forgetting might find anything, for a look that costs nothing: an old turn among the oldest, or an old entry. */
export async function hasOldLinks({ read }: Database, before: number): Promise<boolean> {
  const turn = await read
    .selectFrom((from) => from.selectFrom('turn').select('ended_at').orderBy('id').limit(1000).as('oldest'))
    .select('ended_at')
    .where('ended_at', '<', before)
    .limit(1)
    .executeTakeFirst()
  if (turn !== undefined) return true
  return (await read.selectFrom('entry').select('at').where('at', '<', before).limit(1).executeTakeFirst()) !== undefined
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
    contradicted:
      row.contradicted_input === null || row.contradicted_output === null
        ? null
        : { input: row.contradicted_input, output: row.contradicted_output },
    code: row.code,
    upstreamStatus: row.upstream_status,
    target: row.target,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}
