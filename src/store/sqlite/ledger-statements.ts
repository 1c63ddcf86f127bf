/**
 * The ledger's operations on the writer's connection, each called inside a transaction. What can be refused is refused before anything is
 * written; after that only a broken promise or a broken disk can throw, and then the transaction is undone.
 */
import { windows } from '../../membership/plan.ts'
import type { Connection } from './connection.ts'
import { toOp } from './endings.ts'
import type { LedgerSql } from './ledger-sql.ts'
import { prepareLedgerSql } from './ledger-sql.ts'
import { Links } from './links.ts'
import { journalOf, readJournal } from './owed-journal.ts'
import { Periods } from './periods.ts'
import type { Owner } from './presence.ts'
import { Presence } from './presence.ts'
import type { CarryOp, CountResult, CutOp, ExpireOp, GrantOp, Op, PackResult, Result, SqlOp, SweptResult } from './protocol.ts'
import type { PurseBounds } from './purses.ts'
import { Purses } from './purses.ts'
import { Turns } from './turn-statements.ts'

export class LedgerStatements {
  readonly #database: string
  readonly #sql: LedgerSql
  readonly #purses: Purses
  readonly #links: Links
  readonly #periods: Periods
  readonly #turns: Turns
  readonly #presence: Presence
  /** Of the whole database: moved with each operation here, and read anew at each sweep for what other processes did. */
  #holdsOpen: number

  constructor(db: Connection, name: string, pid: number, at: number, bounds?: PurseBounds) {
    this.#database = db.name
    this.#sql = prepareLedgerSql(db)
    this.#purses = new Purses(db, bounds)
    this.#links = new Links(this.#sql, this.#purses)
    this.#periods = new Periods(this.#sql, this.#purses, this.#links)
    this.#presence = new Presence(db, name)
    try {
      const owner = this.#presence.enrol(pid, at)
      this.#turns = new Turns(this.#sql, this.#purses, this.#links, this.#periods, owner)
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
    this.#turns.owner = owner
  }

  /** That thread has ended: its turns end as it knew, or are given back. */
  release(name: string, at: number): SweptResult {
    this.#claim()
    const owner = this.#presence.dismiss(name)
    return owner === undefined ? ['swept', 0, 0] : ['swept', ...this.#endAllOf(owner, at)]
  }

  apply(op: Exclude<Op, SqlOp>): Result {
    this.#claim()
    switch (op[0]) {
      case 'reserve':
        return this.#turns.reserve(op)
      case 'settle': {
        const [, hold, noted, ...reported] = op
        return this.#turns.ending(hold, 'settled', reported, noted)
      }
      case 'refund': {
        const [, hold, ...reported] = op
        return this.#turns.ending(hold, 'refunded', reported, null)
      }
      case 'grant':
        return this.#grant(op)
      case 'carry':
        return this.#carry(op)
      case 'expire':
        return this.#expire(op)
      case 'cut':
        return this.#cut(op)
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
    this.#holdsOpen += this.#turns.moved
    this.#turns.moved = 0
    this.#purses.committed()
    this.#presence.committed()
  }

  /** It was undone, and with it all that the operations did. */
  undone(): void {
    this.#turns.forget()
    this.#purses.forget()
    this.#presence.undone()
  }

  leave(): void {
    this.#presence.leave()
  }

  #expire([, at, ticks, except]: ExpireOp): SweptResult {
    const kept = new Set(except)
    const overdue = this.#sql.overdue.all(ticks, this.#turns.owner).filter(({ id }) => !kept.has(id))
    let expired = this.#turns.expire([...overdue, ...this.#sql.heldByNobody.all()], at)
    let owed = 0
    for (const dead of this.#presence.dead()) {
      const [given, written] = this.#endAllOf(dead, at)
      expired += given
      owed += written
    }
    // What other processes began and ended since is in the table alone.
    this.#turns.moved = this.#countHolds() - this.#holdsOpen
    return ['swept', expired, owed]
  }

  #endAllOf(dead: Owner, at: number): [expired: number, owed: number] {
    const owed = this.#endAsOwed(dead)
    const expired = this.#turns.expire(this.#sql.heldBy.all(dead.id), at)
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

  #grant([, id, account, kind, pool, credits, at, expiresAt]: GrantOp): PackResult {
    const { changes } = this.#sql.insertPack.run(id, account, kind, pool, credits, expiresAt, at)
    if (changes > 0) {
      const purse = this.#purses.open(account)
      this.#links.enter(purse, 'grant', at, [id, kind, pool, credits, expiresAt])
    }
    const pack = this.#sql.pack.get(id)
    if (pack === undefined) throw new Error(`pack ${id} is gone`)
    if (pack.account !== account) throw new Error(`pack ${id} belongs to another account`)
    return [
      'pack',
      pack.account,
      pack.kind,
      pack.pool,
      pack.granted,
      pack.reserved,
      pack.settled,
      pack.expires_at,
      pack.created_at,
    ]
  }

  #carry([, account, pool, at, ...periods]: CarryOp): CountResult {
    const purse = this.#purses.open(account)
    let opened = 0
    for (const [index, window] of windows.entries()) {
      const [start = 0, end = 0, used = 0] = periods.slice(3 * index)
      const bucket = purse.bucket(pool, window)
      if (used === 0 || bucket.get('id') !== 0) continue
      // Granted is what is used, until a turn says what the plan includes.
      this.#periods.open(purse, bucket, pool, window, { start, end }, used, used, at)
      opened += 1
    }
    return ['count', opened]
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
    if (this.#purses.claim()) this.#turns.count()
  }

  #countHolds(): number {
    return this.#sql.holds.get()?.held ?? 0
  }
}

function mustGo(changes: number, what: string): void {
  if (changes !== 1) throw new Error(`${what} is not what it was when it was to be forgotten`)
}
