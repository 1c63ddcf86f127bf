/**
 * The ledger's operations on the writer's connection, each called inside a transaction: what the book decides, and what concerns the
 * processes that work on one file.
 */
import { LedgerBook } from '../ledger/book.ts'
import { toOp } from '../ledger/endings.ts'
import type { CountResult, CutOp, ExpireOp, LedgerOp, LedgerResult, SweptResult } from '../ledger/operations.ts'
import type { Connection } from './connection.ts'
import type { LedgerSql } from './ledger-sql.ts'
import { prepareLedgerSql } from './ledger-sql.ts'
import { journalOf, readJournal } from './owed-journal.ts'
import type { Owner } from './presence.ts'
import { Presence } from './presence.ts'
import type { PurseBounds } from './purses.ts'
import { Purses } from './purses.ts'
import { SqliteRows } from './rows.ts'

export class LedgerStatements {
  readonly #database: string
  readonly #sql: LedgerSql
  readonly #purses: Purses
  readonly #rows: SqliteRows
  readonly #book: LedgerBook
  readonly #presence: Presence
  /** Of the whole database: moved with each operation here, and read anew at each sweep for what other processes did. */
  #holdsOpen: number

  /** `isOnDisk` tells, after a commit, whether the disk surely has all that is committed. */
  constructor(db: Connection, name: string, pid: number, at: number, isOnDisk: () => boolean, bounds?: PurseBounds) {
    this.#database = db.name
    this.#sql = prepareLedgerSql(db)
    this.#purses = new Purses(db, bounds)
    this.#presence = new Presence(db, name, isOnDisk)
    try {
      const owner = this.#presence.enrol(pid, at)
      this.#rows = new SqliteRows(this.#sql, this.#purses, owner)
      this.#book = new LedgerBook(this.#rows)
      this.#holdsOpen = this.#countHolds()
    } catch (error) {
      // Nobody will ever find its row, and so nobody would take its file away.
      this.#presence.leave()
      throw error
    }
  }

  get holdsOpen(): number {
    return this.#holdsOpen
  }

  /** Another thread of this process owns what it holds. */
  adopt(name: string, pid: number, at: number): void {
    this.#presence.enrol(pid, at, name)
  }

  /** From now on holds are made in the name of this thread; undefined: of the process. */
  speakFor(name: string | undefined): void {
    const owner = this.#presence.idOf(name)
    if (owner === undefined) throw new Error(`${name} is no thread of this process`)
    this.#rows.owner = owner
  }

  /** That thread has ended: its turns end as it knew, or are given back. */
  release(name: string, at: number): SweptResult {
    this.#claim()
    const owner = this.#presence.dismiss(name)
    return owner === undefined ? ['swept', 0, 0] : ['swept', ...this.#endAllOf(owner, at)]
  }

  apply(op: LedgerOp): LedgerResult {
    this.#claim()
    switch (op[0]) {
      case 'expire':
        return this.#expire(op)
      case 'cut':
        return this.#cut(op)
      default:
        return this.#book.apply(op)
    }
  }

  /** Writes what may not stay in memory: before another's statement in the same transaction. */
  flush(): void {
    this.#purses.writeDue()
  }

  /** Before the transaction is committed. */
  finish(): void {
    this.#purses.finish()
  }

  /** Whether rows of purses are behind what is in memory. */
  get isBehind(): boolean {
    return this.#purses.isBehind
  }

  /** Writes so many of them, in a transaction of its own. */
  writeBehind(most: number): void {
    this.#purses.writeBehind(most)
  }

  /** The transaction in which operations were applied is committed. */
  committed(): void {
    this.#holdsOpen += this.#rows.moved
    this.#rows.moved = 0
    this.#purses.committed()
    this.#presence.committed()
  }

  /** It was undone, and with it all that the operations did. */
  undone(): void {
    this.#rows.forget()
    this.#purses.forget()
    this.#presence.undone()
  }

  leave(): void {
    this.#presence.leave()
  }

  #expire([, at, ticks, except]: ExpireOp): SweptResult {
    const kept = new Set(except)
    const overdue = this.#sql.overdue.all(ticks, this.#rows.owner).filter(({ id }) => !kept.has(id))
    let expired = this.#giveBack([...overdue, ...this.#sql.heldByNobody.all()], at)
    let owed = 0
    for (const dead of this.#presence.dead()) {
      const [given, written] = this.#endAllOf(dead, at)
      expired += given
      owed += written
    }
    // What other processes began and ended since is in the table alone.
    this.#rows.moved = this.#countHolds() - this.#holdsOpen
    return ['swept', expired, owed]
  }

  #endAllOf(dead: Owner, at: number): [expired: number, owed: number] {
    const owed = this.#endAsOwed(dead)
    const expired = this.#giveBack(this.#sql.heldBy.all(dead.id), at)
    this.#presence.forget(dead)
    return [expired, owed]
  }

  /** What the dead knew of its turns' endings goes before the giving back: an answer it gave must not be free. */
  #endAsOwed(dead: Owner): number {
    const held = new Set(this.#sql.heldBy.all(dead.id).map(({ id }) => id))
    // Orders for other holds have been written before, or belong to another state of the database, as after a restore.
    const orders = readJournal(journalOf(this.#database, dead.name)).filter(({ hold }) => held.delete(hold))
    for (const order of orders) this.apply(toOp(order))
    return orders.length
  }

  /** Forgets what a new checkpoint stands for. Nothing is forgotten where another process has done so meanwhile. */
  #cut([, { account, after, checkpoint, turns, buckets, packs }]: CutOp): CountResult {
    if ((this.#sql.cutAt.get(account)?.seq ?? 0) !== after) return ['count', 0]
    this.#purses.writeAll()
    const { seq, hash, balances, seal } = checkpoint
    this.#sql.putCheckpoint.run(account, seq, hash, balances, seal)
    for (const id of turns) mustGo(this.#sql.forgetTurn.run(id).changes, `turn ${id}`)
    this.#sql.forgetEntries.run(account, seq)
    // What moved since the cut was reckoned is still needed; then all of it waits for the next time.
    for (const [id, settled] of buckets) mustGo(this.#sql.forgetBucket.run(account, id, settled).changes, `bucket ${id}`)
    for (const [id, settled] of packs) mustGo(this.#sql.forgetPack.run(account, id, settled).changes, `pack ${id}`)
    return ['count', turns.length]
  }

  /** Once in each transaction; what was known of running turns holds as long as the purses do. */
  #claim(): void {
    if (this.#purses.claim()) this.#rows.count()
  }

  #giveBack(holds: readonly { readonly id: number }[], at: number): number {
    return this.#book.expire(
      holds.map(({ id }) => id),
      at,
    )
  }

  #countHolds(): number {
    return this.#sql.holds.get()?.held ?? 0
  }
}

function mustGo(changes: number, what: string): void {
  if (changes !== 1) throw new Error(`${what} is not what it was when it was to be forgotten`)
}
