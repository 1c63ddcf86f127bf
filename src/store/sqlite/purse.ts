/** One pool of an account's purse in memory: plain numbers in the order of the columns, because every turn reads and writes all of them. */
import type { Statement } from 'better-sqlite3'
import type { Window } from '../../membership/plan.ts'
import { windows } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'
import { chainStart } from '../chain.ts'
import { bucketFields } from '../schema.ts'
import type { Connection } from './connection.ts'
import { Roster } from './roster.ts'

/** Where each figure of a bucket stands, counted from the bucket's first. */
export const field = { id: 0, startsAt: 1, endsAt: 2, granted: 3, reserved: 4, settled: 5, debt: 6 } as const

const size = bucketFields.length
const columnsOf = (pool: Pool): readonly string[] =>
  windows.flatMap((window) => bucketFields.map((name) => `${pool}_${window}_${name}`))

export interface Purse {
  readonly account: string
  readonly pool: Pool
  /** Not in the table yet. */
  isNew: boolean
  /** Differs from its row. */
  changed: boolean
  seq: number
  hash: Uint8Array
  lastTurn: number
  /** All figures of the pool's three buckets. */
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

export function bucketIn(purse: Purse, window: Window): Bucket {
  return new Bucket(purse.cells, windows.indexOf(window) * size)
}

/**
 * Reading and writing purses. Within a transaction one is read once and written once, at the end, however many operations it serves:
 * a busy account has several in every commit.
 */
export class Purses {
  readonly #of: Readonly<Record<Pool, PurseSql>>
  readonly #roster: Roster
  /** By account, because the pools of an account share the end of its chain: only one of them is in memory at a time. */
  #open = new Map<string, Purse>()

  constructor(db: Connection) {
    this.#roster = new Roster(db)
    this.#of = { fast: prepare(db, 'fast'), premium: prepare(db, 'premium') }
  }

  open(account: string, pool: Pool): Purse {
    const known = this.#open.get(account)
    if (known?.pool === pool) return known
    if (known !== undefined) this.#write(known)
    const purse = this.#read(account, pool)
    this.#open.set(account, purse)
    return purse
  }

  /** Writes what has changed. To be called before the transaction is committed or anybody else reads in it. */
  flush(): void {
    if (this.#open.size === 0) return
    for (const purse of this.#open.values()) this.#write(purse)
    this.#open = new Map()
  }

  /** The transaction was undone, and with it all that these have become. */
  forget(): void {
    this.#open = new Map()
  }

  #read(account: string, pool: Pool): Purse {
    const row = this.#of[pool].select.get(account)
    if (row === undefined)
      return {
        account,
        pool,
        isNew: true,
        changed: false,
        seq: 0,
        hash: chainStart,
        lastTurn: 0,
        cells: Array<number>(size * windows.length).fill(0),
      }
    const [seq, hash, lastTurn, ...cells] = row
    return { account, pool, isNew: false, changed: false, seq, hash, lastTurn, cells }
  }

  #write(purse: Purse): void {
    if (!purse.changed) return
    const { insert, update } = this.#of[purse.pool]
    const statement = purse.isNew ? insert : update
    statement.run(purse.seq, purse.hash, purse.lastTurn, ...purse.cells, purse.account)
    if (purse.isNew) this.#roster.add(purse.account)
    purse.isNew = false
    purse.changed = false
  }
}

interface PurseSql {
  readonly select: Statement<unknown[], [number, Uint8Array, number, ...number[]]>
  readonly insert: Statement<unknown[]>
  readonly update: Statement<unknown[]>
}

function prepare(db: Connection, pool: Pool): PurseSql {
  const columns = columnsOf(pool)
  const places = Array(columns.length + 4).fill('?')
  return {
    select: db
      .prepare<unknown[], [number, Uint8Array, number, ...number[]]>(
        `select seq, hash, last_turn, ${columns.join(', ')} from purse where account = ?`,
      )
      .raw(),
    insert: db.prepare(`insert into purse (seq, hash, last_turn, ${columns.join(', ')}, account) values (${places.join(', ')})`),
    update: db.prepare(
      `update purse set seq = ?, hash = ?, last_turn = ?, ${columns.map((name) => `${name} = ?`).join(', ')} where account = ?`,
    ),
  }
}
