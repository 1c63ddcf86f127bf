/**
 * The purses of active accounts in the writer's memory. A turn moves its purse here alone, since its own row says all that it moved: the
 * purse is written behind, after so many turns or when nobody asks for anything. Whatever else changes a purse writes it in the same
 * transaction.
 *
 * The memory holds as long as the round in the table is the one that it was begun in. Whoever finds another one, because another process
 * has worked on the ledger, or because a transaction was undone, begins a new round: forgets all, and takes in what turns have done since
 * the mark. So every figure follows from what is committed, whoever has died at whichever statement.
 */
import type { Connection } from './connection.ts'
import type { KeptPurse, Mark, PurseKeeper } from './purse-rows.ts'
import { PurseRows } from './purse-rows.ts'
import { Roster } from './roster.ts'

export interface PurseBounds {
  /** After so many moves (a turn makes two) all purses that are behind are written: it bounds what a reader or a new round looks through. */
  readonly sweepAfter: number
  /** And one account's own: a reader takes in no more turns than that. */
  readonly writeAfter: number
  /** Written with each commit at least, while a sweep is under way. */
  readonly sweepStep: number
  /** In memory: so many, and as many that were not asked for since those came. */
  readonly kept: number
}

const usual: PurseBounds = { sweepAfter: 8192, writeAfter: 128, sweepStep: 32, kept: 16_384 }

interface Sweep {
  readonly mark: Mark
  /** The next one last. */
  readonly purses: KeptPurse[]
}

export class Purses implements PurseKeeper {
  readonly #bounds: PurseBounds
  readonly #rows: PurseRows
  readonly #roster: Roster
  #young = new Map<string, KeptPurse>()
  #old = new Map<string, KeptPurse>()
  /** Undefined while nothing is known. */
  #round: number | undefined
  /** Whether that was asked in this transaction. */
  #isAsked = false
  #due: KeptPurse[] = []
  #behind: KeptPurse[] = []
  #sweep: Sweep | undefined
  /** Since the last sweep began, and in this transaction. */
  #moves = 0
  #movesNow = 0
  /** Begun in this transaction, 0 where none was. */
  #newest = 0

  constructor(db: Connection, bounds = usual) {
    this.#bounds = bounds
    this.#rows = new PurseRows(db)
    this.#roster = new Roster(db)
  }

  /** To be called in each transaction before the first purse is opened. True where a new round has begun. */
  claim(): boolean {
    if (this.#isAsked) return false
    const { round } = this.#rows
    const isNew = round !== this.#round
    if (isNew) this.#begin(round + 1)
    this.#isAsked = true
    return isNew
  }

  open(account: string): KeptPurse {
    const known = this.#young.get(account)
    if (known !== undefined) return known
    const purse = this.#old.get(account) ?? this.#rows.read(account, this)
    this.#keep(purse)
    return purse
  }

  /** A turn has begun or ended, and said in its own row what it moved. */
  moved(purse: KeptPurse, begun: number): void {
    if (begun > 0) this.#newest = begun
    this.#fallBehind(purse)
    this.#moves += 1
    this.#movesNow += 1
    if (++purse.moves >= this.#bounds.writeAfter) this.mustWrite(purse)
  }

  /** Something that no turn's row says has changed it, or is about to forget turns that it has. */
  mustWrite(purse: KeptPurse): void {
    if (purse.isDue) return
    purse.isDue = true
    this.#due.push(purse)
  }

  /** Before anybody else reads in this transaction. */
  writeDue(): void {
    if (this.#due.length === 0) return
    for (const purse of this.#due) this.#write(purse)
    this.#due = []
  }

  /** Before the transaction is committed. */
  finish(): void {
    if (!this.#isAsked) return
    this.writeDue()
    if (this.#newest > 0) this.#rows.newest(this.#newest)
    if (this.#sweep !== undefined || this.#moves >= this.#bounds.sweepAfter)
      this.#step(Math.max(this.#bounds.sweepStep, this.#movesNow))
  }

  get isBehind(): boolean {
    return this.#sweep !== undefined || this.#moves > 0
  }

  /** Before turns are forgotten: those after the mark are still needed. */
  writeAll(): void {
    if (this.#newest > 0) this.#rows.newest(this.#newest)
    while (this.isBehind) this.#step(Infinity)
  }

  /** In a transaction of its own, while nobody asks for anything. */
  writeBehind(most: number): void {
    if (this.#rows.round === this.#round) this.#step(most)
    else this.forget()
  }

  /** The transaction is committed. */
  committed(): void {
    this.#isAsked = false
    this.#movesNow = 0
    this.#newest = 0
  }

  /** It was undone, and with it what these have become. */
  forget(): void {
    this.#young = new Map()
    this.#old = new Map()
    this.#round = undefined
    this.#isAsked = false
    this.#due = []
    this.#behind = []
    this.#sweep = undefined
    this.#moves = 0
    this.#movesNow = 0
    this.#newest = 0
  }

  #begin(round: number): void {
    this.forget()
    for (const [account, turns] of this.#rows.movedSinceMark()) {
      // Of a turn that is still held no more can be said than was at the mark: each counts, or no sweep would ever move the mark.
      this.#moves += 2 * turns.length
      const purse = this.open(account)
      if (!turns.some((turn) => purse.lacks(turn))) continue
      purse.takeIn(turns)
      purse.moves = turns.length
      this.#fallBehind(purse)
    }
    this.#rows.round = round
    this.#round = round
    // Where rounds are short no sweep might ever come to its end.
    if (this.#moves >= this.#bounds.sweepAfter) this.#step(Infinity)
  }

  #fallBehind(purse: KeptPurse): void {
    if (purse.isBehind) return
    purse.isBehind = true
    this.#behind.push(purse)
  }

  /** Writes so many of what is behind; after the last of them the mark moves to where the sweep began. */
  #step(most: number): void {
    const sweep = (this.#sweep ??= this.#newSweep())
    for (let written = 0; written < most;) {
      const purse = sweep.purses.pop()
      if (purse === undefined) {
        this.#rows.putMark(sweep.mark)
        this.#sweep = undefined
        return
      }
      if (!purse.isBehind) continue
      this.#write(purse)
      written += 1
    }
  }

  /** In the order of their rows: neighbours share a page. */
  #newSweep(): Sweep {
    const purses = this.#behind.toSorted((one, other) => (one.account < other.account ? 1 : -1))
    this.#behind = []
    this.#moves = 0
    return { mark: this.#rows.here(), purses }
  }

  #write(purse: KeptPurse): void {
    if (purse.isNew) this.#roster.add(purse.account)
    this.#rows.write(purse)
  }

  /** What is behind stays, however long ago it was asked for: there is never more of it than two sweeps let come together. */
  #keep(purse: KeptPurse): void {
    if (this.#young.size >= this.#bounds.kept) {
      const forgotten = this.#old
      this.#old = this.#young
      this.#young = new Map()
      for (const each of forgotten.values()) if (each.isBehind || each.isDue) this.#young.set(each.account, each)
    }
    this.#young.set(purse.account, purse)
  }
}
