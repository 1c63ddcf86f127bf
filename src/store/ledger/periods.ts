/** The buckets of an account as periods begin, end and are gone back to: in its purse, or put away in rows of their own. */
import type { CalendarPeriod, Period } from '../../membership/period.ts'
import { periodAt } from '../../membership/period.ts'
import type { Window } from '../../membership/plan.ts'
import { windows } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'
import { bucketsOf } from '../books.ts'
import { Bucket } from '../bucket.ts'
import type { Purse } from '../purse.ts'
import type { EndingTurn } from '../turn-columns.ts'
import type { Links } from './links.ts'
import type { LedgerRows } from './rows.ts'

export class Periods {
  readonly #rows: LedgerRows
  readonly #links: Links

  constructor(rows: LedgerRows, links: Links) {
    this.#rows = rows
    this.#links = links
  }

  /** The purse's bucket of one window, turned to the period at hand and to what the plan now includes. */
  turnTo(purse: Purse, pool: Pool, window: Window, calendar: CalendarPeriod, limit: number, at: number): Bucket {
    const bucket = purse.bucket(pool, window)
    const runs = bucket.get('id') !== 0 && bucket.get('startsAt') <= at && at < bucket.get('endsAt')
    if (!runs) this.#change(purse, bucket, pool, window, calendar, limit, at)
    // A plan change keeps what was used: a smaller plan grants at least what is gone already.
    const granted = Math.max(limit, bucket.get('reserved') + bucket.covered)
    if (granted !== bucket.get('granted')) {
      bucket.set('granted', granted)
      this.#links.enter(purse, 'limit', at, [bucket.get('id'), granted])
    }
    return bucket
  }

  /** `used` is what somebody's earlier account leaves to this one; nearly always nothing, and then not in the entry. */
  open(
    purse: Purse,
    bucket: Bucket,
    pool: Pool,
    window: Window,
    { start, end }: Period,
    granted: number,
    used: number,
    at: number,
  ): void {
    // A bucket is numbered by the entry that opens it.
    const id = purse.seq + 1
    const opened = [id, pool, window, start, end, granted]
    this.#links.enter(purse, 'open', at, used === 0 ? opened : [...opened, used])
    bucket.become([id, start, end, granted, 0, used, 0])
  }

  /** The three buckets a turn was held from, wherever they are by now. */
  of(turn: EndingTurn, purse: Purse): readonly Bucket[] {
    const ids = bucketsOf(turn)
    return windows.map((window, index) => {
      const bucket = purse.bucket(turn.pool, window)
      const id = ids[index] ?? 0
      if (bucket.get('id') === id) return bucket
      const away = this.#rows.bucket(turn.account, id)
      if (away === undefined) throw new Error(`bucket ${id} of ${turn.account} is gone`)
      return new Bucket(away, 0)
    })
  }

  /** The purse keeps its own; what was put away before the turn ended is written where it is. */
  saveAway(purse: Purse, buckets: readonly Bucket[]): void {
    for (const bucket of buckets) {
      if (bucket.cells === purse.cells) continue
      this.#rows.saveBucket(purse.account, bucket)
    }
  }

  /** Puts the bucket at hand away, and in its place the one of another period: a new one, or after a step back in time one put away. */
  #change(purse: Purse, bucket: Bucket, pool: Pool, window: Window, calendar: CalendarPeriod, limit: number, at: number): void {
    purse.mustBeWritten()
    if (bucket.get('id') !== 0) this.#rows.putAway(purse.account, pool, window, bucket.figures())
    const last = this.#rows.lastBucket(purse.account, pool, window, at)
    if (last !== undefined) bucket.become(last)
    const opened = last === undefined ? undefined : { start: bucket.get('startsAt'), end: bucket.get('endsAt') }
    const period = periodAt(at, opened, calendar)
    if (period === opened) {
      this.#rows.takeOut(purse.account, bucket.get('id'))
      return
    }
    this.open(purse, bucket, pool, window, period, limit, 0, at)
  }
}
