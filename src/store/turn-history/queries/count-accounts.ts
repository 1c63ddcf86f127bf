/** Whether turns are of several accounts. It reads a bounded number of them, so one account that has most of the newest hides the others. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { AccountCountQuery } from '../../../domain/turn-history/turn-history.ts'
import type { Schema } from '../../schema/schema.ts'
import { readGroups } from './read-groups.ts'

/** Of each group, newest first. */
const maxTurnsOfGroup = 1_000
const maxGroups = 20

export async function hasHistoryAccounts(
  read: Kysely<Schema>,
  { product, from, minAccounts }: AccountCountQuery,
): Promise<boolean> {
  const accounts = new Set<string>()
  const groups = [...(await readGroups(read, { product, success: 'rated' })).values()]
  // Completed turns are most of them.
  const orderedGroups = groups.toSorted((one, other) => Number(other.ending === 'completed') - Number(one.ending === 'completed'))
  for (const { id } of orderedGroups.slice(0, maxGroups)) {
    const { rows } = await sql<{ readonly account: string }>`select distinct account from (
      select t.account from turn_search as t where t.group_id = ${id} and t.started_at >= ${from}
      order by t.started_at desc, t.id desc limit ${maxTurnsOfGroup}) as newest limit ${minAccounts}`.execute(read)
    for (const { account } of rows) accounts.add(account)
    if (accounts.size >= minAccounts) return true
  }
  return false
}
