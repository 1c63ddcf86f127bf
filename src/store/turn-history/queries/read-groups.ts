/** Which groups a filter by product, target, ending and plan means. */
import type { Kysely } from 'kysely'
import type { TurnEnding, TurnFilter } from '../../../domain/turn-history/turn-history.ts'
import { chargedEndings } from '../../../domain/turn-history/turn-history.ts'
import { unratedEndings } from '../../../domain/turn-history/turn-success.ts'
import type { TurnGroupTable } from '../../schema/history-schema.ts'
import type { Schema } from '../../schema/schema.ts'

export type Groups = ReadonlyMap<number, TurnGroupTable>

type GroupFilter = Pick<TurnFilter, 'product' | 'target' | 'ending' | 'plan' | 'failedOnly' | 'success'>

export async function readGroups(read: Kysely<Schema>, filter: GroupFilter): Promise<Groups> {
  let query = read.selectFrom('turn_group').selectAll()
  if (filter.product !== undefined) query = query.where('product', '=', filter.product)
  if (filter.target !== undefined) query = query.where('target', '=', filter.target)
  if (filter.ending !== undefined) query = query.where('ending', '=', filter.ending)
  if (filter.plan !== undefined) query = query.where('plan', '=', filter.plan)
  if (filter.failedOnly === true) query = query.where('ending', 'not in', [...chargedEndings])
  if (filter.success !== undefined) query = query.where('ending', 'not in', [...unratedEndings])
  if (filter.success === 'faults') query = query.where('ending', '<>', 'completed')
  return new Map((await query.execute()).map((group) => [group.id, group]))
}

export function isGrouped({ product, target, ending, plan, failedOnly, success }: GroupFilter): boolean {
  return [product, target, ending, plan, success].some((each) => each !== undefined) || failedOnly === true
}

export function isChargedEnding(ending: TurnEnding): boolean {
  return chargedEndings.includes(ending)
}
