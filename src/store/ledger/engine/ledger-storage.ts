/**
 * The rows that the ledger engine reads and writes, synchronously: through prepared statements, or from rows that were loaded before. An
 * implementation finds and stores rows and contains no rules.
 */
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import type { Window } from '../../../domain/billing/catalog/plan.ts'
import type { Bucket } from '../bucket.ts'
import type { AccountBalance } from '../account-balance.ts'
import type { EntryTable, PackTable } from '../../schema/schema.ts'
import type { OpenPack } from './allocation.ts'
import type { ChainPosition, HoldRow, SettlementTurn, TurnAnnotation, TurnEnding } from '../turn-columns.ts'

/** The turn that used an idempotency key. */
export interface IdempotentTurn {
  readonly state: 'held' | 'settled'
  readonly body_hash: string | null
  readonly request_id: string
  readonly code: string | null
  readonly credits: number
}

/** A window of a pool that has reached a level, in percent of its limit. */
export interface PoolLevel {
  readonly account: string
  readonly pool: Pool
  readonly window: Window
  readonly level: number
  readonly used: number
  readonly limit: number
  readonly endsAt: number
  readonly at: number
}

export interface LedgerStorage {
  /** The account's balance including the changes made here; a new one if the account has none. */
  getBalance(account: string): AccountBalance

  /** The account's open holds, of all processes. */
  countOpenHolds(account: string): number
  findByIdempotencyKey(account: string, key: string): IdempotentTurn | undefined
  /** @throws if there is no such turn */
  getTurn(id: number): SettlementTurn
  /** Like `getTurn`, but bypasses the cache. */
  getStoredTurn(id: number): SettlementTurn
  /** Returns the turn's id. */
  insertHold(balance: AccountBalance, leaseUntil: number, hold: HoldRow, hash: Uint8Array): number
  onHeld(turn: SettlementTurn): void
  /** Returns false without a change if the turn has already ended. */
  endTurn(turn: SettlementTurn, ending: TurnEnding, chainPosition: ChainPosition): boolean
  onEnded(turn: SettlementTurn): void
  annotateTurn(turn: SettlementTurn, annotation: TurnAnnotation): void

  insertEntry(entry: EntryTable): void

  /** Records an event if a receiver of notifications wants it. */
  insertPoolLevel(level: PoolLevel): void

  /** Archived buckets have left the balance. Their values are in the order of `bucketFields`. */
  getArchivedBucket(account: string, id: number): number[] | undefined
  /** The latest archived bucket of a window that began at or before `at`. */
  getLatestArchivedBucket(account: string, pool: Pool, window: Window, at: number): number[] | undefined
  archiveBucket(account: string, pool: Pool, window: Window, values: readonly number[]): void
  deleteArchivedBucket(account: string, id: number): void
  /** Writes the reserved, settled and debt amounts. */
  updateArchivedBucket(account: string, bucket: Bucket): void

  /** Packs with credits left or reserved, earliest expiry first. */
  listOpenPacks(account: string, pool: Pool, at: number): readonly OpenPack[]
  applyPackDelta(account: string, id: string, reserved: number, settled: number): void
  /** Returns false without a change if a pack with this id exists. */
  insertPack(pack: PackTable): boolean
  /** Undefined where the account has no such pack. */
  findPack(account: string, id: string): PackTable | undefined
  /** @throws if there is no such pack */
  getPack(account: string, id: string): PackTable
}

/** The detail of the event, as JSON. */
export function toPoolLevelDetail({ pool, window, level, used, limit, endsAt }: PoolLevel): string {
  return JSON.stringify({ pool, window, level, used, limit, endsAt })
}
