/**
 * An account's balance in memory: numbers in the order of the columns, because every turn reads and changes some of them. On
 * SQLite the row is written only now and then, and `replay` adds the turns since. Every other change of a balance writes the
 * row at once.
 */
import type { Window } from '../../domain/billing/catalog/plan.ts'
import { windows } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import { getBucketIds } from './balance-replay.ts'
import { Bucket } from './bucket.ts'
import { genesisHash } from './hash-chain.ts'
import type { BalanceTable, BucketTable } from '../schema/schema.ts'
import { bucketFields } from '../schema/schema.ts'
import { parseAllocations, sumAllocations } from './engine/allocation.ts'
import type { VerifiedTurn } from './turn-columns.ts'
import { parseJson } from '../../system/parse-json.ts'

export const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

/** The columns of all buckets, in the order of `bucketValues`. */
export const bucketValueColumns = pools.flatMap((pool) =>
  windows.flatMap((window) => bucketFields.map((name) => `${pool}_${window}_${name}` as const)),
)

/** The columns of a turn that determine how it changed its account's balance. */
export const replayColumns = [
  'id',
  'account',
  'pool',
  'state',
  'seq',
  'hash',
  'reserved_plan',
  'day_bucket',
  'week_bucket',
  'month_bucket',
  'credits',
  'window_debts',
  'settled_packs',
] as const satisfies readonly (keyof VerifiedTurn)[]

export type ReplayTurn = Pick<VerifiedTurn, (typeof replayColumns)[number]>

export class AccountBalance {
  readonly account: string
  /** Position of the last link of the account's chain. */
  seq: number
  hash: Uint8Array
  lastTurn: number
  /** The values of all buckets. */
  readonly bucketValues: number[]

  constructor(
    account: string,
    seq = 0,
    hash = genesisHash,
    lastTurn = 0,
    bucketValues = Array<number>(bucketValueColumns.length).fill(0),
  ) {
    this.account = account
    this.seq = seq
    this.hash = hash
    this.lastTurn = lastTurn
    this.bucketValues = bucketValues
  }

  static fromRow(row: BalanceTable): AccountBalance {
    const bucketValues = bucketValueColumns.map((column) => row[column])
    return new AccountBalance(row.account, row.seq, row.hash, row.last_turn, bucketValues)
  }

  bucket(pool: Pool, window: Window): Bucket {
    return new Bucket(this.bucketValues, (pools.indexOf(pool) * windows.length + windows.indexOf(window)) * bucketFields.length)
  }

  /** Called when a turn begins or ends; the turn's own row records what it changed. */
  recordTurn(startedTurnId = 0): void {
    if (startedTurnId > 0) this.lastTurn = startedTurnId
  }

  /** Called before a change that no turn's row records: a store that delays balance writes must write this balance at once. */
  requireWrite(): void {}

  isValid(pool: Pool): boolean {
    return windows.every((window) => this.bucket(pool, window).isValid)
  }

  /** Whether the stored balance lacks a turn: it began after `lastTurn`, or ended after `seq`. */
  isMissing({ id, state, seq }: Pick<ReplayTurn, 'id' | 'state' | 'seq'>): boolean {
    return id > this.lastTurn || (state !== 'held' && seq > this.seq)
  }

  /**
   * Applies the account's turns since the balance was written; turns that it contains are skipped. A bucket that is not here
   * was archived before the balance was written, and its own row contains the change.
   * @throws if a link between the balance and the last of these turns is missing
   */
  replay(turns: Iterable<ReplayTurn>): void {
    const { seq: storedSeq, lastTurn: storedLastTurn } = this
    let links = 0
    for (const turn of turns) {
      const isStarted = turn.id > storedLastTurn
      const isEnded = turn.state !== 'held' && turn.seq > storedSeq
      if (!isStarted && !isEnded) continue
      if (turn.id > this.lastTurn) this.lastTurn = turn.id
      this.#applyTurn(turn, isStarted, isEnded)
      if (!isEnded) continue
      links += 1
      if (turn.seq <= this.seq) continue
      this.seq = turn.seq
      this.hash = turn.hash
    }
    if (this.seq !== storedSeq + links)
      throw new Error(`the balance of ${this.account} is at link ${storedSeq}, and some turns up to link ${this.seq} are missing`)
  }

  #applyTurn(turn: ReplayTurn, isStarted: boolean, isEnded: boolean): void {
    const reservedDelta = (isStarted ? turn.reserved_plan : 0) - (isEnded ? turn.reserved_plan : 0)
    const settledDelta = isEnded ? turn.credits - sumAllocations(parseAllocations(turn.settled_packs)) : 0
    const debts = isEnded && turn.window_debts !== null ? (parseJson(turn.window_debts) as readonly number[]) : []
    const ids = getBucketIds(turn)
    for (const [index, window] of windows.entries()) {
      const bucket = this.bucket(turn.pool, window)
      if (bucket.get('id') === ids[index]) bucket.applyDelta(reservedDelta, settledDelta, debts[index] ?? 0)
    }
  }
}

/** The buckets in a balance, as rows like those of archived buckets. */
export function toBucketRows(balance: AccountBalance): readonly BucketTable[] {
  return pools
    .flatMap((pool) =>
      windows.map((window) => {
        const bucket = balance.bucket(pool, window)
        return {
          account: balance.account,
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
