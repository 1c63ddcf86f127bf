/** How a turn begins and ends. What can be refused is refused before anything is written. */
import type { Window } from '../../membership/plan.ts'
import { windows } from '../../membership/plan.ts'
import { heldHash } from '../chain.ts'
import type { Bucket } from '../bucket.ts'
import type { Pool } from '../../membership/product.ts'
import type { Purse } from '../purse.ts'
import { sharesIn, sharesOut, splitEnd, splitHold } from '../shares.ts'
import type { EndingTurn, GivenValues, ReportedValues, SealedValues } from '../turn-columns.ts'
import { nothingUsed, reportedColumns, valuesOf } from '../turn-columns.ts'
import type { EndingOp, EndingResult, RefundOp, ReserveOp, ReserveResult, SettleOp } from './operations.ts'
import type { Links } from './links.ts'
import type { Periods } from './periods.ts'
import type { LedgerRows } from './rows.ts'

export class Turns {
  readonly #rows: LedgerRows
  readonly #links: Links
  readonly #periods: Periods

  constructor(rows: LedgerRows, links: Links, periods: Periods) {
    this.#rows = rows
    this.#links = links
    this.#periods = periods
  }

  reserve(op: ReserveOp): ReserveResult {
    const [, dayStart, dayEnd, dayNextEnd, weekStart, weekEnd, weekNextEnd, monthStart, monthEnd, monthNextEnd, ...rest] = op
    const [dayLimit, weekLimit, monthLimit, want, floor, until, concurrency, ...asked] = rest
    const [, account, , pool, at, , , , key, bodyHash] = asked
    if (key !== null) {
      const earlier = this.#rows.earlier(account, key)
      if (earlier !== undefined) {
        const { state, body_hash: hash, request_id: id, code, credits } = earlier
        return ['duplicate', state, hash === bodyHash, id, code === 'aborted', credits]
      }
    }
    if (this.#rows.running(account) >= concurrency) return ['crowded']

    const purse = this.#rows.purse(account)
    const turned = (window: Window, start: number, end: number, nextEnd: number, limit: number): Bucket =>
      this.#periods.turnTo(purse, pool, window, { start, end, nextEnd }, limit, at)
    const day = turned('day', dayStart, dayEnd, dayNextEnd, dayLimit)
    const week = turned('week', weekStart, weekEnd, weekNextEnd, weekLimit)
    const month = turned('month', monthStart, monthEnd, monthNextEnd, monthLimit)
    const buckets = [day, week, month]
    // A period may have begun or the plan have changed: that stays true also where the turn is refused.
    const split = splitHold(want, floor, buckets, () => this.#rows.openPacks(account, pool, at))
    if (split.held === undefined) {
      const { lacking } = split
      return lacking === undefined ? ['busy'] : ['empty', lacking.get('endsAt'), windows[buckets.indexOf(lacking)] ?? 'month']
    }

    const { held, fromPlan, shares } = split
    for (const bucket of buckets) bucket.move(fromPlan, 0, 0)
    for (const [pack, credits] of shares) this.#rows.movePack(account, pack, credits, 0)
    const [dayId, weekId, monthId] = [day.get('id'), week.get('id'), month.get('id')]
    const packsHeld = sharesOut(shares)
    const given: GivenValues = [held, fromPlan, packsHeld, dayId, weekId, monthId]
    const sealed: SealedValues = [...asked, ...given]
    const hash = heldHash(sealed)
    mustBeSound(purse, pool)
    const turn = this.#rows.hold(purse, until, sealed, hash)
    purse.moved(turn)
    this.#rows.held({
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
    return ['held', turn, held]
  }

  ending(op: EndingOp): EndingResult {
    const turn = this.#rows.turn(op[1])
    if (turn.state !== 'held') return alreadyEnded(turn)
    return op[0] === 'settle' ? this.#settle(turn, op) : this.#refund(turn, op)
  }

  /** Gives all of it back; how many of them had not ended. */
  expire(holds: readonly number[], at: number): number {
    const reported = valuesOf(reportedColumns, { ...nothingUsed, ended_at: at, code: null })
    return holds.filter((id) => this.#end(this.#rows.turn(id), 'expired', reported) !== undefined).length
  }

  #settle(turn: EndingTurn, [, hold, noted, ...reported]: SettleOp): EndingResult {
    const debt = this.#end(turn, 'settled', reported)
    // Ended by another process since it was held here.
    if (debt === undefined) return alreadyEnded(this.#rows.turnNow(hold))
    // It stands beside the bill, and is no part of it.
    if (noted !== null) this.#rows.note(turn, noted)
    return ['ended', true, 'settled', reported[1], debt]
  }

  #refund(turn: EndingTurn, [, hold, ...reported]: RefundOp): EndingResult {
    const debt = this.#end(turn, 'refunded', reported)
    return debt === undefined ? alreadyEnded(this.#rows.turnNow(hold)) : ['ended', true, 'refunded', 0, debt]
  }

  /**
   * Charges what is reported, and what was held beyond that returns to where it came from, however long ago that period ended. Gives the
   * debt; undefined, and nothing has moved, where the turn has ended.
   */
  #end(turn: EndingTurn, state: 'settled' | 'refunded' | 'expired', reported: ReportedValues): number | undefined {
    const [at, credits] = reported
    const purse = this.#rows.purse(turn.account)
    const buckets = this.#periods.of(turn, purse)
    const heldShares = sharesIn(turn.reserved_packs)
    const held = { fromPlan: turn.reserved_plan, shares: heldShares }
    const { fromPlan, shares, debt, owed } = splitEnd(credits, held, buckets, () =>
      this.#rows.openPacks(turn.account, turn.pool, at ?? 0),
    )
    const debts = debt === 0 ? null : JSON.stringify(owed)
    if (!this.#links.end(purse, turn, reported, [state, debt, debts, sharesOut(shares)])) return undefined
    for (const [index, bucket] of buckets.entries()) bucket.move(-turn.reserved_plan, fromPlan + debt, owed[index] ?? 0)
    for (const [pack, share] of heldShares) this.#rows.movePack(turn.account, pack, -share, 0)
    for (const [pack, share] of shares) this.#rows.movePack(turn.account, pack, 0, share)
    this.#periods.saveAway(purse, buckets)
    mustBeSound(purse, turn.pool)
    purse.moved()
    this.#rows.ended(turn)
    return debt
  }
}

function mustBeSound(purse: Purse, pool: Pool): void {
  if (!purse.isSound(pool)) throw new Error(`the purse of ${purse.account} would be overdrawn`)
}

function alreadyEnded(turn: EndingTurn): EndingResult {
  return ['ended', false, turn.state, turn.credits, turn.debt]
}
