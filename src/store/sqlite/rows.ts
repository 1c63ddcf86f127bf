/** The ledger's rows on the writer's connection: prepared statements, with purses and running turns in memory. */
import type { Pool } from '../../membership/product.ts'
import type { Window } from '../../membership/plan.ts'
import type { Bucket } from '../bucket.ts'
import type { EarlierTurn, LedgerRows } from '../ledger/rows.ts'
import type { Purse } from '../purse.ts'
import type { EntryTable, PackTable } from '../schema.ts'
import type { OpenPack } from '../shares.ts'
import { reportedColumns } from '../turn-columns.ts'
import type {
  EndedValues,
  EndingTurn,
  LeaseValues,
  LinkValues,
  NotedValues,
  ReportedValues,
  SealedValues,
} from '../turn-columns.ts'
import { HeldTurns } from './held-turns.ts'
import type { LedgerSql } from './ledger-sql.ts'
import type { Purses } from './purses.ts'
import { RunningTurns } from './running-turns.ts'

/** What an ending writes besides its target where a held row has nothing, or a zero. */
const endingBytes = 24
/** Rows of targets with longer names grow. */
const longestTarget = 64
const targetAt = reportedColumns.indexOf('target')

export class SqliteRows implements LedgerRows {
  readonly #sql: LedgerSql
  readonly #purses: Purses
  readonly #held = new HeldTurns()
  readonly #running = new RunningTurns()
  /**
   * Written into the row of a hold, and written over when it ends. A row that grows in a full page is spread over others with all its
   * neighbours, and after such a commit SQLite walks through all the pages it has in memory.
   */
  #room = ' '.repeat(endingBytes)
  /** In whose name holds are made just now. */
  owner: number
  /** How many more are held than when the transaction began. */
  moved = 0

  constructor(sql: LedgerSql, purses: Purses, owner: number) {
    this.#sql = sql
    this.#purses = purses
    this.owner = owner
  }

  /** Counts those that run anew: before the first of them is begun or ended, and whenever others may have worked on the ledger. */
  count(): void {
    this.#running.begin(this.#sql.running.all())
  }

  /** The transaction was undone. */
  forget(): void {
    this.moved = 0
    this.#held.forget()
  }

  purse(account: string): Purse {
    return this.#purses.open(account)
  }

  running(account: string): number {
    return this.#running.of(account)
  }

  earlier(account: string, key: string): EarlierTurn | undefined {
    return this.#sql.byKey.get(account, key)
  }

  turn(id: number): EndingTurn {
    return this.#held.take(id) ?? this.turnNow(id)
  }

  turnNow(id: number): EndingTurn {
    const turn = this.#sql.turn.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }

  hold(purse: Purse, until: number, sealed: SealedValues, hash: Uint8Array): number {
    const lease: LeaseValues = [purse.lastTurn, this.owner, until]
    return Number(this.#sql.insertTurn.run(...lease, ...sealed, hash, this.#room).lastInsertRowid)
  }

  held(turn: EndingTurn): void {
    this.#held.keep(turn)
    this.#move(turn.account, 1)
  }

  end(turn: EndingTurn, reported: ReportedValues, ended: EndedValues, link: LinkValues): boolean {
    const target = reported[targetAt]
    if (typeof target === 'string') this.#makeRoomFor(target)
    return this.#sql.endTurn.run(...reported, ...ended, ...link, turn.id).changes > 0
  }

  ended(turn: EndingTurn): void {
    this.#move(turn.account, -1)
  }

  note(turn: EndingTurn, noted: NotedValues): void {
    this.#sql.noteTurn.run(...noted, turn.id)
  }

  addEntry({ account, seq, kind, at, detail, hash }: EntryTable): void {
    this.#sql.insertEntry.run(account, seq, kind, at, detail, hash)
  }

  bucket(account: string, id: number): number[] | undefined {
    return this.#sql.bucket.get(account, id)
  }

  lastBucket(account: string, pool: Pool, window: Window, at: number): number[] | undefined {
    return this.#sql.lastBucket.get(account, pool, window, at)
  }

  putAway(account: string, pool: Pool, window: Window, figures: readonly number[]): void {
    this.#sql.putAway.run(account, pool, window, ...figures)
  }

  takeOut(account: string, id: number): void {
    this.#sql.takeOut.run(account, id)
  }

  saveBucket(account: string, bucket: Bucket): void {
    this.#sql.saveBucket.run(bucket.get('reserved'), bucket.get('settled'), bucket.get('debt'), account, bucket.get('id'))
  }

  openPacks(account: string, pool: Pool, at: number): readonly OpenPack[] {
    return this.#sql.openPacks.all(account, pool, at)
  }

  movePack(_account: string, id: string, reserved: number, settled: number): void {
    this.#sql.movePack.run(reserved, settled, id)
  }

  addPack({ id, account, kind, pool, granted, expires_at: expiresAt, created_at: at }: PackTable): boolean {
    return this.#sql.insertPack.run(id, account, kind, pool, granted, expiresAt, at).changes > 0
  }

  pack(_account: string, id: string): PackTable {
    const pack = this.#sql.pack.get(id)
    if (pack === undefined) throw new Error(`pack ${id} is gone`)
    return pack
  }

  /** The next ones are likely to be no longer than the longest until now. */
  #makeRoomFor(target: string): void {
    const length = endingBytes + Math.min(target.length, longestTarget)
    if (length > this.#room.length) this.#room = ' '.repeat(length)
  }

  #move(account: string, by: 1 | -1): void {
    this.moved += by
    this.#running.move(account, by)
  }
}
