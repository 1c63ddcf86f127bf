/**
 * Executes the ledger's operations on the writer's connection, each inside a transaction: those of the ledger engine, and those
 * about the processes that share one file.
 */
import { LedgerEngine } from '../../ledger/engine/ledger-engine.ts'
import { toEndingOperation } from '../../ledger/orders.ts'
import type {
  CountResult,
  ExpireOperation,
  LedgerOperation,
  LedgerResult,
  PruneOperation,
  SweepResult,
} from '../../ledger/operations.ts'
import type { Connection } from '../connection/connection.ts'
import type { LedgerSql } from './ledger-sql.ts'
import { prepareLedgerSql } from './ledger-sql.ts'
import { getJournalPath, readJournal } from '../process/settlement-journal.ts'
import type { HoldOwner } from '../process/process-registry.ts'
import { ProcessRegistry } from '../process/process-registry.ts'
import type { BalanceCacheLimits } from './balance-cache.ts'
import { BalanceCache } from './balance-cache.ts'
import { SqliteLedgerStorage } from './sqlite-ledger-storage.ts'

export class LedgerExecutor {
  readonly #database: string
  readonly #sql: LedgerSql
  readonly #balances: BalanceCache
  readonly #storage: SqliteLedgerStorage
  readonly #engine: LedgerEngine
  readonly #processes: ProcessRegistry
  /** Open holds of the whole database: updated by each operation here, and counted at each sweep to include other processes. */
  #holdsOpen: number

  /** `isDurable` is called after a commit and tells whether everything committed is on disk. */
  constructor(db: Connection, name: string, pid: number, at: number, isDurable: () => boolean, limits?: BalanceCacheLimits) {
    this.#database = db.name
    this.#sql = prepareLedgerSql(db)
    this.#balances = new BalanceCache(db, limits)
    this.#processes = new ProcessRegistry(db, name, isDurable)
    try {
      const owner = this.#processes.register(pid, at)
      this.#storage = new SqliteLedgerStorage(this.#sql, this.#balances, owner)
      this.#engine = new LedgerEngine(this.#storage)
      this.#holdsOpen = this.#countHolds()
    } catch (error) {
      // Without a row no other process would remove the file.
      this.#processes.close()
      throw error
    }
  }

  get holdsOpen(): number {
    return this.#holdsOpen
  }

  /** Registers another thread of this process as an owner of holds. */
  register(name: string, pid: number, at: number): void {
    this.#processes.register(pid, at, name)
  }

  /** Sets the owner of the next holds: a thread, or the process if undefined. */
  actAs(name: string | undefined): void {
    const owner = this.#processes.findOwnerId(name)
    if (owner === undefined) throw new Error(`${name} is not a thread of this process`)
    this.#storage.owner = owner
  }

  /** Ends the holds of a thread that has ended, as its journal says or by releasing them. */
  releaseThread(name: string, at: number): SweepResult {
    this.#beginTransaction()
    const owner = this.#processes.unregister(name)
    const [expiredCount, recoveredCount] = owner === undefined ? [0, 0] : this.#endHoldsOf(owner, at)
    return { kind: 'swept', expired: expiredCount, recovered: recoveredCount }
  }

  apply(operation: LedgerOperation): LedgerResult {
    this.#beginTransaction()
    switch (operation.kind) {
      case 'expire':
        return this.#expire(operation)
      case 'prune':
        return this.#prune(operation.step)
      default:
        return this.#engine.apply(operation)
    }
  }

  /** Writes balances that must not stay in memory. Call before a repository's statement in the same transaction. */
  flushBalances(): void {
    this.#balances.writeDue()
  }

  /** Call before the transaction is committed. */
  beforeCommit(): void {
    this.#balances.beforeCommit()
  }

  /** Whether balance rows are behind the cache. */
  get isDirty(): boolean {
    return this.#balances.isDirty
  }

  /** Writes up to `limit` of them, in a transaction of its own. */
  writeBehind(limit: number): void {
    this.#balances.writeBehind(limit)
  }

  /** Call after the commit. */
  afterCommit(): void {
    this.#holdsOpen += this.#storage.openHoldsDelta
    this.#storage.openHoldsDelta = 0
    this.#balances.afterCommit()
    this.#processes.afterCommit()
  }

  /** Call after a rollback. */
  afterRollback(): void {
    this.#storage.reset()
    this.#balances.reset()
    this.#processes.afterRollback()
  }

  close(): void {
    this.#processes.close()
  }

  #expire({ at, monotonicMs, except }: ExpireOperation): SweepResult {
    const excludedIds = new Set(except)
    const overdue = this.#sql.overdueHolds.all(monotonicMs, this.#storage.owner).filter(({ id }) => !excludedIds.has(id))
    let expiredCount = this.#expireHolds([...overdue, ...this.#sql.orphanedHolds.all()], at)
    let settledCount = 0
    for (const dead of this.#processes.listDead()) {
      const [expiredHere, settledHere] = this.#endHoldsOf(dead, at)
      expiredCount += expiredHere
      settledCount += settledHere
    }
    // Holds of other processes are counted in the table only.
    this.#storage.openHoldsDelta = this.#countHolds() - this.#holdsOpen
    return { kind: 'swept', expired: expiredCount, recovered: settledCount }
  }

  #endHoldsOf(dead: HoldOwner, at: number): [expired: number, settled: number] {
    const settledCount = this.#settleFromJournal(dead)
    const expiredCount = this.#expireHolds(this.#sql.holdsOfOwner.all(dead.id), at)
    this.#processes.remove(dead)
    return [expiredCount, settledCount]
  }

  /** Settlements in the journal of a dead process are written before its holds are released: a delivered answer must not be free. */
  #settleFromJournal(dead: HoldOwner): number {
    const heldIds = new Set(this.#sql.holdsOfOwner.all(dead.id).map(({ id }) => id))
    // Orders for other holds have been written before, or belong to another state of the database, as after a restore.
    const orders = readJournal(getJournalPath(this.#database, dead.name)).filter(({ hold }) => heldIds.delete(hold))
    for (const order of orders) this.apply(toEndingOperation(order))
    return orders.length
  }

  /** Deletes what a new checkpoint stands for; nothing if another process has pruned meanwhile. */
  #prune({ account, previousSeq, checkpoint, turns, buckets, packs, sumsBefore }: PruneOperation['step']): CountResult {
    if ((this.#sql.checkpointSeq.get(account)?.seq ?? 0) !== previousSeq) return { kind: 'count', count: 0 }
    this.#balances.writeAll()
    const { seq, hash, balances, seal } = checkpoint
    this.#sql.upsertCheckpoint.run(account, seq, hash, balances, seal)
    for (const id of turns) assertDeleted(this.#sql.pruneTurn.run(id).changes, `turn ${id}`)
    this.#sql.pruneEntries.run(account, seq)
    // A row that has changed since the plan was made is still needed; then all of the plan waits for the next run.
    for (const [id, settled] of buckets) assertDeleted(this.#sql.pruneBucket.run(account, id, settled).changes, `bucket ${id}`)
    for (const [id, settled] of packs) assertDeleted(this.#sql.prunePack.run(account, id, settled).changes, `pack ${id}`)
    this.#sql.pruneUsageSums.run(account, sumsBefore)
    return { kind: 'count', count: turns.length }
  }

  /** Runs once in each transaction. The counts of open holds are valid as long as the balance cache is. */
  #beginTransaction(): void {
    if (this.#balances.beginTransaction()) this.#storage.recountOpenHolds()
  }

  #expireHolds(holds: readonly { readonly id: number }[], at: number): number {
    return this.#engine.expire(
      holds.map(({ id }) => id),
      at,
    )
  }

  #countHolds(): number {
    return this.#sql.openHoldCount.get()?.held ?? 0
  }
}

function assertDeleted(changes: number, label: string): void {
  if (changes !== 1) throw new Error(`${label} has changed since its pruning was planned`)
}
