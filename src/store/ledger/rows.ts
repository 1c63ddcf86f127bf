/**
 * What the ledger's decisions read and write, synchronously: prepared statements, or what was loaded before. No rule stands behind it; a
 * store only finds rows and keeps them.
 */
import type { Pool } from '../../membership/product.ts'
import type { Window } from '../../membership/plan.ts'
import type { Bucket } from '../bucket.ts'
import type { Purse } from '../purse.ts'
import type { EntryTable, PackTable } from '../schema.ts'
import type { OpenPack } from '../shares.ts'
import type { EndedValues, EndingTurn, LinkValues, NotedValues, ReportedValues, SealedValues } from '../turn-columns.ts'

/** The turn that used an idempotency key. */
export interface EarlierTurn {
  readonly state: 'held' | 'settled'
  readonly body_hash: string | null
  readonly request_id: string
  readonly code: string | null
  readonly credits: number
}

export interface LedgerRows {
  /** An account's, as it is after all that was done here; a new one where it has none. */
  purse(account: string): Purse

  /** How many of an account's turns run, whoever runs them. */
  running(account: string): number
  earlier(account: string, key: string): EarlierTurn | undefined
  /** A turn as it was held, or as it has ended. @throws where there is none */
  turn(id: number): EndingTurn
  /** As `turn`, but past all that is remembered. */
  turnNow(id: number): EndingTurn
  /** Gives its id. */
  hold(purse: Purse, until: number, sealed: SealedValues, hash: Uint8Array): number
  held(turn: EndingTurn): void
  /** False, and nothing has changed, where the turn has ended already. */
  end(turn: EndingTurn, reported: ReportedValues, ended: EndedValues, link: LinkValues): boolean
  ended(turn: EndingTurn): void
  note(turn: EndingTurn, noted: NotedValues): void

  addEntry(entry: EntryTable): void

  /** Of buckets that have left the purse: one by its id; the last of a window that began by `at`. Figures, in the order of the columns. */
  bucket(account: string, id: number): number[] | undefined
  lastBucket(account: string, pool: Pool, window: Window, at: number): number[] | undefined
  putAway(account: string, pool: Pool, window: Window, figures: readonly number[]): void
  takeOut(account: string, id: number): void
  /** Writes what is reserved, settled and owed of one that is put away. */
  saveBucket(account: string, bucket: Bucket): void

  /** Those with something left or held, earliest expiry first. */
  openPacks(account: string, pool: Pool, at: number): readonly OpenPack[]
  movePack(account: string, id: string, reserved: number, settled: number): void
  /** False, and nothing has changed, where one of its id is there. */
  addPack(pack: PackTable): boolean
  /** @throws where there is none */
  pack(account: string, id: string): PackTable
}
