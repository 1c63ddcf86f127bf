/** Whether the newest turns are of several accounts. */
import type { Kysely } from 'kysely'
import type { AccountCountQuery } from '../../../domain/turn-history/turn-history.ts'
import type { Schema } from '../../schema/schema.ts'
import { findTurns } from './list-turns.ts'

export async function hasHistoryAccounts(
  read: Kysely<Schema>,
  { product, from, minAccounts, maxTurns }: AccountCountQuery,
): Promise<boolean> {
  const turns = await findTurns(read, { filter: { product, from, success: 'rated' }, page: { limit: maxTurns } })
  return new Set(turns.map(({ account }) => account)).size >= minAccounts
}
