/**
 * The ledger's operations on the writer's connection, each called inside a transaction. What can be refused is refused before anything is
 * written; after that only a broken promise or a broken disk can throw, and then the transaction is undone.
 */
import type { CalendarPeriod, Period } from '../../membership/period.ts'
import { periodAt } from '../../membership/period.ts'
import type { Window } from '../../membership/plan.ts'
import { windows } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'
import { entryHash, heldHash, turnHash } from '../chain.ts'
import { Bucket } from '../purse.ts'
import type { EntryKind } from '../schema.ts'
import type {
  EndingTurn,
  endedColumns,
  givenColumns,
  leaseColumns,
  linkColumns,
  sealedColumns,
  ValuesOf,
} from '../turn-columns.ts'
import { nothingUsed, reportedColumns, valuesOf } from '../turn-columns.ts'
import type { Connection } from './connection.ts'
import { toOp } from './endings.ts'
import type { LedgerSql, OpenPack } from './ledger-sql.ts'
import { prepareLedgerSql } from './ledger-sql.ts'
import { HeldTurns } from './held-turns.ts'
import { journalOf, readJournal } from './owed-journal.ts'
import type { Owner } from './presence.ts'
import { Presence } from './presence.ts'
import type {
  CarryOp,
  CountResult,
  CutOp,
  EndingResult,
  ExpireOp,
  GrantOp,
  Op,
  PackResult,
  RefundOp,
  ReserveOp,
  ReserveResult,
  Result,
  SettleOp,
  SqlOp,
  SweptResult,
} from './protocol.ts'
import type { KeptPurse } from './purse-rows.ts'
import type { PurseBounds } from './purses.ts'
import { Purses } from './purses.ts'

export class LedgerStatements {
  readonly #database: string
  readonly #sql: LedgerSql
  readonly #purses: Purses
  readonly #held = new HeldTurns()
  readonly #presence: Presence
  readonly #owner: number
  /** Of the whole database: moved with each operation here, and read anew at each sweep for what other processes did. */
  #holdsOpen: number
  #holdsMoved = 0

  constructor(db: Connection, name: string, pid: number, at: number, bounds?: PurseBounds) {
    this.#database = db.name
    this.#sql = prepareLedgerSql(db)
    this.#purses = new Purses(db, bounds)
    this.#presence = new Presence(db, name)
    try {
      this.#owner = this.#presence.enrol(pid, at)
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

  apply(op: Exclude<Op, SqlOp>): Result {
    this.#purses.claim()
    switch (op[0]) {
      case 'reserve':
        return this.#reserve(op)
      case 'settle':
        return this.#settle(op)
      case 'refund':
        return this.#refund(op)
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
    this.#holdsOpen += this.#holdsMoved
    this.#holdsMoved = 0
    this.#purses.committed()
    this.#presence.committed()
  }

  /** It was undone, and with it all that the operations did. */
  undone(): void {
    this.#holdsMoved = 0
    this.#purses.forget()
    this.#held.forget()
    this.#presence.undone()
  }

  leave(): void {
    this.#presence.leave()
  }

  #reserve(op: ReserveOp): ReserveResult {
    const [, dayStart, dayEnd, dayNextEnd, weekStart, weekEnd, weekNextEnd, monthStart, monthEnd, monthNextEnd, ...rest] = op
    const [dayLimit, weekLimit, monthLimit, want, floor, until, ...asked] = rest
    const [, account, , pool, at, , , , key, bodyHash] = asked
    if (key !== null) {
      const earlier = this.#sql.byKey.get(account, key)
      if (earlier !== undefined) {
        const { state, body_hash: hash, request_id: id, code, credits } = earlier
        return ['duplicate', state, hash === bodyHash, id, code === 'aborted', credits]
      }
    }

    const purse = this.#purses.open(account)
    const day = this.#turnTo(purse, pool, 'day', { start: dayStart, end: dayEnd, nextEnd: dayNextEnd }, dayLimit, at)
    const week = this.#turnTo(purse, pool, 'week', { start: weekStart, end: weekEnd, nextEnd: weekNextEnd }, weekLimit, at)
    const month = this.#turnTo(purse, pool, 'month', { start: monthStart, end: monthEnd, nextEnd: monthNextEnd }, monthLimit, at)
    const buckets = [day, week, month] as const
    const fromPlan = Math.min(want, day.room, week.room, month.room)
    const packs = fromPlan < want ? this.#sql.openPacks.all(account, pool, at) : []
    const shares = takeFromPacks(packs, want - fromPlan)
    const held = fromPlan + total(shares)
    if (held < floor) {
      // A period may have begun or the plan have changed: that stays true though the turn was refused.
      const inPacks = packs.reduce((sum, pack) => sum + pack.left + pack.reserved, 0)
      const lacks = (bucket: Bucket): boolean => bucket.get('granted') - bucket.covered + inPacks < floor
      // Every window that lacks room has to begin anew before a turn like this one fits again; the last of them is the one to name.
      const lacking = buckets.flatMap((bucket, index) => (lacks(bucket) ? { endsAt: bucket.get('endsAt'), index } : []))
      const [last] = lacking.toSorted((a, b) => b.endsAt - a.endsAt)
      return last === undefined ? ['busy'] : ['empty', last.endsAt, windows[last.index] ?? 'month']
    }

    for (const bucket of buckets) bucket.add('reserved', fromPlan)
    for (const [pack, credits] of shares) this.#sql.holdPack.run(credits, pack)
    const [dayId, weekId, monthId] = [day.get('id'), week.get('id'), month.get('id')]
    const packsHeld = shares.length === 0 ? null : JSON.stringify(shares)
    const given: ValuesOf<typeof givenColumns> = [held, fromPlan, packsHeld, dayId, weekId, monthId]
    const sealed: ValuesOf<typeof sealedColumns> = [...asked, ...given]
    const hash = heldHash(sealed)
    const lease: ValuesOf<typeof leaseColumns> = [purse.lastTurn, this.#owner, until]
    const { lastInsertRowid } = this.#sql.insertTurn.run(...lease, ...sealed, hash)
    const turn = Number(lastInsertRowid)
    this.#purses.moved(purse, pool, turn)
    this.#held.keep({
      id: turn,
      account,
      pool,
      state: 'held',
      reserved_plan: fromPlan,
      reserved_packs: packsHeld,
      day_bucket: dayId,
      week_bucket: weekId,
      month_bucket: monthId,
      credits: 0,
      debt: 0,
      hash,
    })
    this.#holdsMoved += 1
    return ['held', turn, held]
  }

  #settle(op: SettleOp): EndingResult {
    const [, hold, noted, ...reported] = op
    const [at, credits] = reported
    const turn = this.#held.take(hold) ?? this.#turn(hold)
    if (turn.state !== 'held') return alreadyEnded(turn)
    const purse = this.#purses.open(turn.account)
    const buckets = this.#bucketsOf(turn, purse)
    const heldShares = toShares(turn.reserved_packs)

    // First what was held, in the order it was taken.
    let fromPlan = Math.min(credits, turn.reserved_plan)
    const used = new Map<string, number>()
    let left = credits - fromPlan
    for (const [pack, share] of heldShares) left -= use(used, pack, Math.min(left, share))

    // Then what has room just now: the same periods as far as all three have it, then packs.
    const more = left === 0 ? 0 : Math.min(left, ...buckets.map((bucket) => bucket.room))
    fromPlan += more
    left -= more
    if (left > 0) {
      for (const pack of this.#sql.openPacks.all(turn.account, turn.pool, at))
        left -= use(used, pack.id, Math.min(left, pack.left))
    }
    // Whatever is still missing is charged to each window by itself: what it has room for is used up, the rest is that window's debt.
    const debt = left
    const owed = debt === 0 ? [] : buckets.map((bucket) => Math.max(0, debt - (bucket.room - more)))
    const debts = debt === 0 ? null : JSON.stringify(owed)
    const shares = [...used].filter(([, share]) => share > 0)
    const packsUsed = shares.length === 0 ? null : JSON.stringify(shares)

    // Ended by another process since it was held here; nothing has been moved yet.
    if (!this.#link(purse, turn, reported, ['settled', debt, debts, packsUsed])) return alreadyEnded(this.#turn(hold))
    if (noted !== null) this.#sql.noteTurn.run(...noted, hold)
    for (const [index, bucket] of buckets.entries()) {
      bucket.add('reserved', -turn.reserved_plan)
      bucket.add('settled', fromPlan + debt)
      bucket.add('debt', owed[index] ?? 0)
    }
    for (const [pack, share] of heldShares) this.#sql.settlePack.run(share, 0, pack)
    for (const [pack, share] of shares) this.#sql.settlePack.run(0, share, pack)
    this.#saveAway(purse, buckets)
    this.#purses.moved(purse, turn.pool)
    this.#holdsMoved -= 1
    return ['ended', true, 'settled', credits, debt]
  }

  #refund([, hold, ...reported]: RefundOp): EndingResult {
    const turn = this.#held.take(hold) ?? this.#turn(hold)
    if (turn.state !== 'held') return alreadyEnded(turn)
    if (!this.#giveBack(turn, 'refunded', reported)) return alreadyEnded(this.#turn(hold))
    return ['ended', true, 'refunded', 0, 0]
  }

  /** Everything returns to where it came from, however long ago that period ended. Nothing moves, and false, where it has ended. */
  #giveBack(turn: EndingTurn, state: 'refunded' | 'expired', reported: ValuesOf<typeof reportedColumns>): boolean {
    const purse = this.#purses.open(turn.account)
    if (!this.#link(purse, turn, reported, [state, 0, null, null])) return false
    const buckets = this.#bucketsOf(turn, purse)
    for (const bucket of buckets) bucket.add('reserved', -turn.reserved_plan)
    for (const [pack, share] of toShares(turn.reserved_packs)) this.#sql.settlePack.run(share, 0, pack)
    this.#saveAway(purse, buckets)
    this.#purses.moved(purse, turn.pool)
    this.#holdsMoved -= 1
    return true
  }

  #expire([, at, ticks, except]: ExpireOp): SweptResult {
    const kept = new Set(except)
    const overdue = this.#sql.overdue.all(ticks, this.#owner).filter(({ id }) => !kept.has(id))
    let expired = this.#expireAll([...overdue, ...this.#sql.heldByNobody.all()], at)
    let owed = 0
    for (const dead of this.#presence.dead()) {
      owed += this.#endAsOwed(dead)
      expired += this.#expireAll(this.#sql.heldBy.all(dead.id), at)
      this.#presence.forget(dead)
    }
    // What other processes began and ended since is in the table alone.
    this.#holdsMoved = this.#countHolds() - this.#holdsOpen
    return ['swept', expired, owed]
  }

  /** What a dead process knew of its turns' endings goes before the giving back: an answer it gave must not be free. */
  #endAsOwed(dead: Owner): number {
    const held = new Set(this.#sql.heldBy.all(dead.id).map(({ id }) => id))
    // Orders for other holds have been written before, or belong to another state of the database, as after a restore.
    const orders = readJournal(journalOf(this.#database, dead.name)).filter(({ hold }) => held.delete(hold))
    for (const order of orders) this.apply(toOp(order))
    return orders.length
  }

  #expireAll(holds: readonly { readonly id: number }[], at: number): number {
    const reported = valuesOf(reportedColumns, { ...nothingUsed, ended_at: at, code: null })
    let count = 0
    for (const { id } of holds) {
      this.#held.take(id)
      if (this.#giveBack(this.#turn(id), 'expired', reported)) count += 1
    }
    return count
  }

  #grant([, id, account, kind, pool, credits, at, expiresAt]: GrantOp): PackResult {
    const { changes } = this.#sql.insertPack.run(id, account, kind, pool, credits, expiresAt, at)
    if (changes > 0) {
      const purse = this.#purses.open(account)
      this.#enter(purse, 'grant', at, [id, kind, pool, credits, expiresAt])
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
      this.#open(purse, bucket, pool, window, { start, end }, used, used, at)
      opened += 1
    }
    return ['count', opened]
  }

  /** The purse's bucket of one window, turned to the period at hand and to what the plan now includes. */
  #turnTo(purse: KeptPurse, pool: Pool, window: Window, calendar: CalendarPeriod, limit: number, at: number): Bucket {
    const bucket = purse.bucket(pool, window)
    const runs = bucket.get('id') !== 0 && bucket.get('startsAt') <= at && at < bucket.get('endsAt')
    if (!runs) this.#change(purse, bucket, pool, window, calendar, limit, at)
    // A plan change keeps what was used: a smaller plan grants at least what is gone already.
    const granted = Math.max(limit, bucket.get('reserved') + bucket.covered)
    if (granted !== bucket.get('granted')) {
      bucket.set('granted', granted)
      this.#enter(purse, 'limit', at, [bucket.get('id'), granted])
    }
    return bucket
  }

  /** Puts the bucket at hand away, and in its place the one of another period: a new one, or after a step back in time one put away. */
  #change(
    purse: KeptPurse,
    bucket: Bucket,
    pool: Pool,
    window: Window,
    calendar: CalendarPeriod,
    limit: number,
    at: number,
  ): void {
    this.#purses.mustWrite(purse)
    if (bucket.get('id') !== 0) this.#sql.putAway.run(purse.account, pool, window, ...bucket.figures())
    const last = this.#sql.lastBucket.get(purse.account, pool, window, at)
    if (last !== undefined) bucket.become(last)
    const opened = last === undefined ? undefined : { start: bucket.get('startsAt'), end: bucket.get('endsAt') }
    const period = periodAt(at, opened, calendar)
    if (period === opened) {
      this.#sql.takeOut.run(purse.account, bucket.get('id'))
      return
    }
    this.#open(purse, bucket, pool, window, period, limit, 0, at)
  }

  /** `used` is what somebody's earlier account leaves to this one; nearly always nothing, and then not in the entry. */
  #open(
    purse: KeptPurse,
    bucket: Bucket,
    pool: Pool,
    window: Window,
    { start, end }: Period,
    granted: number,
    used: number,
    at: number,
  ): void {
    // A bucket is numbered by the entry that opens it.
    const id = purse.seq + 1
    const opened = [id, pool, window, start, end, granted]
    this.#enter(purse, 'open', at, used === 0 ? opened : [...opened, used])
    bucket.become([id, start, end, granted, 0, used, 0])
  }

  /** The three buckets a turn was held from, wherever they are by now. */
  #bucketsOf(turn: EndingTurn, purse: KeptPurse): readonly Bucket[] {
    const ids = [turn.day_bucket, turn.week_bucket, turn.month_bucket]
    return windows.map((window, index) => {
      const bucket = purse.bucket(turn.pool, window)
      const id = ids[index]
      if (bucket.get('id') === id) return bucket
      const away = this.#sql.bucket.get(turn.account, id)
      if (away === undefined) throw new Error(`bucket ${id} of ${turn.account} is gone`)
      return new Bucket(away, 0)
    })
  }

  /** The purse keeps its own; what was put away before the turn ended is written where it is. */
  #saveAway(purse: KeptPurse, buckets: readonly Bucket[]): void {
    for (const bucket of buckets) {
      if (bucket.cells === purse.cells) continue
      this.#sql.saveBucket.run(bucket.get('reserved'), bucket.get('settled'), bucket.get('debt'), purse.account, bucket.get('id'))
    }
  }

  #turn(id: number): EndingTurn {
    const turn = this.#sql.turn.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }

  /** Adds an entry to the account's chain, whose end the purse carries. */
  #enter(purse: KeptPurse, kind: EntryKind, at: number, detail: readonly (string | number)[]): void {
    const entry = { account: purse.account, seq: purse.seq + 1, kind, at, detail: JSON.stringify(detail) }
    this.#purses.mustWrite(purse)
    purse.hash = entryHash(purse.hash, entry)
    purse.seq = entry.seq
    this.#sql.insertEntry.run(entry.account, entry.seq, kind, at, entry.detail, purse.hash)
  }

  /** Ends a turn, which makes it the next link of its account's chain. False, and nothing has changed, where it has ended already. */
  #link(
    purse: KeptPurse,
    turn: EndingTurn,
    reported: ValuesOf<typeof reportedColumns>,
    ended: ValuesOf<typeof endedColumns>,
  ): boolean {
    const link: ValuesOf<typeof linkColumns> = [
      purse.seq + 1,
      turnHash(purse.hash, turn.hash, turn.id, purse.seq + 1, [...reported, ...ended]),
    ]
    if (this.#sql.endTurn.run(...reported, ...ended, ...link, turn.id).changes === 0) return false
    ;[purse.seq, purse.hash] = link
    return true
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

  #countHolds(): number {
    return this.#sql.holds.get()?.held ?? 0
  }
}

/** What a pack gives or has given. */
type PackShare = readonly [pack: string, credits: number]

/** In the order of the packs. */
function takeFromPacks(packs: readonly OpenPack[], want: number): readonly PackShare[] {
  const shares: PackShare[] = []
  let missing = want
  for (const { id, left } of packs) {
    const share = Math.min(missing, left)
    if (share === 0) continue
    shares.push([id, share])
    missing -= share
  }
  return shares
}

function total(shares: readonly PackShare[]): number {
  return shares.reduce((sum, [, credits]) => sum + credits, 0)
}

function use(used: Map<string, number>, pack: string, credits: number): number {
  used.set(pack, (used.get(pack) ?? 0) + credits)
  return credits
}

function toShares(json: string | null): readonly PackShare[] {
  return json === null ? [] : (JSON.parse(json) as readonly PackShare[])
}

function mustGo(changes: number, what: string): void {
  if (changes !== 1) throw new Error(`${what} is not what it was when it was to be forgotten`)
}

function alreadyEnded(turn: EndingTurn): EndingResult {
  return ['ended', false, turn.state, turn.credits, turn.debt]
}
