/** One account's purse in memory, as its row: plain numbers in the order of the columns, because every turn reads and writes all of it. */
import type { Statement } from 'better-sqlite3'
import { type Window, windows } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'
import { chainStart } from '../entry-hash.ts'
import { bucketFields } from '../schema.ts'
import type { Connection } from './connection.ts'

/** Where each figure of a bucket stands, counted from the bucket's first. */
export const field = { id: 0, startsAt: 1, endsAt: 2, granted: 3, reserved: 4, settled: 5, debt: 6 } as const

const pools = ['fast', 'premium'] as const satisfies readonly Pool[]
const size = bucketFields.length
const columns = pools.flatMap((pool) => windows.flatMap((window) => bucketFields.map((name) => `${pool}_${window}_${name}`)))

export interface Purse {
  readonly account: string
  /** Not in the table yet. */
  readonly isNew: boolean
  seq: number
  hash: Uint8Array
  /** All figures of all buckets. */
  readonly cells: number[]
}

/** A bucket in place: `cells[start + field.…]`. In the purse or, once its period is over, in a row of its own. */
export class Bucket {
  readonly cells: number[]
  readonly #start: number

  constructor(cells: number[], start: number) {
    this.cells = cells
    this.#start = start
  }

  get(name: keyof typeof field): number {
    return this.cells[this.#start + field[name]] ?? 0
  }

  add(name: keyof typeof field, amount: number): void {
    this.set(name, this.get(name) + amount)
  }

  set(name: keyof typeof field, value: number): void {
    this.cells[this.#start + field[name]] = value
  }

  /** What was settled and is no debt. */
  get covered(): number {
    return this.get('settled') - this.get('debt')
  }

  get room(): number {
    return this.get('granted') - this.get('reserved') - this.covered
  }

  figures(): number[] {
    return this.cells.slice(this.#start, this.#start + size)
  }

  become(figures: readonly number[]): void {
    figures.forEach((value, index) => (this.cells[this.#start + index] = value))
  }
}

export function bucketIn(purse: Purse, pool: Pool, window: Window): Bucket {
  return new Bucket(purse.cells, (pools.indexOf(pool) * windows.length + windows.indexOf(window)) * size)
}

/** Reading and writing purses. */
export class Purses {
  readonly #select: Statement<unknown[], [number, Uint8Array, ...number[]]>
  readonly #insert: Statement<unknown[]>
  readonly #update: Statement<unknown[]>

  constructor(db: Connection) {
    this.#select = db
      .prepare<unknown[], [number, Uint8Array, ...number[]]>(
        `select seq, hash, ${columns.join(', ')} from purse where account = ?`,
      )
      .raw()
    this.#insert = db.prepare(
      `insert into purse (seq, hash, ${columns.join(', ')}, account) values (${Array(columns.length + 3)
        .fill('?')
        .join(', ')})`,
    )
    this.#update = db.prepare(
      `update purse set seq = ?, hash = ?, ${columns.map((name) => `${name} = ?`).join(', ')} where account = ?`,
    )
  }

  open(account: string): Purse {
    const row = this.#select.get(account)
    if (row === undefined) return { account, isNew: true, seq: 0, hash: chainStart, cells: columns.map(() => 0) }
    const [seq, hash, ...cells] = row
    return { account, isNew: false, seq, hash, cells }
  }

  save(purse: Purse): void {
    const statement = purse.isNew ? this.#insert : this.#update
    statement.run(purse.seq, purse.hash, ...purse.cells, purse.account)
  }
}
