/** How a turn begins and ends on the writer's connection. What can be refused is refused before anything is written. */
import type { Window } from '../../membership/plan.ts'
import { windows } from '../../membership/plan.ts'
import { heldHash } from '../chain.ts'
import type { Bucket } from '../bucket.ts'
import { sharesIn, sharesOut, splitEnd, splitHold } from '../shares.ts'
import type { EndingTurn, givenColumns, leaseColumns, notedColumns, sealedColumns, ValuesOf } from '../turn-columns.ts'
import { nothingUsed, reportedColumns, valuesOf } from '../turn-columns.ts'
import { HeldTurns } from './held-turns.ts'
import type { LedgerSql } from './ledger-sql.ts'
import type { Links } from './links.ts'
import type { Periods } from './periods.ts'
import type { EndingResult, ReserveOp, ReserveResult } from './protocol.ts'
import type { Purses } from './purses.ts'

/** Accounts whose turns are counted: so many come together before those of whom none runs are forgotten. */
const mostIdle = 65_536

export class Turns {
  readonly #sql: LedgerSql
  readonly #purses: Purses
  readonly #links: Links
  readonly #periods: Periods
  /** In whose name holds are made just now. */
  owner: number
  readonly #held = new HeldTurns()
  /** How many more are held than when the transaction began. */
  moved = 0
  /** How many turns of an account run, in the whole database. */
  #running = new Map<string, number>()

  constructor(sql: LedgerSql, purses: Purses, links: Links, periods: Periods, owner: number) {
    this.#sql = sql
    this.#purses = purses
    this.#links = links
    this.#periods = periods
    this.owner = owner
  }

  /** Counts those that run anew: before the first of them is begun or ended, and whenever others may have worked on the ledger. */
  count(): void {
    this.#running = new Map()
    for (const { account } of this.#sql.running.all()) this.#running.set(account, (this.#running.get(account) ?? 0) + 1)
  }

  reserve(op: ReserveOp): ReserveResult {
    const [, dayStart, dayEnd, dayNextEnd, weekStart, weekEnd, weekNextEnd, monthStart, monthEnd, monthNextEnd, ...rest] = op
    const [dayLimit, weekLimit, monthLimit, want, floor, until, concurrency, ...asked] = rest
    const [, account, , pool, at, , , , key, bodyHash] = asked
    if (key !== null) {
      const earlier = this.#sql.byKey.get(account, key)
      if (earlier !== undefined) {
        const { state, body_hash: hash, request_id: id, code, credits } = earlier
        return ['duplicate', state, hash === bodyHash, id, code === 'aborted', credits]
      }
    }
    if ((this.#running.get(account) ?? 0) >= concurrency) return ['crowded']

    const purse = this.#purses.open(account)
    const turned = (window: Window, start: number, end: number, nextEnd: number, limit: number): Bucket =>
      this.#periods.turnTo(purse, pool, window, { start, end, nextEnd }, limit, at)
    const day = turned('day', dayStart, dayEnd, dayNextEnd, dayLimit)
    const week = turned('week', weekStart, weekEnd, weekNextEnd, weekLimit)
    const month = turned('month', monthStart, monthEnd, monthNextEnd, monthLimit)
    const buckets = [day, week, month]
    // A period may have begun or the plan have changed: that stays true also where the turn is refused.
    const split = splitHold(want, floor, buckets, () => this.#sql.openPacks.all(account, pool, at))
    if (split.held === undefined) {
      const { lacking } = split
      return lacking === undefined ? ['busy'] : ['empty', lacking.get('endsAt'), windows[buckets.indexOf(lacking)] ?? 'month']
    }

    const { held, fromPlan, shares } = split
    for (const bucket of buckets) bucket.move(fromPlan, 0, 0)
    for (const [pack, credits] of shares) this.#sql.holdPack.run(credits, pack)
    const [dayId, weekId, monthId] = [day.get('id'), week.get('id'), month.get('id')]
    const packsHeld = sharesOut(shares)
    const given: ValuesOf<typeof givenColumns> = [held, fromPlan, packsHeld, dayId, weekId, monthId]
    const sealed: ValuesOf<typeof sealedColumns> = [...asked, ...given]
    const hash = heldHash(sealed)
    const lease: ValuesOf<typeof leaseColumns> = [purse.lastTurn, this.owner, until]
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
    this.#move(account, 1)
    return ['held', turn, held]
  }

  /** `noted` stands beside the bill, and is no part of it. */
  ending(
    hold: number,
    state: 'settled' | 'refunded',
    reported: ValuesOf<typeof reportedColumns>,
    noted: ValuesOf<typeof notedColumns> | null,
  ): EndingResult {
    const turn = this.#held.take(hold) ?? this.#turn(hold)
    if (turn.state !== 'held') return alreadyEnded(turn)
    const debt = this.#end(turn, state, reported)
    // Ended by another process since it was held here.
    if (debt === undefined) return alreadyEnded(this.#turn(hold))
    if (noted !== null) this.#sql.noteTurn.run(...noted, hold)
    return ['ended', true, state, reported[1], debt]
  }

  /**
   * Charges what is reported, and what was held beyond that returns to where it came from, however long ago that period ended. Gives the
   * debt; undefined, and nothing has moved, where the turn has ended.
   */
  #end(
    turn: EndingTurn,
    state: 'settled' | 'refunded' | 'expired',
    reported: ValuesOf<typeof reportedColumns>,
  ): number | undefined {
    const [at, credits] = reported
    const purse = this.#purses.open(turn.account)
    const buckets = this.#periods.of(turn, purse)
    const heldShares = sharesIn(turn.reserved_packs)
    const held = { fromPlan: turn.reserved_plan, shares: heldShares }
    const { fromPlan, shares, debt, owed } = splitEnd(credits, held, buckets, () =>
      this.#sql.openPacks.all(turn.account, turn.pool, at),
    )
    const debts = debt === 0 ? null : JSON.stringify(owed)
    if (!this.#links.end(purse, turn, reported, [state, debt, debts, sharesOut(shares)])) return undefined
    for (const [index, bucket] of buckets.entries()) bucket.move(-turn.reserved_plan, fromPlan + debt, owed[index] ?? 0)
    for (const [pack, share] of heldShares) this.#sql.settlePack.run(share, 0, pack)
    for (const [pack, share] of shares) this.#sql.settlePack.run(0, share, pack)
    this.#periods.saveAway(purse, buckets)
    this.#purses.moved(purse, turn.pool)
    this.#move(turn.account, -1)
    return debt
  }

  expire(holds: readonly { readonly id: number }[], at: number): number {
    const reported = valuesOf(reportedColumns, { ...nothingUsed, ended_at: at, code: null })
    let count = 0
    for (const { id } of holds) {
      this.#held.take(id)
      if (this.#end(this.#turn(id), 'expired', reported) !== undefined) count += 1
    }
    return count
  }

  /** The transaction was undone. */
  forget(): void {
    this.moved = 0
    this.#held.forget()
  }

  #move(account: string, by: 1 | -1): void {
    this.moved += by
    // Zeros stay for a while: a table that loses its entries as fast as it gets them is made anew all the time.
    if (this.#running.size >= mostIdle) this.#running = new Map([...this.#running].filter(([, running]) => running > 0))
    this.#running.set(account, (this.#running.get(account) ?? 0) + by)
  }

  #turn(id: number): EndingTurn {
    const turn = this.#sql.turn.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }
}

function alreadyEnded(turn: EndingTurn): EndingResult {
  return ['ended', false, turn.state, turn.credits, turn.debt]
}
