/**
 * What an account has, in memory: plain numbers in the order of the columns, because every turn reads and moves some of them. Its row is
 * written only now and then; `takeIn` adds what its turns have done since. All else that changes a purse writes the row at once.
 */
import type { Window } from '../membership/plan.ts'
import { windows } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import { bucketsOf } from './books.ts'
import { Bucket } from './bucket.ts'
import { chainStart } from './chain.ts'
import type { PurseTable } from './schema.ts'
import { bucketFields } from './schema.ts'
import { sharesIn, total } from './shares.ts'
import type { EndedTurn } from './turn-columns.ts'

export const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

/** Of all buckets, in the order of a purse's cells. */
export const cellColumns = pools.flatMap((pool) =>
  windows.flatMap((window) => bucketFields.map((name) => `${pool}_${window}_${name}` as const)),
)

/** What of a turn says how it has moved its account's purse. */
export const movedColumns = [
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
] as const satisfies readonly (keyof EndedTurn)[]

export type MovedTurn = Pick<EndedTurn, (typeof movedColumns)[number]>

export class Purse {
  readonly account: string
  /** Of the last link of the account's chain. */
  seq: number
  hash: Uint8Array
  lastTurn: number
  /** All figures of all buckets. */
  readonly cells: number[]

  constructor(account: string, seq = 0, hash = chainStart, lastTurn = 0, cells = Array<number>(cellColumns.length).fill(0)) {
    this.account = account
    this.seq = seq
    this.hash = hash
    this.lastTurn = lastTurn
    this.cells = cells
  }

  static from(row: PurseTable): Purse {
    const cells = cellColumns.map((column) => row[column])
    return new Purse(row.account, row.seq, row.hash, row.last_turn, cells)
  }

  bucket(pool: Pool, window: Window): Bucket {
    return new Bucket(this.cells, (pools.indexOf(pool) * windows.length + windows.indexOf(window)) * bucketFields.length)
  }

  /** A turn that has begun or ended, and says in its own row what it moved. */
  moved(begun = 0): void {
    if (begun > 0) this.lastTurn = begun
  }

  /** It changes by what no turn's row says: a store that writes purses behind their turns writes this one at once. */
  mustBeWritten(): void {}

  isSound(pool: Pool): boolean {
    return windows.every((window) => this.bucket(pool, window).isSound)
  }

  /** Whether a turn has moved this purse since it was written: begun after its newest turn, or ended after its last link. */
  lacks({ id, state, seq }: Pick<MovedTurn, 'id' | 'state' | 'seq'>): boolean {
    return id > this.lastTurn || (state !== 'held' && seq > this.seq)
  }

  /**
   * Takes in all that turns of the account have done since the purse was written; those it has are passed over. A bucket that is not
   * here was put away before the purse was written, and what moved it since is in its own row.
   * @throws where a link between the purse and the last of these is missing
   */
  takeIn(turns: Iterable<MovedTurn>): void {
    const { seq: writtenSeq, lastTurn: writtenTurn } = this
    let links = 0
    for (const turn of turns) {
      const isBegun = turn.id > writtenTurn
      const isEnded = turn.state !== 'held' && turn.seq > writtenSeq
      if (!isBegun && !isEnded) continue
      if (turn.id > this.lastTurn) this.lastTurn = turn.id
      this.#move(turn, isBegun, isEnded)
      if (!isEnded) continue
      links += 1
      if (turn.seq <= this.seq) continue
      this.seq = turn.seq
      this.hash = turn.hash
    }
    if (this.seq !== writtenSeq + links)
      throw new Error(`the purse of ${this.account} stands at ${writtenSeq}, and of the turns up to ${this.seq} some are missing`)
  }

  #move(turn: MovedTurn, isBegun: boolean, isEnded: boolean): void {
    const reserved = (isBegun ? turn.reserved_plan : 0) - (isEnded ? turn.reserved_plan : 0)
    const settled = isEnded ? turn.credits - total(sharesIn(turn.settled_packs)) : 0
    const debts = isEnded && turn.window_debts !== null ? (JSON.parse(turn.window_debts) as readonly number[]) : []
    const ids = bucketsOf(turn)
    for (const [index, window] of windows.entries()) {
      const bucket = this.bucket(turn.pool, window)
      if (bucket.get('id') === ids[index]) bucket.move(reserved, settled, debts[index] ?? 0)
    }
  }
}
