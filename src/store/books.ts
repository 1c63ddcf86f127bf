/**
 * One account's balances, rebuilt link by link from its chain: what its entries and ended turns come to. Verifying compares the balances
 * with what is stored, forgetting old turns seals them as a checkpoint. What is reserved is not in the chain; that is the held turns'.
 */
import { chainStart, checkpointSeal, entryHash, sameHash, turnHashOf } from './chain.ts'
import type { CheckpointTable, EntryTable } from './schema.ts'
import { sharesIn, total } from './shares.ts'
import type { EndedTurn } from './turn-columns.ts'

/** What was opened or granted, and what its figures have become. `settled` includes `debt`; packs have none. */
export interface Sums {
  /** What never changes about it, as one text. */
  readonly identity: string
  granted: number
  settled: number
  debt: number
}

/** A broken promise, in the words of a report. */
export type Broken = (rule: string, detail: string) => void

export class Books {
  readonly account: string
  readonly buckets = new Map<number, Sums>()
  readonly packs = new Map<string, Sums>()
  seq = 0
  hash = chainStart
  readonly #broken: Broken

  constructor(account: string, broken: Broken) {
    this.account = account
    this.#broken = broken
  }

  /** Begins where an account's chain was cut off. */
  resume(checkpoint: CheckpointTable): void {
    const { seq, hash, balances, seal } = checkpoint
    if (!sameHash(checkpointSeal(checkpoint), seal)) this.#broken('a checkpoint stays as it was sealed', `checkpoint at ${seq}`)
    this.seq = seq
    this.hash = hash
    this.legibly(`the checkpoint at ${seq}`, () => {
      const { buckets, packs } = JSON.parse(balances) as Balances
      for (const [id, identity, granted, settled, debt] of buckets) this.buckets.set(id, { identity, granted, settled, debt })
      for (const [id, identity, granted, settled] of packs) this.packs.set(id, { identity, granted, settled, debt: 0 })
    })
  }

  enter(entry: EntryTable): void {
    const what = `entry ${entry.seq} (${entry.kind})`
    this.#follow(entry, entryHash(this.hash, entry), what)
    this.legibly(what, () => {
      switch (entry.kind) {
        case 'open': {
          // What the account's person had used before it was made is said only where there is some.
          type Opened = [number, string, string, number, number, number, number?]
          const [id, pool, window, start, end, granted, settled = 0] = detailOf<Opened>(entry)
          this.buckets.set(id, { identity: bucketIdentity(pool, window, start, end), granted, settled, debt: 0 })
          return
        }
        case 'limit': {
          const [id, granted] = detailOf<[number, number]>(entry)
          this.#bucket(id).granted = granted
          return
        }
        case 'grant': {
          const [id, kind, pool, granted, expiresAt] = detailOf<[string, string, string, number, number]>(entry)
          this.packs.set(id, { identity: packIdentity(kind, pool, expiresAt), granted, settled: 0, debt: 0 })
          return
        }
        default:
          throw new Error('its kind is unknown')
      }
    })
  }

  end(turn: EndedTurn): void {
    const what = `turn ${turn.id}`
    this.#follow(turn, turnHashOf(this.hash, turn), what)
    this.legibly(what, () => {
      const packs = sharesIn(turn.settled_packs)
      const fromPlan = turn.credits - total(packs)
      const debts = turn.window_debts === null ? [0, 0, 0] : (JSON.parse(turn.window_debts) as readonly number[])
      if (turn.credits > 0) {
        for (const [index, id] of bucketsOf(turn).entries()) {
          const bucket = this.#bucket(id)
          bucket.settled += fromPlan
          bucket.debt += debts[index] ?? 0
        }
      }
      for (const [id, credits] of packs) this.#pack(id).settled += credits
    })
  }

  /** Seals the books as they stand. */
  checkpoint(): CheckpointTable {
    const balances: Balances = {
      buckets: [...this.buckets].map(([id, { identity, granted, settled, debt }]) => [id, identity, granted, settled, debt]),
      packs: [...this.packs].map(([id, { identity, granted, settled }]) => [id, identity, granted, settled]),
    }
    const checkpoint = { account: this.account, seq: this.seq, hash: this.hash, balances: JSON.stringify(balances) }
    return { ...checkpoint, seal: checkpointSeal(checkpoint) }
  }

  /** What cannot be read is reported like anything else that is wrong. */
  legibly(what: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      this.#broken('every link can be read', `${what}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  #follow({ seq, hash }: { readonly seq: number; readonly hash: Uint8Array }, expected: Uint8Array, what: string): void {
    if (seq !== this.seq + 1) this.#broken('a chain has no holes', `${what} stands at ${seq}, after ${this.seq}`)
    if (!sameHash(expected, hash)) this.#broken('a link never changes', `${what} or the link before it is not what was written`)
    this.seq = seq
    // Chained to what is stored, so that one changed link is reported once and not with every link after it.
    this.hash = hash
  }

  #bucket(id: number): Sums {
    const bucket = this.buckets.get(id)
    if (bucket === undefined) throw new Error(`bucket ${id} was never opened`)
    return bucket
  }

  #pack(id: string): Sums {
    const pack = this.packs.get(id)
    if (pack === undefined) throw new Error(`pack ${id} was never granted`)
    return pack
  }
}

/** A checkpoint's JSON. */
interface Balances {
  readonly buckets: readonly (readonly [id: number, identity: string, granted: number, settled: number, debt: number])[]
  readonly packs: readonly (readonly [id: string, identity: string, granted: number, settled: number])[]
}

export function bucketIdentity(pool: string, window: string, start: number, end: number): string {
  return `${pool} ${window} ${start} ${end}`
}

export function packIdentity(kind: string, pool: string, expiresAt: number): string {
  return `${kind} ${pool} ${expiresAt}`
}

export function bucketsOf(
  turn: Pick<EndedTurn, 'day_bucket' | 'week_bucket' | 'month_bucket'>,
): readonly [number, number, number] {
  return [turn.day_bucket, turn.week_bucket, turn.month_bucket]
}

function detailOf<Shape>({ detail }: EntryTable): Shape {
  return JSON.parse(detail) as Shape
}
