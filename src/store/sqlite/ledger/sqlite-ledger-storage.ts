/** The ledger's storage on the writer's connection: prepared statements, with balances and recent holds in memory. */
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import type { Window } from '../../../domain/billing/catalog/plan.ts'
import type { Bucket } from '../../ledger/bucket.ts'
import { toPoolLevelDetail } from '../../ledger/engine/ledger-storage.ts'
import type { IdempotentTurn, LedgerStorage, PoolLevel } from '../../ledger/engine/ledger-storage.ts'
import type { AccountBalance } from '../../ledger/account-balance.ts'
import type { EntryTable, PackTable } from '../../schema/schema.ts'
import type { OpenPack } from '../../ledger/engine/allocation.ts'
import {
  annotationColumns,
  chainColumns,
  holdColumns,
  outcomeColumns,
  pickValues,
  reportedColumns,
} from '../../ledger/turn-columns.ts'
import type { ChainPosition, HoldRow, SettlementTurn, TurnAnnotation, TurnEnding } from '../../ledger/turn-columns.ts'
import { HoldCache } from './hold-cache.ts'
import type { LedgerSql } from './ledger-sql.ts'
import type { BalanceCache } from './balance-cache.ts'

/** When this many accounts have counts of open holds, those without open holds are removed. */
const maxAccounts = 65_536

export class SqliteLedgerStorage implements LedgerStorage {
  readonly #sql: LedgerSql
  readonly #balances: BalanceCache
  readonly #holdCache = new HoldCache()
  readonly #openHolds = new OpenHoldCounts()
  /** Owner of the holds that are made now. */
  owner: number
  /** Change of the number of open holds in this transaction. */
  openHoldsDelta = 0

  constructor(sql: LedgerSql, balances: BalanceCache, owner: number) {
    this.#sql = sql
    this.#balances = balances
    this.owner = owner
  }

  /** Counts open holds again: before the first operation, and whenever other processes may have used the ledger. */
  recountOpenHolds(): void {
    this.#openHolds.reset(this.#sql.accountsOfOpenHolds.all())
  }

  /** Call after a rollback. */
  reset(): void {
    this.openHoldsDelta = 0
    this.#holdCache.clear()
  }

  getBalance(account: string): AccountBalance {
    return this.#balances.get(account)
  }

  countOpenHolds(account: string): number {
    return this.#openHolds.get(account)
  }

  findByIdempotencyKey(account: string, key: string): IdempotentTurn | undefined {
    return this.#sql.turnByIdempotencyKey.get(account, key)
  }

  getTurn(id: number): SettlementTurn {
    return this.#holdCache.consume(id) ?? this.getStoredTurn(id)
  }

  getStoredTurn(id: number): SettlementTurn {
    const turn = this.#sql.turn.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }

  insertHold(balance: AccountBalance, leaseUntil: number, hold: HoldRow, hash: Uint8Array): number {
    const lease = [balance.lastTurn, this.owner, leaseUntil]
    return Number(this.#sql.insertTurn.run(...lease, ...pickValues(holdColumns, hold), hash).lastInsertRowid)
  }

  onHeld(turn: SettlementTurn): void {
    this.#holdCache.put(turn)
    this.#addOpenHolds(turn.account, 1)
  }

  endTurn(turn: SettlementTurn, ending: TurnEnding, chain: ChainPosition): boolean {
    const values = [
      ...pickValues(reportedColumns, ending),
      ...pickValues(outcomeColumns, ending),
      ...pickValues(chainColumns, chain),
    ]
    return this.#sql.endTurn.run(...values, turn.id).changes > 0
  }

  onEnded(turn: SettlementTurn): void {
    this.#addOpenHolds(turn.account, -1)
  }

  annotateTurn(turn: SettlementTurn, annotation: TurnAnnotation): void {
    this.#sql.annotateTurn.run(...pickValues(annotationColumns, annotation), turn.id)
  }

  insertEntry({ account, seq, kind, at, detail, hash }: EntryTable): void {
    this.#sql.insertEntry.run(account, seq, kind, at, detail, hash)
  }

  insertPoolLevel(level: PoolLevel): void {
    this.#sql.insertPoolLevel.run(level.account, toPoolLevelDetail(level), level.at)
  }

  getArchivedBucket(account: string, id: number): number[] | undefined {
    return this.#sql.archivedBucket.get(account, id)
  }

  getLatestArchivedBucket(account: string, pool: Pool, window: Window, at: number): number[] | undefined {
    return this.#sql.latestArchivedBucket.get(account, pool, window, at)
  }

  archiveBucket(account: string, pool: Pool, window: Window, values: readonly number[]): void {
    this.#sql.archiveBucket.run(account, pool, window, ...values)
  }

  deleteArchivedBucket(account: string, id: number): void {
    this.#sql.deleteArchivedBucket.run(account, id)
  }

  updateArchivedBucket(account: string, bucket: Bucket): void {
    this.#sql.updateArchivedBucket.run(
      bucket.get('reserved'),
      bucket.get('settled'),
      bucket.get('debt'),
      account,
      bucket.get('id'),
    )
  }

  listOpenPacks(account: string, pool: Pool, at: number): readonly OpenPack[] {
    return this.#sql.openPacks.all(account, pool, at)
  }

  applyPackDelta(_account: string, id: string, reserved: number, settled: number): void {
    this.#sql.applyPackDelta.run(reserved, settled, id)
  }

  insertPack({ id, account, kind, pool, granted, expires_at: expiresAt, created_at: at }: PackTable): boolean {
    return this.#sql.insertPack.run(id, account, kind, pool, granted, expiresAt, at).changes > 0
  }

  findPack(account: string, id: string): PackTable | undefined {
    const pack = this.#sql.pack.get(id)
    return pack?.account === account ? pack : undefined
  }

  getPack(_account: string, id: string): PackTable {
    const pack = this.#sql.pack.get(id)
    if (pack === undefined) throw new Error(`pack ${id} is missing`)
    return pack
  }

  #addOpenHolds(account: string, by: 1 | -1): void {
    this.openHoldsDelta += by
    this.#openHolds.add(account, by)
  }
}

/** Number of open holds by account, in the whole database. */
class OpenHoldCounts {
  #counts = new Map<string, number>()

  reset(turns: readonly { readonly account: string }[]): void {
    this.#counts = new Map()
    for (const { account } of turns) this.add(account, 1)
  }

  get(account: string): number {
    return this.#counts.get(account) ?? 0
  }

  add(account: string, delta: 1 | -1): void {
    // Zeros stay for a while: a map that loses entries as fast as it gains them is rehashed all the time.
    if (this.#counts.size >= maxAccounts) this.#counts = new Map([...this.#counts].filter(([, running]) => running > 0))
    this.#counts.set(account, this.get(account) + delta)
  }
}
