/**
 * Rebuilds one account's balances from its chain, link by link. Verification compares them with the stored balances; pruning
 * saves them as a checkpoint. Reserved amounts are not in the chain: they follow from the held turns.
 */
import { genesisHash, hashCheckpoint, hashEntry, isCoveredByHash, isSameHash, hashTurn } from './hash-chain.ts'
import type { CheckpointTable, EntryTable } from '../schema/schema.ts'
import { parseAllocations, sumAllocations } from './engine/allocation.ts'
import type { Allocation } from './engine/allocation.ts'
import type { VerifiedTurn } from './turn-columns.ts'
import { parseJson } from '../../system/parse-json.ts'

/** The replayed totals of a bucket or pack. `settled` includes `debt`; packs have no debt. */
export interface BalanceTotals {
  /** The parts that never change, as one text. */
  readonly identity: string
  granted: number
  settled: number
  debt: number
}

/** Reports a broken rule. */
type ReportMismatch = (rule: string, detail: string) => void

export class BalanceReplay {
  readonly account: string
  readonly buckets = new Map<number, BalanceTotals>()
  readonly packs = new Map<string, BalanceTotals>()
  seq = 0
  hash = genesisHash
  readonly #reportMismatch: ReportMismatch

  constructor(account: string, reportMismatch: ReportMismatch) {
    this.account = account
    this.#reportMismatch = reportMismatch
  }

  /** Starts from a checkpoint instead of an empty account. */
  resume(checkpoint: CheckpointTable): void {
    const { seq, hash, balances, seal } = checkpoint
    if (!isSameHash(hashCheckpoint(checkpoint), seal))
      this.#reportMismatch('a checkpoint stays as it was sealed', `checkpoint at ${seq}`)
    this.seq = seq
    this.hash = hash
    this.reportIfUnreadable(`the checkpoint at ${seq}`, () => {
      const { buckets, packs } = parseJson(balances) as CheckpointBalances
      for (const [id, identity, granted, settled, debt] of buckets) this.buckets.set(id, { identity, granted, settled, debt })
      for (const [id, identity, granted, settled] of packs) this.packs.set(id, { identity, granted, settled, debt: 0 })
    })
  }

  applyEntry(entry: EntryTable): void {
    const label = `entry ${entry.seq} (${entry.kind})`
    this.#advance(entry, hashEntry(this.hash, entry), label)
    this.reportIfUnreadable(label, () => {
      switch (entry.kind) {
        case 'open': {
          // The initial usage is in the entry only if it is not zero.
          type Opened = [number, string, string, number, number, number, number?]
          const [id, pool, window, start, end, granted, settled = 0] = parseDetail<Opened>(entry)
          this.buckets.set(id, { identity: formatBucketIdentity(pool, window, start, end), granted, settled, debt: 0 })
          return
        }
        case 'limit': {
          const [id, granted] = parseDetail<[number, number]>(entry)
          this.#getBucket(id).granted = granted
          return
        }
        case 'grant': {
          const [id, kind, pool, granted, expiresAt] = parseDetail<[string, string, string, number, number]>(entry)
          this.packs.set(id, { identity: formatPackIdentity(kind, pool, expiresAt), granted, settled: 0, debt: 0 })
          return
        }
        case 'adjust': {
          // The last four are there only where credits were taken.
          type Adjusted = [string, string, string, number, number, string, number?, number[]?, number[]?, Allocation[]?]
          const [id, kind, pool, credits, expiresAt, , charged = 0, bucketIds = [], debts = [], packs = []] =
            parseDetail<Adjusted>(entry)
          const granted = Math.max(0, credits)
          this.packs.set(id, { identity: formatPackIdentity(kind, pool, expiresAt), granted, settled: 0, debt: 0 })
          for (const [index, bucketId] of bucketIds.entries()) {
            const bucket = this.#getBucket(bucketId)
            bucket.settled += charged
            bucket.debt += debts[index] ?? 0
          }
          for (const [pack, share] of packs) this.#getPack(pack).settled += share
          return
        }
        default:
          throw new Error('its kind is unknown')
      }
    })
  }

  applyTurn(turn: VerifiedTurn): void {
    const label = `turn ${turn.id}`
    if (!isCoveredByHash(turn))
      this.#reportMismatch(
        'the hash of a link covers its turn',
        `${label} has values that hash version ${turn.hash_version} does not cover, or the version is unknown`,
      )
    this.#advance(turn, hashTurn(this.hash, turn), label)
    this.reportIfUnreadable(label, () => {
      const packs = parseAllocations(turn.settled_packs)
      const fromPlan = turn.credits - sumAllocations(packs)
      const debts = turn.window_debts === null ? [0, 0, 0] : (parseJson(turn.window_debts) as readonly number[])
      if (turn.credits > 0) {
        for (const [index, id] of getBucketIds(turn).entries()) {
          const bucket = this.#getBucket(id)
          bucket.settled += fromPlan
          bucket.debt += debts[index] ?? 0
        }
      }
      for (const [id, credits] of packs) this.#getPack(id).settled += credits
    })
  }

  /** A checkpoint of the balances at this link. */
  createCheckpoint(): CheckpointTable {
    const balances: CheckpointBalances = {
      buckets: [...this.buckets].map(([id, { identity, granted, settled, debt }]) => [id, identity, granted, settled, debt]),
      packs: [...this.packs].map(([id, { identity, granted, settled }]) => [id, identity, granted, settled]),
    }
    const checkpoint = { account: this.account, seq: this.seq, hash: this.hash, balances: JSON.stringify(balances) }
    return { ...checkpoint, seal: hashCheckpoint(checkpoint) }
  }

  /** Reports malformed data like any other mismatch. */
  reportIfUnreadable(label: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      this.#reportMismatch('every link can be read', `${label}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  #advance({ seq, hash }: { readonly seq: number; readonly hash: Uint8Array }, expected: Uint8Array, label: string): void {
    if (seq !== this.seq + 1) this.#reportMismatch('a chain has no holes', `${label} is at link ${seq}, after ${this.seq}`)
    if (!isSameHash(expected, hash)) this.#reportMismatch('a link never changes', `${label} or the link before it was changed`)
    this.seq = seq
    // Continues from the stored hash, so that one changed link is reported once and not again with every later link.
    this.hash = hash
  }

  #getBucket(id: number): BalanceTotals {
    const bucket = this.buckets.get(id)
    if (bucket === undefined) throw new Error(`bucket ${id} was never opened`)
    return bucket
  }

  #getPack(id: string): BalanceTotals {
    const pack = this.packs.get(id)
    if (pack === undefined) throw new Error(`pack ${id} was never granted`)
    return pack
  }
}

/** The JSON of a checkpoint's balances. */
interface CheckpointBalances {
  readonly buckets: readonly (readonly [id: number, identity: string, granted: number, settled: number, debt: number])[]
  readonly packs: readonly (readonly [id: string, identity: string, granted: number, settled: number])[]
}

export function formatBucketIdentity(pool: string, window: string, start: number, end: number): string {
  return `${pool} ${window} ${start} ${end}`
}

export function formatPackIdentity(kind: string, pool: string, expiresAt: number): string {
  return `${kind} ${pool} ${expiresAt}`
}

export function getBucketIds(
  turn: Pick<VerifiedTurn, 'day_bucket' | 'week_bucket' | 'month_bucket'>,
): readonly [number, number, number] {
  return [turn.day_bucket, turn.week_bucket, turn.month_bucket]
}

function parseDetail<Shape>({ detail }: EntryTable): Shape {
  return parseJson(detail) as Shape
}
