/** Failures by code, product and target: counts of accounts from an index that has all that is needed. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { FailureGroup, FailureQuery } from '../../../domain/turn-history/turn-history.ts'
import type { Schema } from '../../schema/schema.ts'
import { readGroups } from './read-groups.ts'

interface GroupRow {
  readonly group_id: number
  readonly count: number
  readonly accounts: number
  readonly first_at: number
  readonly last_at: number
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
  const ofAccount = account === undefined ? sql`true` : sql`t.account = ${account}`
  const { rows } = await sql<GroupRow>`
    select t.group_id, cast(count(*) as integer) as count, cast(count(distinct t.account) as integer) as accounts,
      min(t.started_at) as first_at, max(t.started_at) as last_at
    from turn_search as t
    where t.group_id in (${sql.join([...groups.keys()])}) and t.started_at >= ${from} and t.started_at < ${to} and ${ofAccount}
    group by t.group_id order by count desc, t.group_id limit ${limit}`.execute(read)
  const failures: FailureGroup[] = []
  for (const row of rows) {
    const group = groups.get(row.group_id)
    const example = await sql<{ readonly id: number; readonly request_id: string }>`
      select t.id, t.request_id from turn_search as t where t.group_id = ${row.group_id} and t.started_at = ${row.last_at} and ${ofAccount}
      order by t.id desc limit 1`
      .execute(read)
      .then(({ rows: [newest] }) => newest)
    if (group === undefined || example === undefined) continue
    failures.push({
      ending: group.ending,
      product: group.product,
      target: group.target === '' ? null : group.target,
      count: row.count,
      accounts: row.accounts,
      firstAt: row.first_at,
      lastAt: row.last_at,
      example: { id: example.id, requestId: example.request_id },
    })
  }
  return failures
}
