/**
 * The balances of active accounts, in the writer's memory. A turn changes its account's balance in memory only, because the
 * turn's row records the same change: the balance row is written behind, after a number of turns or when the writer is idle.
 * Every other change of a balance writes its row in the same transaction.
 *
 * The cache is valid while the epoch in the table is the one in which it was filled. After another process has used the ledger,
 * or a transaction was rolled back, the epochs differ; the cache then starts a new epoch, discards its content and replays the
 * turns since the watermark. So every figure follows from committed rows, whichever process died at whichever statement.
 */
import type { Connection } from '../connection/connection.ts'
import type { CachedBalance, Watermark, BalanceListener } from './balance-rows.ts'
import { BalanceRows } from './balance-rows.ts'
import { AccountRegistry } from './account-registry.ts'

export interface BalanceCacheLimits {
  /**
   * After this many changes (a turn makes two) all dirty balances are written: bounds how many turns a reader or a new epoch
   * replays.
   */
  readonly sweepAfter: number
  /** The same for one account: a reader replays at most this many turns. */
  readonly writeAfter: number
  /** Balances written with each commit at least, while a sweep is in progress. */
  readonly sweepStep: number
  /** Size of the cache: this many recent entries, and as many older ones. */
  readonly maxRecent: number
}

const defaultLimits: BalanceCacheLimits = { sweepAfter: 8192, writeAfter: 128, sweepStep: 32, maxRecent: 16_384 }

interface Sweep {
  readonly watermark: Watermark
  /** In reverse order: the next one is the last. */
  readonly balances: CachedBalance[]
}

export class BalanceCache implements BalanceListener {
  readonly #limits: BalanceCacheLimits
  readonly #rows: BalanceRows
  readonly #registry: AccountRegistry
  #recent = new Map<string, CachedBalance>()
  #older = new Map<string, CachedBalance>()
  /** Undefined while the cache is empty. */
  #epoch: number | undefined
  /** Whether `beginTransaction` was called in this transaction. */
  #hasBegun = false
  #due: CachedBalance[] = []
  #dirty: CachedBalance[] = []
  #sweep: Sweep | undefined
  /** Changes since the last sweep began. */
  #turnChanges = 0
  #transactionTurnChanges = 0
  /** The newest turn begun in this transaction; 0 if none. */
  #newestTurn = 0

  constructor(db: Connection, limits = defaultLimits) {
    this.#limits = limits
    this.#rows = new BalanceRows(db)
    this.#registry = new AccountRegistry(db)
  }

  /** Call in each transaction before the first `get`. Returns true if a new epoch has begun. */
  beginTransaction(): boolean {
    if (this.#hasBegun) return false
    const { epoch } = this.#rows
    const isNew = epoch !== this.#epoch
    if (isNew) this.#beginEpoch(epoch + 1)
    this.#hasBegun = true
    return isNew
  }

  get(account: string): CachedBalance {
    const recent = this.#recent.get(account)
    if (recent !== undefined) return recent
    const balance = this.#older.get(account) ?? this.#rows.read(account, this)
    this.#remember(balance)
    return balance
  }

  /** A turn has begun or ended; its own row records the change. */
  onTurn(balance: CachedBalance, begun: number): void {
    if (begun > 0) this.#newestTurn = begun
    this.#markDirty(balance)
    this.#turnChanges += 1
    this.#transactionTurnChanges += 1
    if (++balance.turnChanges >= this.#limits.writeAfter) this.requireWrite(balance)
  }

  /** Call for a change that no turn's row records, or before turns that the balance includes are pruned. */
  requireWrite(balance: CachedBalance): void {
    if (balance.isDue) return
    balance.isDue = true
    this.#due.push(balance)
  }

  /** Call before a foreign statement reads in this transaction. */
  writeDue(): void {
    if (this.#due.length === 0) return
    for (const balance of this.#due) this.#write(balance)
    this.#due = []
  }

  /** Call before the transaction is committed. */
  beforeCommit(): void {
    if (!this.#hasBegun) return
    this.writeDue()
    if (this.#newestTurn > 0) this.#rows.setNewestTurn(this.#newestTurn)
    if (this.#sweep !== undefined || this.#turnChanges >= this.#limits.sweepAfter)
      this.#writeDirty(Math.max(this.#limits.sweepStep, this.#transactionTurnChanges))
  }

  get isDirty(): boolean {
    return this.#sweep !== undefined || this.#turnChanges > 0
  }

  /** Call before turns are pruned: those after the watermark are still needed for replay. */
  writeAll(): void {
    if (this.#newestTurn > 0) this.#rows.setNewestTurn(this.#newestTurn)
    while (this.isDirty) this.#writeDirty(Infinity)
  }

  /** Writes up to `limit` dirty balances, in a transaction of its own, when the writer is idle. */
  writeBehind(limit: number): void {
    if (this.#rows.epoch === this.#epoch) this.#writeDirty(limit)
    else this.reset()
  }

  /** Call after the commit. */
  afterCommit(): void {
    this.#hasBegun = false
    this.#transactionTurnChanges = 0
    this.#newestTurn = 0
  }

  /** Call after a rollback, which also undid the cached changes. */
  reset(): void {
    this.#recent = new Map()
    this.#older = new Map()
    this.#epoch = undefined
    this.#hasBegun = false
    this.#due = []
    this.#dirty = []
    this.#sweep = undefined
    this.#turnChanges = 0
    this.#transactionTurnChanges = 0
    this.#newestTurn = 0
  }

  #beginEpoch(epoch: number): void {
    this.reset()
    for (const [account, turns] of this.#rows.readTurnsSinceWatermark()) {
      // A turn that is still held says no more than at the watermark, but each counts, or no sweep would ever move the watermark.
      this.#turnChanges += 2 * turns.length
      const balance = this.get(account)
      if (!turns.some((turn) => balance.isMissing(turn))) continue
      balance.replay(turns)
      balance.turnChanges = turns.length
      this.#markDirty(balance)
    }
    this.#rows.epoch = epoch
    this.#epoch = epoch
    // With short epochs no sweep might ever finish.
    if (this.#turnChanges >= this.#limits.sweepAfter) this.#writeDirty(Infinity)
  }

  #markDirty(balance: CachedBalance): void {
    if (balance.isDirty) return
    balance.isDirty = true
    this.#dirty.push(balance)
  }

  /** Writes up to `limit` dirty balances. After the last of them the watermark moves to the sweep's start. */
  #writeDirty(limit: number): void {
    const sweep = (this.#sweep ??= this.#startSweep())
    for (let writtenCount = 0; writtenCount < limit;) {
      const balance = sweep.balances.pop()
      if (balance === undefined) {
        this.#rows.writeWatermark(sweep.watermark)
        this.#sweep = undefined
        return
      }
      if (!balance.isDirty) continue
      this.#write(balance)
      writtenCount += 1
    }
  }

  /** In key order: neighbouring rows share a page. */
  #startSweep(): Sweep {
    const balances = this.#dirty.toSorted((one, other) => (one.account < other.account ? 1 : -1))
    this.#dirty = []
    this.#turnChanges = 0
    return { watermark: this.#rows.readCurrentWatermark(), balances }
  }

  #write(balance: CachedBalance): void {
    if (balance.isNew) this.#registry.add(balance.account)
    this.#rows.write(balance)
  }

  /** Dirty balances stay in memory; two sweeps bound their number. */
  #remember(balance: CachedBalance): void {
    if (this.#recent.size >= this.#limits.maxRecent) {
      const evictedBalances = this.#older
      this.#older = this.#recent
      this.#recent = new Map()
      for (const each of evictedBalances.values()) if (each.isDirty || each.isDue) this.#recent.set(each.account, each)
    }
    this.#recent.set(balance.account, balance)
  }
}
