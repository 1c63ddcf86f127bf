/** The ledger's front: the port's orders become operations, their results the port's words. */
import type { CarryOrder, Ending, GrantOrder, Pack, Reservation, ReserveOrder, SettleOrder } from '../../membership/ledger.ts'
import { windows } from '../../membership/plan.ts'
import { askedColumns, valuesOf } from '../turn-columns.ts'
import type { CarryOp, EndingResult, GrantOp, PackResult, ReserveOp, ReserveResult } from './operations.ts'

/** @throws where an amount is no whole number, or below zero: that is a bug above, and must not move money. So do the others. */
export function toReserveOp(order: ReserveOrder): ReserveOp {
  const { limits, price, idempotency } = order
  const { day, week, month } = order.periods
  amount('want', order.want)
  amount('floor', order.floor)
  if (order.floor > order.want) throw new RangeError(`floor ${order.floor} is above want ${order.want}`)
  const asked = valuesOf(askedColumns, {
    request_id: order.requestId,
    account: order.account,
    model: order.model,
    pool: order.pool,
    started_at: order.at,
    price_input: price.input,
    price_output: price.output,
    discount_percent: price.discountPercent,
    idempotency_key: idempotency?.key ?? null,
    body_hash: idempotency?.bodyHash ?? null,
  })
  return [
    'reserve',
    day.start,
    day.end,
    day.nextEnd,
    week.start,
    week.end,
    week.nextEnd,
    month.start,
    month.end,
    month.nextEnd,
    limits.day,
    limits.week,
    limits.month,
    order.want,
    order.floor,
    order.until,
    order.concurrency,
    ...asked,
  ]
}

/** The order itself becomes an operation in `endings.ts`, where a journal may have kept it meanwhile. */
export function mustBeWhole({ credits, tokens }: SettleOrder): void {
  amount('credits', credits)
  amount('tokens.input', tokens.input)
  amount('tokens.output', tokens.output)
}

export function toGrantOp({ id, account, kind, pool, credits, at, expiresAt }: GrantOrder): GrantOp {
  amount('credits', credits)
  return ['grant', id, account, kind, pool, credits, at, expiresAt]
}

export function toCarryOp({ account, pool, at, periods: { day, week, month }, used }: CarryOrder): CarryOp {
  for (const window of windows) amount(`used.${window}`, used[window])
  const spans = [day.start, day.end, used.day, week.start, week.end, used.week, month.start, month.end, used.month] as const
  return ['carry', account, pool, at, ...spans]
}

export function toReservation(result: ReserveResult): Reservation {
  switch (result[0]) {
    case 'held':
      return { kind: 'held', hold: { id: result[1], credits: result[2] } }
    case 'empty':
      return { kind: 'empty', resetsAt: result[1], window: result[2] }
    case 'busy':
    case 'crowded':
      return { kind: result[0] }
    case 'duplicate': {
      const [kind, state, sameBody, requestId, aborted, credits] = result
      return { kind, state, sameBody, requestId, aborted, credits }
    }
  }
}

export function toEnding([, done, state, credits, debt]: EndingResult): Ending {
  return { done, state, credits, debt }
}

export function toPack(id: string, [, account, kind, pool, granted, reserved, settled, expiresAt, createdAt]: PackResult): Pack {
  return { id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt }
}

function amount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${name} must be a whole number of at least 0, not ${value}`)
}
