/**
 * Lists of ended turns, newest first. Whatever is asked for, few more rows are read than are returned:
 *
 * - of all accounts by one range of an index for each group that matches;
 * - of one account by its range, and with further filters by the hours of which the sums show that they have matching turns.
 */
import { sql } from 'kysely'
import type { Kysely, RawBuilder } from 'kysely'
import type { TurnFilter, TurnPosition, TurnSummary } from '../../../domain/turn-history/turn-history.ts'
import type { TurnState } from '../../../domain/billing/ledger.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import { toEnding } from '../collector/ended-turn.ts'
import { isGrouped, readGroups } from './read-groups.ts'
import { pickValue, selectRows } from '../json-rows.ts'

export interface ListQuery {
  readonly filter: TurnFilter
  readonly page: { readonly after?: TurnPosition; readonly limit: number }
}

/** SQLite refuses more than 500 parts of one statement. */
const rangesPerStatement = 50
const hourMs = 3_600_000

type Kind = Database['kind']
type Found = Readonly<Record<'id' | 'started_at', number>> & { readonly account: string }

/** Whether few rows are read, so that the query may run on the event loop. */
export function isShortList({ filter }: ListQuery): boolean {
  return filter.account === undefined || !(isGrouped(filter) || filter.credential !== undefined)
}

export async function listHistoryTurns(read: Kysely<Schema>, kind: Kind, query: ListQuery): Promise<readonly TurnSummary[]> {
  return readSummaries(read, kind, await findTurns(read, query))
}

/** Ids and accounts, newest first. */
export async function findTurns(read: Kysely<Schema>, { filter, page }: ListQuery): Promise<readonly Found[]> {
  const { account, requestId } = filter
  const bounds = sql`${listBounds(filter, page.after)}`
  const limit = sql`order by t.started_at desc, t.id desc limit ${page.limit}`
  if (requestId !== undefined) {
    const matches = await listMatches(read, filter)
    // An expression, because PostgreSQL would walk the index of all turns in the order that is asked for, and find none in it for long.
    return select(
      read,
      sql`from turn_search as t where t.request_id = ${requestId} and ${bounds} and ${matches}
        order by t.started_at + 0 desc, t.id desc limit ${page.limit}`,
    )
  }
  if (account !== undefined) {
    if (!isGrouped(filter) && filter.credential === undefined)
      return select(read, sql`from turn_search as t where t.account = ${account} and ${bounds} ${limit}`)
    const groups = isGrouped(filter) ? [...(await readGroups(read, filter)).keys()] : null
    if (groups?.length === 0) return []
    const inGroup = (table: string) =>
      groups === null ? sql`true` : sql`${sql.ref(`${table}.group_id`)} in (${sql.join(groups)})`
    const byKey = (table: string) =>
      filter.credential === undefined ? sql`true` : sql`${sql.ref(`${table}.credential`)} = ${filter.credential}`
    // As many hours with a match as turns are wanted, and the one that the page begins in, whose matches may all be on the page before.
    const hours = sql`select s.starts_at from turn_sum as s where s.account = ${account} and s.span = 'hour'
      and ${inGroup('s')} and ${byKey('s')} and s.starts_at > ${(filter.from ?? 0) - hourMs}
      and s.starts_at <= ${Math.min(page.after?.startedAt ?? Number.MAX_SAFE_INTEGER, filter.to ?? Number.MAX_SAFE_INTEGER)}
      group by s.starts_at order by s.starts_at desc limit ${page.limit + 1}`
    // An hour that a change of the clocks cut short overlaps the next one.
    return select(
      read,
      sql`from (${hours}) as h cross join turn_search as t where t.account = ${account}
        and t.started_at >= h.starts_at and t.started_at < h.starts_at + ${hourMs} and ${bounds} and ${inGroup('t')} and ${byKey('t')}
        group by t.id, t.account, t.started_at ${limit}`,
    )
  }
  if (!isGrouped(filter)) return select(read, sql`from turn_search as t where ${bounds} ${limit}`)
  const groups = [...(await readGroups(read, filter)).keys()]
  const turnRows: Found[] = []
  for (let from = 0; from < groups.length; from += rangesPerStatement) {
    const ranges = groups
      .slice(from, from + rangesPerStatement)
      .map(
        (group) => sql`select * from (${columns} from turn_search as t where t.group_id = ${group} and ${bounds} ${limit}) as g`,
      )
    const { rows } = await sql<Found>`select * from (${sql.join(ranges, sql` union all `)}) as t ${limit}`.execute(read)
    turnRows.push(...rows)
  }
  return turnRows.toSorted((one, other) => other.started_at - one.started_at || other.id - one.id).slice(0, page.limit)
}

const columns = sql`select t.id, t.account, t.started_at`

function select(read: Kysely<Schema>, from: RawBuilder<unknown>): Promise<readonly Found[]> {
  return sql<Found>`${columns} ${from}`.execute(read).then(({ rows }) => rows)
}

function listBounds({ from, to }: TurnFilter, after: TurnPosition | undefined): RawBuilder<unknown> {
  const bounds = [sql`true`]
  if (from !== undefined) bounds.push(sql`t.started_at >= ${from}`)
  if (to !== undefined) bounds.push(sql`t.started_at < ${to}`)
  if (after !== undefined) bounds.push(sql`(t.started_at, t.id) < (${after.startedAt}, ${after.id})`)
  return sql.join(bounds, sql` and `)
}

async function listMatches(read: Kysely<Schema>, filter: TurnFilter): Promise<RawBuilder<unknown>> {
  const matches = [sql`true`]
  if (filter.account !== undefined) matches.push(sql`t.account = ${filter.account}`)
  if (filter.credential !== undefined) matches.push(sql`t.credential = ${filter.credential}`)
  if (isGrouped(filter)) {
    const groups = [...(await readGroups(read, filter)).keys()]
    matches.push(groups.length === 0 ? sql`false` : sql`t.group_id in (${sql.join(groups)})`)
  }
  return sql.join(matches, sql` and `)
}

interface SummaryRow {
  readonly id: number
  readonly request_id: string
  readonly account: string
  readonly credential: string
  readonly model: string
  readonly target: string | null
  readonly state: TurnState
  readonly code: string | null
  readonly credits: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
  readonly started_at: number
  readonly ended_at: number | null
  readonly first_token_ms: number | null
  readonly upstream_status: number | null
}

/** The turns themselves, in this order. Those that were pruned meanwhile are left out. */
async function readSummaries(read: Kysely<Schema>, kind: Kind, found: readonly Found[]): Promise<readonly TurnSummary[]> {
  if (found.length === 0) return []
  const keys = found.map(({ id, account }) => [id, account])
  const { rows } = await sql<SummaryRow>`
    select t.id, t.request_id, t.account, t.credential, t.model, t.target, t.state, t.code, t.credits, t.input_tokens,
      t.cached_input_tokens, t.output_tokens, t.started_at, t.ended_at, t.first_token_ms, t.upstream_status
    from ${selectRows(kind, keys)} cross join turn as t
    where t.id = ${pickValue(kind, 0, 'whole')} and t.account = ${pickValue(kind, 1, 'text')}`.execute(read)
  const turns = new Map(rows.map((row) => [row.id, toSummary(row)]))
  return found.flatMap(({ id }) => turns.get(id) ?? [])
}

function toSummary(row: SummaryRow): TurnSummary {
  return {
    id: row.id,
    requestId: row.request_id,
    account: row.account,
    credential: row.credential,
    product: row.model,
    target: row.target,
    state: row.state,
    ending: toEnding(row),
    credits: row.credits,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    outputTokens: row.output_tokens,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? row.started_at,
    firstTokenMs: row.first_token_ms,
    upstreamStatus: row.upstream_status,
  }
}
