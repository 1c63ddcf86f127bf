/** Failures by code, product and target: counts of accounts from an index that has all that is needed. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { FailureGroup, FailureQuery } from '../../../domain/turn-history/turn-history.ts'
import type { TurnGroupTable } from '../../schema/history-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { readGroups } from './read-groups.ts'

interface GroupRow {
  readonly group_id: number
  readonly count: number
  readonly first_at: number
  readonly last_at: number
}

/** What failed alike, whatever the plan: members of several plans may have the same failure. */
interface Failure extends Omit<GroupRow, 'group_id'> {
  readonly groups: readonly number[]
  readonly of: TurnGroupTable
}

export async function listHistoryFailures(
  read: Kysely<Schema>,
  { from, to, account, product, target }: FailureQuery,
  limit: number,
): Promise<readonly FailureGroup[]> {
  const groups = await readGroups(read, {
    failedOnly: true,
    ...(product === undefined ? {} : { product }),
    ...(target === undefined ? {} : { target }),
  })
  if (groups.size === 0) return []
  const isWanted = sql`t.started_at >= ${from} and t.started_at < ${to} and ${account === undefined ? sql`true` : sql`t.account = ${account}`}`
  const { rows } = await sql<GroupRow>`
    select t.group_id, cast(count(*) as integer) as count, min(t.started_at) as first_at, max(t.started_at) as last_at
    from turn_search as t where t.group_id in (${sql.join([...groups.keys()])}) and ${isWanted}
    group by t.group_id order by t.group_id`.execute(read)
  const failures: FailureGroup[] = []
  for (const failure of mergePlans(rows, groups).slice(0, limit)) {
    const { of, count, first_at: firstAt, last_at: lastAt } = failure
    const inGroups = sql`t.group_id in (${sql.join(failure.groups)})`
    const members = await sql<{ readonly accounts: number }>`
      select cast(count(distinct t.account) as integer) as accounts from turn_search as t where ${inGroups} and ${isWanted}`.execute(
      read,
    )
    const newest = await sql<{ readonly id: number; readonly request_id: string }>`
      select t.id, t.request_id from turn_search as t where ${inGroups} and t.started_at = ${lastAt} and ${isWanted}
      order by t.id desc limit 1`.execute(read)
    const [{ accounts } = { accounts: 0 }] = members.rows
    const [example] = newest.rows
    if (example === undefined) continue
    failures.push({
      ending: of.ending,
      product: of.product,
      target: of.target === '' ? null : of.target,
      count,
      accounts,
      firstAt,
      lastAt,
      example: { id: example.id, requestId: example.request_id },
    })
  }
  return failures
}

/** Most turns first. */
function mergePlans(rows: readonly GroupRow[], groups: ReadonlyMap<number, TurnGroupTable>): readonly Failure[] {
  const failures = new Map<string, Failure>()
  for (const row of rows) {
    const of = groups.get(row.group_id)
    if (of === undefined) continue
    const name = JSON.stringify([of.product, of.target, of.ending])
    const failure = failures.get(name) ?? { of, groups: [], count: 0, first_at: row.first_at, last_at: row.last_at }
    failures.set(name, {
      of,
      groups: [...failure.groups, row.group_id],
      count: failure.count + row.count,
      first_at: Math.min(failure.first_at, row.first_at),
      last_at: Math.max(failure.last_at, row.last_at),
    })
  }
  return [...failures.values()].toSorted((one, other) => other.count - one.count)
}
