/** The ledger as one would write it on a napkin: no database, no threads, no entries; what the real one is compared with. */
import type { Periods } from '../../src/membership/period.ts'
import type { PoolLimits, Window } from '../../src/membership/plan.ts'
import { windows } from '../../src/membership/plan.ts'
import type { Pool } from '../../src/membership/product.ts'

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
  readonly until: number
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
  readonly want: number
  readonly floor: number
  readonly until: number
}

export class ModelAccount {
  /** All there ever were, by pool and window; the one used last comes first. */
  readonly #buckets = new Map<string, readonly ModelBucket[]>()
  readonly packs: ModelPack[] = []

  /** The bucket of an instant as it is, or as it would be opened. */
  bucket(pool: Pool, window: Window, at: number, periods: Periods): ModelBucket {
    const { start, end, nextEnd } = periods[window]
    const known = (this.#buckets.get(`${pool} ${window}`) ?? []).filter((bucket) => bucket.start <= at)
    const latest = known.toSorted((one, other) => other.start - one.start)[0]
    const running = [...known.slice(0, 1), ...(latest === undefined ? [] : [latest])].find((bucket) => at < bucket.end)
    if (running !== undefined) return running
    const fresh = { granted: 0, reserved: 0, covered: 0, debt: 0 }
    if (latest === undefined || latest.end <= start) return { ...fresh, start, end }
    // The zone was changed, and the calendar is in a period that the last one has covered in part: it counts as whichever it is more of.
    const covered = (latest.end - start) / (end - start)
    return { ...fresh, start: latest.end, end: covered > 0.5 ? nextEnd : end }
  }

  #open(pool: Pool, window: Window, at: number, periods: Periods): ModelBucket {
    const bucket = this.bucket(pool, window, at, periods)
    const known = this.#buckets.get(`${pool} ${window}`) ?? []
    this.#buckets.set(`${pool} ${window}`, [bucket, ...known.filter((other) => other !== bucket)])
    return bucket
  }

  /** Nothing where there is no room. */
  reserve({ pool, at, periods, limits, want, floor, until }: ModelOrder): ModelHold | undefined {
    const buckets = windows.map((window) => {
      const bucket = this.#open(pool, window, at, periods)
      bucket.granted = Math.max(limits[window], bucket.reserved + bucket.covered)
      return bucket
    })
    const plan = Math.min(want, ...buckets.map(roomIn))
    const packs: [ModelPack, number][] = []
    let missing = want - plan
    for (const pack of this.#usable(pool, at)) {
      const share = Math.min(missing, roomIn(pack))
      if (share > 0) packs.push([pack, share])
      missing -= share
    }
    if (want - missing < floor) return undefined
    for (const bucket of buckets) bucket.reserved += plan
    for (const [pack, share] of packs) pack.reserved += share
    return { pool, until, credits: want - missing, plan, buckets, packs }
  }

  /** Returns what neither all windows together nor packs cover. */
  settle(hold: ModelHold, at: number, credits: number): number {
    this.giveBack(hold)
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
    fromBuckets(Math.min(...hold.buckets.map(roomIn)))
    for (const pack of this.#usable(hold.pool, at)) fromPack(pack, roomIn(pack))
    // What is owed is charged to each window by itself, as if the others were not there.
    for (const bucket of hold.buckets) {
      const owed = Math.max(0, left - roomIn(bucket))
      bucket.covered += left - owed
      bucket.debt += owed
    }
    return left
  }

  giveBack(hold: ModelHold): void {
    for (const bucket of hold.buckets) bucket.reserved -= hold.plan
    for (const [pack, share] of hold.packs) pack.reserved -= share
  }

  #usable(pool: Pool, at: number): readonly ModelPack[] {
    return this.packs
      .filter((pack) => pack.pool === pool && pack.expiresAt > at)
      .sort((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1))
  }
}

function roomIn(place: ModelBucket | ModelPack): number {
  return place.granted - place.reserved - ('covered' in place ? place.covered : place.settled)
}
