/** The buckets in an account's purse, as rows like those that have left it. */
import { windows } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import type { BucketTable, PurseTable } from './schema.ts'

export const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

export function bucketsIn(purse: PurseTable): readonly BucketTable[] {
  return pools
    .flatMap((pool) =>
      windows.map((window) => ({
        account: purse.account,
        pool,
        window,
        id: purse[`${pool}_${window}_id`],
        starts_at: purse[`${pool}_${window}_starts_at`],
        ends_at: purse[`${pool}_${window}_ends_at`],
        granted: purse[`${pool}_${window}_granted`],
        reserved: purse[`${pool}_${window}_reserved`],
        settled: purse[`${pool}_${window}_settled`],
        debt: purse[`${pool}_${window}_debt`],
      })),
    )
    .filter((bucket) => bucket.id !== 0)
}
