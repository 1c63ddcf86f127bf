/**
 * The rows loaded for a batch, and the changes that the ledger engine's decisions make to them. `NotLoaded` reports missing rows:
 * the account's operations are undone here and decided again after loading.
 */
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import type { Window } from '../../../domain/billing/catalog/plan.ts'
import { Bucket } from '../../ledger/bucket.ts'
import type { IdempotentTurn, LedgerStorage, PoolLevel } from '../../ledger/engine/ledger-storage.ts'
import { AccountBalance } from '../../ledger/account-balance.ts'
import type { EntryTable, PackTable } from '../../schema/schema.ts'
import { bucketFields } from '../../schema/schema.ts'
import type { OpenPack } from '../../ledger/engine/allocation.ts'
import type { ChainPosition, HoldRow, SettlementTurn, TurnAnnotation, TurnEnding } from '../../ledger/turn-columns.ts'

/** Thrown for cold rows: an account's packs, and the buckets of past periods. */
export class NotLoaded extends Error {
  readonly account: string

  constructor(account: string) {
    super(`the rows of ${account} are not loaded`)
    this.account = account
  }
}

/** A balance row. */
export interface BalanceRow {
  readonly version: number
  readonly running: number
  readonly seq: number
  readonly hash: Uint8Array
  /** Number of packs ever granted. */
  readonly packs: number
  readonly cells: readonly number[]
  /** How many reads in a row found it as this node had written it. */
  readonly unchangedReads: number
}

/** A bucket of a past period. */
export interface ArchivedBucket {
  readonly pool: Pool
  readonly window: Window
  /** In the order of a bucket's columns. */
  readonly values: readonly number[]
}

/** `paused`: the member bought it, and lets no turn spend it. */
export type LoadedPack = PackTable & { readonly paused?: boolean }

interface ColdRows {
  readonly packs: readonly LoadedPack[]
  readonly buckets: readonly ArchivedBucket[]
}

interface HeldRow {
  readonly id: number
  readonly owner: number
  readonly leaseUntil: number
  readonly hold: HoldRow
  readonly hash: Uint8Array
}

interface EndedRow {
  readonly turn: SettlementTurn
  readonly ending: TurnEnding
  readonly chain: ChainPosition
}

/** Changes of one account's rows. */
class AccountChanges {
  readonly newHolds: HeldRow[] = []
  /** The new holds as turns, as their settlement needs them. */
  readonly begunTurns: SettlementTurn[] = []
  readonly endedTurns: EndedRow[] = []
  readonly annotations: { readonly turn: SettlementTurn; readonly annotation: TurnAnnotation }[] = []
  readonly entries: EntryTable[] = []
  readonly poolLevels: PoolLevel[] = []
  readonly newPacks: PackTable[] = []
  /** By pack: changes of reserved and settled. */
  readonly packDeltas = new Map<string, [reserved: number, settled: number]>()
  /** By bucket: as it was archived or saved; null if it was removed. */
  readonly archived = new Map<number, ArchivedBucket | null>()
  running = 0
}

/** One account's rows: as they are in the database, and as they will be written. */
export class AccountState {
  readonly account: string
  readonly row: BalanceRow
  readonly keys = new Map<string, IdempotentTurn>()
  /** Turns that are to end, as they were read. */
  readonly loadedTurns = new Map<number, SettlementTurn>()
  coldRows: ColdRows | undefined
  balance: AccountBalance
  changes: AccountChanges
  turns: Map<number, SettlementTurn>
  #packs = new Map<string, LoadedPack>()
  #archived = new Map<number, ArchivedBucket>()

  constructor(account: string, row: BalanceRow) {
    this.account = account
    this.row = row
    this.balance = toBalance(account, row)
    this.changes = new AccountChanges()
    this.turns = new Map()
  }

  /** Discards all decisions. */
  reset(): void {
    this.balance = toBalance(this.account, this.row)
    this.changes = new AccountChanges()
    this.turns = new Map(this.loadedTurns)
    this.#packs = new Map(this.coldRows?.packs.map((pack) => [pack.id, { ...pack }]))
    this.#archived = new Map(this.coldRows?.buckets.map((bucket) => [bucket.values[0] ?? 0, bucket]))
  }

  get isChanged(): boolean {
    const { balance, row } = this
    if (this.changes.running !== 0 || balance.seq !== row.seq) return true
    return balance.bucketValues.some((value, index) => value !== row.cells[index])
  }

  /** Whether the changes consist only of turns of the current period, paid from the plan. */
  get touchesOnlyPlan(): boolean {
    const { archived, newPacks, packDeltas, annotations, entries, poolLevels } = this.changes
    const others = [newPacks, annotations, entries, poolLevels].reduce((sum, rows) => sum + rows.length, 0)
    return this.isChanged && archived.size + packDeltas.size + others === 0
  }

  /** The balance row to write. */
  get nextRow(): Omit<BalanceRow, 'version' | 'unchangedReads'> {
    const { row, changes } = this
    const { seq, hash, bucketValues } = this.balance
    return { running: row.running + changes.running, seq, hash, packs: row.packs + changes.newPacks.length, cells: bucketValues }
  }

  get packs(): Map<string, LoadedPack> {
    if (this.row.packs > 0) this.#assertLoaded()
    return this.#packs
  }

  get archived(): Map<number, ArchivedBucket> {
    this.#assertLoaded()
    return this.#archived
  }

  /** If packs are not loaded, only their changes are recorded. */
  addPackDelta(id: string, reserved: number, settled: number): void {
    const pack = this.#packs.get(id)
    if (pack !== undefined) {
      pack.reserved += reserved
      pack.settled += settled
    }
    const delta = this.changes.packDeltas.get(id)
    if (delta === undefined) {
      this.changes.packDeltas.set(id, [reserved, settled])
      return
    }
    delta[0] += reserved
    delta[1] += settled
  }

  setArchived(id: number, bucket: ArchivedBucket | null): void {
    this.changes.archived.set(id, bucket)
    if (bucket === null) this.#archived.delete(id)
    else this.#archived.set(id, bucket)
  }

  #assertLoaded(): void {
    if (this.coldRows === undefined) throw new NotLoaded(this.account)
  }
}

export class UnitOfWork implements LedgerStorage {
  readonly #accounts: ReadonlyMap<string, AccountState>
  readonly #accountByTurn = new Map<number, AccountState>()
  readonly #owner: number
  /** Id for the hold that is decided on now. */
  nextHoldId = 0

  constructor(accounts: ReadonlyMap<string, AccountState>, owner: number) {
    this.#accounts = accounts
    this.#owner = owner
    for (const state of accounts.values()) for (const id of state.loadedTurns.keys()) this.#accountByTurn.set(id, state)
  }

  getBalance(account: string): AccountBalance {
    return this.#getAccount(account).balance
  }

  countOpenHolds(account: string): number {
    const { row, changes } = this.#getAccount(account)
    return row.running + changes.running
  }

  findByIdempotencyKey(account: string, key: string): IdempotentTurn | undefined {
    return this.#getAccount(account).keys.get(key)
  }

  getTurn(id: number): SettlementTurn {
    const turn = this.#accountByTurn.get(id)?.turns.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }

  getStoredTurn(id: number): SettlementTurn {
    return this.getTurn(id)
  }

  insertHold(balance: AccountBalance, leaseUntil: number, hold: HoldRow, hash: Uint8Array): number {
    assertAmounts(hold.reserved, hold.reserved_plan)
    this.#getAccount(balance.account).changes.newHolds.push({ id: this.nextHoldId, owner: this.#owner, leaseUntil, hold, hash })
    return this.nextHoldId
  }

  onHeld(turn: SettlementTurn): void {
    const { changes } = this.#getAccount(turn.account)
    changes.begunTurns.push(turn)
    changes.running += 1
  }

  /** The cached turn may have changed since; the writing statement then refuses the whole batch. */
  endTurn(turn: SettlementTurn, ending: TurnEnding, chain: ChainPosition): boolean {
    const { changes, turns } = this.#getAccount(turn.account)
    if (turns.get(turn.id)?.state !== 'held') return false
    const { state, credits, debt } = ending
    const { input_tokens: input, cached_input_tokens: cachedInput, output_tokens: output } = ending
    assertAmounts(credits, input, cachedInput, input - cachedInput, output, debt)
    if (state !== 'settled' && credits + debt > 0) throw new RangeError(`a turn that was ${state} must not cost credits`)
    changes.endedTurns.push({ turn, ending, chain })
    // A second operation that ends it in the same batch sees this.
    turns.set(turn.id, { ...turn, state, credits, debt })
    return true
  }

  onEnded(turn: SettlementTurn): void {
    const { row, changes } = this.#getAccount(turn.account)
    changes.running -= 1
    assertAmounts(row.running + changes.running)
  }

  annotateTurn(turn: SettlementTurn, annotation: TurnAnnotation): void {
    this.#getAccount(turn.account).changes.annotations.push({ turn, annotation })
  }

  insertEntry(entry: EntryTable): void {
    this.#getAccount(entry.account).changes.entries.push(entry)
  }

  insertPoolLevel(level: PoolLevel): void {
    this.#getAccount(level.account).changes.poolLevels.push(level)
  }

  getArchivedBucket(account: string, id: number): number[] | undefined {
    const bucket = this.#getAccount(account).archived.get(id)
    return bucket === undefined ? undefined : [...bucket.values]
  }

  getLatestArchivedBucket(account: string, pool: Pool, window: Window, at: number): number[] | undefined {
    const startOf = ({ values }: ArchivedBucket): number => new Bucket([...values], 0).get('startsAt')
    const [last] = [...this.#getAccount(account).archived.values()]
      .filter((bucket) => bucket.pool === pool && bucket.window === window && startOf(bucket) <= at)
      .toSorted((one, other) => startOf(other) - startOf(one))
    return last === undefined ? undefined : [...last.values]
  }

  archiveBucket(account: string, pool: Pool, window: Window, values: readonly number[]): void {
    this.#getAccount(account).setArchived(values[0] ?? 0, { pool, window, values })
  }

  deleteArchivedBucket(account: string, id: number): void {
    this.#getAccount(account).setArchived(id, null)
  }

  updateArchivedBucket(account: string, bucket: Bucket): void {
    const state = this.#getAccount(account)
    const id = bucket.get('id')
    const archivedBucket = state.archived.get(id)
    if (archivedBucket === undefined) throw new Error(`bucket ${id} of ${account} is missing`)
    const values = [...archivedBucket.values]
    for (const [name, field] of savedFields) values[bucketFields.indexOf(field)] = bucket.get(name)
    state.setArchived(id, { ...archivedBucket, values })
  }

  listOpenPacks(account: string, pool: Pool, at: number): readonly OpenPack[] {
    return [...this.#getAccount(account).packs.values()]
      .filter((pack) => pack.pool === pool && pack.expires_at > at && pack.settled < pack.granted && pack.paused !== true)
      .toSorted((one, other) => one.expires_at - other.expires_at || (one.id < other.id ? -1 : 1))
      .map(({ id, granted, reserved, settled }) => ({ id, left: granted - reserved - settled, reserved }))
  }

  applyPackDelta(account: string, id: string, reserved: number, settled: number): void {
    this.#getAccount(account).addPackDelta(id, reserved, settled)
  }

  insertPack(pack: PackTable): boolean {
    const { packs, changes } = this.#getAccount(pack.account)
    if (packs.has(pack.id)) return false
    packs.set(pack.id, { ...pack })
    changes.newPacks.push(pack)
    return true
  }

  findPack(account: string, id: string): PackTable | undefined {
    const pack = this.#getAccount(account).packs.get(id)
    return pack?.account === account ? pack : undefined
  }

  getPack(account: string, id: string): PackTable {
    const pack = this.#getAccount(account).packs.get(id)
    if (pack === undefined) throw new Error(`pack ${id} is missing`)
    return pack
  }

  #getAccount(account: string): AccountState {
    const state = this.#accounts.get(account)
    if (state === undefined) throw new Error(`there is no account ${account}`)
    return state
  }
}

/** The same rules as the checks of SQLite's tables. */
function assertAmounts(...values: readonly number[]): void {
  for (const value of values) if (!(value >= 0)) throw new RangeError(`${value} is not an amount`)
}

const savedFields = [
  ['reserved', 'reserved'],
  ['settled', 'settled'],
  ['debt', 'debt'],
] as const

/** 0: on PostgreSQL an account's newest turn is found by an index. */
function toBalance(account: string, { seq, hash, cells }: BalanceRow): AccountBalance {
  return new AccountBalance(account, seq, hash, 0, [...cells])
}
