/** The turn log, newest first. */
import { sql } from 'kysely'
import type { Kysely, Selectable, SelectQueryBuilder } from 'kysely'
import type { Turn, TurnQuery } from '../../../domain/billing/ledger.ts'
import type { Database } from '../../database.ts'
import { selectNewestTurn } from '../../ledger/current-balance.ts'
import { decodeAttempts } from '../../ledger/turn-attempts.ts'
import type { Schema } from '../../schema/schema.ts'

/** Whether a query reads only the turns that it returns. Other queries run in a worker thread. */
export function isShortQuery(query: TurnQuery): boolean {
  return Object.keys(query).every((name) => name === 'account' || name === 'limit')
}

/** `selectByAccount`: how the database finds one account's turns, newest first. */
export async function listTurns(
  read: Kysely<Schema>,
  query: TurnQuery,
  selectByAccount = selectTurnsByChain,
): Promise<readonly Turn[]> {
  const { account, request } = query
  const all =
    account === undefined ? read.selectFrom('turn').orderBy('turn.id', 'desc') : selectByAccount(read, account, query.before)
  // No index has the ids of requests: it would be written with each turn, in random order. A request is looked up soon after it was sent.
  const from = request === undefined ? all : selectByRequest(read, all, request)
  let page = from.selectAll('turn').limit(query.limit)
  if (query.state !== undefined) page = page.where('turn.state', '=', query.state)
  if (query.model !== undefined) page = page.where('turn.model', '=', query.model)
  if (query.credential !== undefined) page = page.where('turn.credential', '=', query.credential)
  if (query.apiFormat !== undefined) page = page.where('turn.api_format', '=', query.apiFormat)
  if (query.since !== undefined) page = page.where('turn.started_at', '>=', query.since)
  if (query.until !== undefined) page = page.where('turn.started_at', '<', query.until)
  if (query.offset !== undefined) page = page.offset(query.offset)
  if (query.before !== undefined) page = page.where('turn.id', '<', query.before)
  return (await page.execute()).map(toTurn)
}

function selectByRequest(
  read: Kysely<Schema>,
  turns: SelectQueryBuilder<Schema, 'turn', object>,
  { id, searched }: NonNullable<TurnQuery['request']>,
): SelectQueryBuilder<Schema, 'turn', object> {
  return read
    .selectFrom(turns.selectAll('turn').limit(searched).as('turn'))
    .where('turn.request_id', '=', id)
    .orderBy('turn.id', 'desc')
}

/**
 * One account's turns on SQLite, newest first: follows `previous_turn` from the end of the page before as far as this page needs. No
 * `order by`, because SQLite would then follow the chain to its end first; a cross join, because it keeps the order of the chain. The chain
 * ends where turns were pruned.
 */
export function selectTurnsByChain(
  read: Kysely<Schema>,
  account: string,
  before?: number,
): SelectQueryBuilder<Schema, 'turn', object> {
  const first =
    before === undefined
      ? selectNewestTurn(account)
      : sql<number>`(select previous_turn from turn where id = ${before} and account = ${account})`
  return read
    .withRecursive('chain(id, previous_turn)', (db) =>
      db
        .selectFrom('turn as newest')
        .select(['newest.id', 'newest.previous_turn'])
        .where('newest.id', '=', first)
        .unionAll(
          db
            .selectFrom('chain')
            .innerJoin('turn as older', 'older.id', 'chain.previous_turn')
            .select(['older.id', 'older.previous_turn']),
        ),
    )
    .selectFrom('chain')
    .crossJoin('turn')
    .whereRef('turn.id', '=', 'chain.id')
}

/**
 * One account's turns on PostgreSQL. A range over both columns of the primary key, in its order: otherwise PostgreSQL would
 * look for a page of a long idle account in the turns of all accounts, newest first.
 */
export function selectTurnsByIndex(read: Kysely<Schema>, account: string): SelectQueryBuilder<Schema, 'turn', object> {
  return read
    .selectFrom('turn')
    .where('turn.account', '>=', account)
    .where('turn.account', '<=', account)
    .orderBy('turn.account', 'desc')
    .orderBy('turn.id', 'desc')
}

/** A cheap check before pruning: whether there is an old turn among the oldest, or an old entry. */
export async function hasPrunableRows({ read }: Database, before: number): Promise<boolean> {
  const turn = await read
    .selectFrom((from) => from.selectFrom('turn').select('ended_at').orderBy('id').limit(1000).as('oldest'))
    .select('ended_at')
    .where('ended_at', '<', before)
    .limit(1)
    .executeTakeFirst()
  if (turn !== undefined) return true
  return (await read.selectFrom('entry').select('at').where('at', '<', before).limit(1).executeTakeFirst()) !== undefined
}

export function toTurn(row: Selectable<Schema['turn']>): Turn {
  return {
    id: row.id,
    requestId: row.request_id,
    account: row.account,
    model: row.model,
    apiFormat: row.api_format,
    requestedModel: row.requested_model,
    credential: row.credential,
    pool: row.pool,
    state: row.state,
    credits: row.credits,
    reserved: row.reserved,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    outputTokens: row.output_tokens,
    estimated: row.estimated === 1,
    disputed:
      row.disputed_input === null || row.disputed_output === null
        ? null
        : { input: row.disputed_input, output: row.disputed_output },
    code: row.code,
    upstreamStatus: row.upstream_status,
    target: row.target,
    plan: row.plan,
    upstreamModel: row.upstream_model,
    upstreamResponseId: row.upstream_response_id,
    upstreamCostNanodollars: row.upstream_cost_nanodollars,
    firstTokenMs: row.first_token_ms,
    attempts: row.attempts === null ? null : decodeAttempts(row.attempts, row.target),
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}
