/** The buckets in an account's purse, as rows like those that have left it. */
import { windows } from '../membership/plan.ts'
import type { Purse } from './purse.ts'
import { pools } from './purse.ts'
import type { BucketTable } from './schema.ts'

export function bucketsIn(purse: Purse): readonly BucketTable[] {
  return pools
    .flatMap((pool) =>
      windows.map((window) => {
        const bucket = purse.bucket(pool, window)
        return {
          account: purse.account,
          pool,
          window,
          id: bucket.get('id'),
          starts_at: bucket.get('startsAt'),
          ends_at: bucket.get('endsAt'),
          granted: bucket.get('granted'),
          reserved: bucket.get('reserved'),
          settled: bucket.get('settled'),
          debt: bucket.get('debt'),
        }
      }),
    )
    .filter((bucket) => bucket.id !== 0)
}
