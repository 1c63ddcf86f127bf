/** Begins and ends turns. What can be refused is refused before anything is written. */
import { windows } from '../../../domain/billing/catalog/plan.ts'
import { hashHold } from '../hash-chain.ts'
import { listPartKeys } from '../../../domain/billing/ledger.ts'
import type { Reservation, WindowLeft } from '../../../domain/billing/ledger.ts'
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import { alertLevels } from '../../../domain/billing/usage/usage-alert.ts'
import type { Bucket } from '../bucket.ts'
import type { AccountBalance } from '../account-balance.ts'
import { parseAllocations, serializeAllocations, allocateSettlement, allocateHold } from './allocation.ts'
import type { HoldRow, SettlementTurn, TurnUsage } from '../turn-columns.ts'
import { zeroUsage } from '../turn-columns.ts'
import type { EndingOperation, EndingResult, RefundOperation, ReserveOperation, SettleOperation } from '../operations.ts'
import type { ChainWriter } from './chain-writer.ts'
import type { PeriodBuckets } from './period-buckets.ts'
import type { LedgerStorage } from './ledger-storage.ts'

export class TurnEngine {
  readonly #storage: LedgerStorage
  readonly #chain: ChainWriter
  readonly #buckets: PeriodBuckets

  constructor(storage: LedgerStorage, chain: ChainWriter, buckets: PeriodBuckets) {
    this.#storage = storage
    this.#chain = chain
    this.#buckets = buckets
  }

  reserve(operation: ReserveOperation): Reservation {
    const { periods, limits, amount, minAmount, leaseUntil, maxConcurrentTurns, request } = operation
    const { account, pool, started_at: at, idempotency_key: key } = request
    if (key !== null) {
      const previous = this.#storage.findByIdempotencyKey(account, key)
      if (previous !== undefined) {
        const { body_hash: bodyHash, request_id: requestId } = previous
        const later = listPartKeys(key).flatMap((part) => this.#storage.findByIdempotencyKey(account, part) ?? [])
        const parts = [previous, ...later]
        return {
          kind: 'duplicate',
          state: parts.some(({ state }) => state === 'held') ? 'held' : 'settled',
          sameBody: bodyHash === request.body_hash,
          requestId,
          aborted: parts.some(({ code }) => code === 'aborted'),
          credits: parts.reduce((sum, { credits }) => sum + credits, 0),
        }
      }
    }
    if (this.#storage.countOpenHolds(account) >= maxConcurrentTurns) return { kind: 'concurrency_limit' }

    const balance = this.#storage.getBalance(account)
    const buckets = windows.map((window) => this.#buckets.rollTo(balance, pool, window, periods[window], limits[window], at))
    // A new period or plan limit is kept even if the turn is refused.
    const allocation = allocateHold(amount, minAmount, buckets, () => this.#storage.listOpenPacks(account, pool, at))
    if (allocation.held === undefined) {
      const { exhaustedBucket } = allocation
      if (exhaustedBucket === undefined) return { kind: 'reserved_elsewhere' }
      const window = windows[buckets.indexOf(exhaustedBucket)] ?? 'month'
      return { kind: 'insufficient', resetsAt: exhaustedBucket.get('endsAt'), window }
    }

    const { held, fromPlan, fromPacks } = allocation
    const windowLeft = findTightestWindow(buckets)
    for (const bucket of buckets) bucket.applyDelta(fromPlan, 0, 0)
    for (const [pack, credits] of fromPacks) this.#storage.applyPackDelta(account, pack, credits, 0)
    const [dayBucket = 0, weekBucket = 0, monthBucket = 0] = buckets.map((bucket) => bucket.get('id'))
    const hold: HoldRow = {
      ...request,
      reserved: held,
      reserved_plan: fromPlan,
      reserved_packs: serializeAllocations(fromPacks),
      day_bucket: dayBucket,
      week_bucket: weekBucket,
      month_bucket: monthBucket,
    }
    const hash = hashHold(hold)
    assertNotOverdrawn(balance, pool)
    const id = this.#storage.insertHold(balance, leaseUntil, hold, hash)
    balance.recordTurn(id)
    this.#storage.onHeld({
      id,
      account,
      pool,
      state: 'held',
      reserved_plan: hold.reserved_plan,
      reserved_packs: hold.reserved_packs,
      day_bucket: dayBucket,
      week_bucket: weekBucket,
      month_bucket: monthBucket,
      credits: 0,
      debt: 0,
      hash,
    })
    return { kind: 'held', hold: { id, credits: held }, left: windowLeft }
  }

  endTurn(operation: EndingOperation): EndingResult {
    const turn = this.#storage.getTurn(operation.hold)
    if (turn.state !== 'held') return toAlreadyEnded(turn)
    return operation.kind === 'settle' ? this.#settleTurn(turn, operation) : this.#refundTurn(turn, operation)
  }

  /** Releases these holds. Returns how many were still open. */
  expire(holds: readonly number[], at: number): number {
    const usage = { ...zeroUsage, ended_at: at, code: null }
    return holds.filter((id) => this.#end(this.#storage.getTurn(id), 'expired', usage) !== undefined).length
  }

  #settleTurn(turn: SettlementTurn, { hold, usage, annotation }: SettleOperation): EndingResult {
    const debt = this.#end(turn, 'settled', usage)
    // Another process has ended it since it was cached here.
    if (debt === undefined) return toAlreadyEnded(this.#storage.getStoredTurn(hold))
    if (annotation !== null) this.#storage.annotateTurn(turn, annotation)
    return { kind: 'ended', applied: true, state: 'settled', credits: usage.credits, debt }
  }

  #refundTurn(turn: SettlementTurn, { hold, usage }: RefundOperation): EndingResult {
    const debt = this.#end(turn, 'refunded', usage)
    if (debt === undefined) return toAlreadyEnded(this.#storage.getStoredTurn(hold))
    return { kind: 'ended', applied: true, state: 'refunded', credits: 0, debt }
  }

  /**
   * Charges the reported usage and returns the rest of the hold to where it came from, however long ago that period ended. Returns the
   * debt, or undefined without a change if the turn has already ended.
   */
  #end(turn: SettlementTurn, state: 'settled' | 'refunded' | 'expired', usage: TurnUsage): number | undefined {
    const { ended_at: at, credits } = usage
    const balance = this.#storage.getBalance(turn.account)
    const buckets = this.#buckets.findBuckets(turn, balance)
    const heldFromPacks = parseAllocations(turn.reserved_packs)
    const heldShares = { fromPlan: turn.reserved_plan, fromPacks: heldFromPacks }
    const { fromPlan, fromPacks, debt, windowDebts } = allocateSettlement(credits, heldShares, buckets, () =>
      this.#storage.listOpenPacks(turn.account, turn.pool, at ?? 0),
    )
    const outcome = {
      state,
      debt,
      window_debts: debt === 0 ? null : JSON.stringify(windowDebts),
      settled_packs: serializeAllocations(fromPacks),
    }
    if (!this.#chain.endTurn(balance, turn, { ...usage, ...outcome })) return undefined
    const charged = fromPlan + debt
    for (const [index, bucket] of buckets.entries()) {
      bucket.applyDelta(-turn.reserved_plan, charged, windowDebts[index] ?? 0)
      if (charged > 0 && isAtPoolLevel(bucket)) this.#reportPoolLevels(turn, index, bucket, charged, at ?? 0)
    }
    for (const [pack, share] of heldFromPacks) this.#storage.applyPackDelta(turn.account, pack, -share, 0)
    for (const [pack, share] of fromPacks) this.#storage.applyPackDelta(turn.account, pack, 0, share)
    this.#buckets.saveArchived(balance, buckets)
    assertNotOverdrawn(balance, turn.pool)
    balance.recordTurn()
    this.#storage.onEnded(turn)
    return debt
  }

  /** Reports each level that this charge has reached in a running window. */
  #reportPoolLevels({ account, pool }: SettlementTurn, index: number, bucket: Bucket, charged: number, at: number): void {
    const [window = 'month', limit, used, endsAt] = [
      windows[index],
      bucket.get('granted'),
      bucket.get('settled'),
      bucket.get('endsAt'),
    ]
    if (limit === 0 || endsAt <= at) return
    for (const level of alertLevels)
      if (used * 100 >= level * limit && (used - charged) * 100 < level * limit)
        this.#storage.insertPoolLevel({ account, pool, window, level, used, limit, endsAt, at })
  }
}

function findTightestWindow(buckets: readonly Bucket[]): WindowLeft {
  let tightestWindow: WindowLeft = { window: 'month', credits: Infinity, resetsAt: 0 }
  for (const [index, bucket] of buckets.entries())
    if (bucket.available <= tightestWindow.credits)
      tightestWindow = { window: windows[index] ?? 'month', credits: bucket.available, resetsAt: bucket.get('endsAt') }
  return tightestWindow
}

/** One comparison, because every turn makes it: most turns end below the lowest level. */
function isAtPoolLevel(bucket: Bucket): boolean {
  return bucket.get('settled') * 100 >= bucket.get('granted') * alertLevels[0]
}

function assertNotOverdrawn(balance: AccountBalance, pool: Pool): void {
  if (!balance.isValid(pool)) throw new Error(`the balance of ${balance.account} would be overdrawn`)
}

function toAlreadyEnded(turn: SettlementTurn): EndingResult {
  return { kind: 'ended', applied: false, state: turn.state, credits: turn.credits, debt: turn.debt }
}
