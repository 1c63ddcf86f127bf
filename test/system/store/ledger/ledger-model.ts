/** A minimal model of the ledger without database, threads or entries, that the real ledger is compared with. */
import type { Periods } from '../../../../src/domain/billing/period.ts'
import type { PoolLimits, Window } from '../../../../src/domain/billing/catalog/plan.ts'
import { windows } from '../../../../src/domain/billing/catalog/plan.ts'
import type { Pool } from '../../../../src/domain/billing/catalog/product.ts'

export interface ModelBucket {
  readonly start: number
  readonly end: number
  granted: number
  reserved: number
  /** Settled without debt. */
  covered: number
  debt: number
}

export interface ModelPack {
  readonly id: string
  readonly pool: Pool
  readonly expiresAt: number
  readonly granted: number
  reserved: number
  settled: number
}

export interface ModelHold {
  readonly pool: Pool
  readonly leaseUntil: number
  readonly credits: number
  readonly plan: number
  readonly buckets: readonly ModelBucket[]
  readonly packs: readonly (readonly [pack: ModelPack, credits: number])[]
}

export interface ModelOrder {
  readonly pool: Pool
  readonly at: number
  readonly periods: Periods
  readonly limits: PoolLimits
  readonly amount: number
  readonly minAmount: number
  readonly leaseUntil: number
}

export class ModelAccount {
  /** All buckets by pool and window; the last used one comes first. */
  readonly #buckets = new Map<string, readonly ModelBucket[]>()
  readonly packs: ModelPack[] = []

  /** The bucket of an instant, opened if needed. */
  bucket(pool: Pool, window: Window, at: number, periods: Periods): ModelBucket {
    const { start, end, nextEnd } = periods[window]
    const known = (this.#buckets.get(`${pool} ${window}`) ?? []).filter((bucket) => bucket.start <= at)
    const latest = known.toSorted((one, other) => other.start - one.start)[0]
    const running = [...known.slice(0, 1), ...(latest === undefined ? [] : [latest])].find((bucket) => at < bucket.end)
    if (running !== undefined) return running
    const fresh = { granted: 0, reserved: 0, covered: 0, debt: 0 }
    if (latest === undefined || latest.end <= start) return { ...fresh, start, end }
    // After a change of the time zone the last period covers part of the calendar's current one: it counts as the one that it
    // covers more of.
    const covered = (latest.end - start) / (end - start)
    return { ...fresh, start: latest.end, end: covered > 0.5 ? nextEnd : end }
  }

  #open(pool: Pool, window: Window, at: number, periods: Periods): ModelBucket {
    const bucket = this.bucket(pool, window, at, periods)
    const known = this.#buckets.get(`${pool} ${window}`) ?? []
    this.#buckets.set(`${pool} ${window}`, [bucket, ...known.filter((other) => other !== bucket)])
    return bucket
  }

  /** Undefined if there is no room. */
  reserve({ pool, at, periods, limits, amount, minAmount, leaseUntil }: ModelOrder): ModelHold | undefined {
    const buckets = windows.map((window) => {
      const bucket = this.#open(pool, window, at, periods)
      bucket.granted = Math.max(limits[window], bucket.reserved + bucket.covered)
      return bucket
    })
    const plan = Math.min(amount, ...buckets.map(getAvailable))
    const packs: [ModelPack, number][] = []
    let missing = amount - plan
    for (const pack of this.#listUsablePacks(pool, at)) {
      const share = Math.min(missing, getAvailable(pack))
      if (share > 0) packs.push([pack, share])
      missing -= share
    }
    if (amount - missing < minAmount) return undefined
    for (const bucket of buckets) bucket.reserved += plan
    for (const [pack, share] of packs) pack.reserved += share
    return { pool, leaseUntil, credits: amount - missing, plan, buckets, packs }
  }

  /** Returns the credits that neither all windows together nor packs cover. */
  settle(hold: ModelHold, at: number, credits: number): number {
    this.release(hold)
    let left = credits
    const fromBuckets = (most: number): void => {
      const used = Math.min(left, most)
      for (const bucket of hold.buckets) bucket.covered += used
      left -= used
    }
    const fromPack = (pack: ModelPack, most: number): void => {
      const used = Math.min(left, most)
      pack.settled += used
      left -= used
    }
    fromBuckets(hold.plan)
    for (const [pack, share] of hold.packs) fromPack(pack, share)
    fromBuckets(Math.min(...hold.buckets.map(getAvailable)))
    for (const pack of this.#listUsablePacks(hold.pool, at)) fromPack(pack, getAvailable(pack))
    // Debt is charged to each window separately.
    for (const bucket of hold.buckets) {
      const debt = Math.max(0, left - getAvailable(bucket))
      bucket.covered += left - debt
      bucket.debt += debt
    }
    return left
  }

  release(hold: ModelHold): void {
    for (const bucket of hold.buckets) bucket.reserved -= hold.plan
    for (const [pack, share] of hold.packs) pack.reserved -= share
  }

  #listUsablePacks(pool: Pool, at: number): readonly ModelPack[] {
    return this.packs
      .filter((pack) => pack.pool === pool && pack.expiresAt > at)
      .sort((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1))
  }
}

function getAvailable(place: ModelBucket | ModelPack): number {
  return place.granted - place.reserved - ('covered' in place ? place.covered : place.settled)
}
