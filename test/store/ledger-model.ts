/** The ledger as one would write it on a napkin: no database, no threads, no entries; what the real one is compared with. */
import type { Periods } from '../../src/membership/period.ts'
import { type PoolLimits, type Window, windows } from '../../src/membership/plan.ts'
import type { Pool } from '../../src/membership/product.ts'

export interface ModelBucket {
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
  readonly #buckets = new Map<string, ModelBucket>()
  readonly packs: ModelPack[] = []

  bucket(pool: Pool, window: Window, start: number): ModelBucket {
    const key = `${pool} ${window} ${start}`
    const bucket = this.#buckets.get(key) ?? { granted: 0, reserved: 0, covered: 0, debt: 0 }
    this.#buckets.set(key, bucket)
    return bucket
  }

  /** Nothing where there is no room. */
  reserve({ pool, at, periods, limits, want, floor, until }: ModelOrder): ModelHold | undefined {
    const buckets = windows.map((window) => {
      const bucket = this.bucket(pool, window, periods[window].start)
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
