/**
 * Manages an account's buckets as periods begin and end: the current ones in the balance, the others archived in rows of their
 * own.
 */
import type { CalendarPeriod, Period } from '../../../domain/billing/period.ts'
import { resolvePeriod } from '../../../domain/billing/period.ts'
import type { Window } from '../../../domain/billing/catalog/plan.ts'
import { windows } from '../../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import { getBucketIds } from '../balance-replay.ts'
import { Bucket } from '../bucket.ts'
import type { AccountBalance } from '../account-balance.ts'
import type { SettlementTurn } from '../turn-columns.ts'
import type { ChainWriter } from './chain-writer.ts'
import type { LedgerStorage } from './ledger-storage.ts'

export class PeriodBuckets {
  readonly #storage: LedgerStorage
  readonly #chain: ChainWriter

  constructor(storage: LedgerStorage, chain: ChainWriter) {
    this.#storage = storage
    this.#chain = chain
  }

  /** Returns the balance's bucket of one window, switched to the current period and the plan's current limit. */
  rollTo(balance: AccountBalance, pool: Pool, window: Window, calendar: CalendarPeriod, limit: number, at: number): Bucket {
    const bucket = balance.bucket(pool, window)
    const isCurrent = bucket.get('id') !== 0 && bucket.get('startsAt') <= at && at < bucket.get('endsAt')
    if (!isCurrent) this.#switchPeriod(balance, bucket, pool, window, calendar, limit, at)
    // A plan change keeps the usage: a smaller plan still grants at least what is already used.
    const granted = Math.max(limit, bucket.get('reserved') + bucket.paid)
    if (granted !== bucket.get('granted')) {
      bucket.set('granted', granted)
      this.#chain.append(balance, 'limit', at, [bucket.get('id'), granted])
    }
    return bucket
  }

  /** `used` is usage carried over from the person's earlier account; usually zero, and then not in the entry. */
  openBucket(
    balance: AccountBalance,
    bucket: Bucket,
    pool: Pool,
    window: Window,
    { start, end }: Period,
    granted: number,
    used: number,
    at: number,
  ): void {
    // A bucket's id is the position of the entry that opens it.
    const id = balance.seq + 1
    const detail = [id, pool, window, start, end, granted]
    this.#chain.append(balance, 'open', at, used === 0 ? detail : [...detail, used])
    bucket.assign([id, start, end, granted, 0, used, 0])
  }

  /** The three buckets of a turn's reservation, in the balance or archived. */
  findBuckets(turn: SettlementTurn, balance: AccountBalance): readonly Bucket[] {
    const ids = getBucketIds(turn)
    return windows.map((window, index) => {
      const bucket = balance.bucket(turn.pool, window)
      const id = ids[index] ?? 0
      if (bucket.get('id') === id) return bucket
      const archivedCells = this.#storage.getArchivedBucket(turn.account, id)
      if (archivedCells === undefined) throw new Error(`bucket ${id} of ${turn.account} is gone`)
      return new Bucket(archivedCells, 0)
    })
  }

  /** Writes the archived buckets among these; the balance keeps its own. */
  saveArchived(balance: AccountBalance, buckets: readonly Bucket[]): void {
    for (const bucket of buckets) {
      if (bucket.values === balance.bucketValues) continue
      this.#storage.updateArchivedBucket(balance.account, bucket)
    }
  }

  /** Archives the current bucket and replaces it: with a new one or, after the clock went back, with an archived one. */
  #switchPeriod(
    balance: AccountBalance,
    bucket: Bucket,
    pool: Pool,
    window: Window,
    calendar: CalendarPeriod,
    limit: number,
    at: number,
  ): void {
    balance.requireWrite()
    if (bucket.get('id') !== 0) this.#storage.archiveBucket(balance.account, pool, window, bucket.toValues())
    const archivedCells = this.#storage.getLatestArchivedBucket(balance.account, pool, window, at)
    if (archivedCells !== undefined) bucket.assign(archivedCells)
    const archivedPeriod = archivedCells === undefined ? undefined : { start: bucket.get('startsAt'), end: bucket.get('endsAt') }
    const period = resolvePeriod(at, archivedPeriod, calendar)
    if (period === archivedPeriod) {
      this.#storage.deleteArchivedBucket(balance.account, bucket.get('id'))
      return
    }
    this.openBucket(balance, bucket, pool, window, period, limit, 0, at)
  }
}
