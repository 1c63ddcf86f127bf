/** Turns the ledger port's orders into operations, and their results into the port's answers. */
import type {
  AdjustOrder,
  ChangePackOrder,
  Ending,
  GrantOrder,
  IdempotencyKey,
  OpenWithUsageOrder,
  RefundOrder,
  ReserveOrder,
  SettleOrder,
  TurnDetails,
  TurnTrace,
} from '../../domain/billing/ledger.ts'
import { toPartKey, unknownCredential } from '../../domain/billing/ledger.ts'
import { windows } from '../../domain/billing/catalog/plan.ts'
import type {
  AdjustOperation,
  ChangePackOperation,
  EndingOperation,
  GrantOperation,
  OpenWithUsageOperation,
  ReserveOperation,
} from './operations.ts'
import { encodeAttempts } from './turn-attempts.ts'
import { zeroUsage } from './turn-columns.ts'

/** How a turn ends. The settlement journal stores it under these names, so that a later version can read it. */
export type EndingOrder = ({ readonly kind: 'settle' } & SettleOrder) | ({ readonly kind: 'refund' } & RefundOrder)

/** @throws RangeError for an amount that is not a whole number of at least 0: a bug in the caller, which must not move money */
export function toReserveOperation(order: ReserveOrder): ReserveOperation {
  const { periods, limits, price, idempotency, amount, minAmount, leaseUntil, maxConcurrentTurns } = order
  assertAmount('amount', amount)
  assertAmount('minAmount', minAmount)
  if (minAmount > amount) throw new RangeError(`minAmount ${minAmount} is above amount ${amount}`)
  const request = {
    request_id: order.requestId,
    account: order.account,
    model: order.model,
    pool: order.pool,
    started_at: order.at,
    price_input: price.input,
    price_cached_input: price.cachedInput ?? null,
    price_output: price.output,
    discount_percent: price.discountPercent,
    idempotency_key: toStoredKey(idempotency),
    body_hash: idempotency?.bodyHash ?? null,
    api_format: order.apiFormat ?? 'chat_completions',
    requested_model: order.requestedModel ?? null,
    credential: order.credential ?? unknownCredential,
  }
  return { kind: 'reserve', periods, limits, amount, minAmount, leaseUntil, maxConcurrentTurns, request }
}

function toStoredKey(idempotency: IdempotencyKey | null): string | null {
  if (idempotency === null) return null
  const { key, part } = idempotency
  return part === undefined ? key : toPartKey(key, part)
}

/** @throws RangeError as `toReserveOperation`; called before an order can reach the journal */
export function assertWholeAmounts({ credits, tokens }: SettleOrder): void {
  assertAmount('credits', credits)
  assertAmount('tokens.input', tokens.input)
  assertAmount('tokens.cachedInput', tokens.cachedInput ?? 0)
  assertAmount('tokens.input - tokens.cachedInput', tokens.input - (tokens.cachedInput ?? 0))
  assertAmount('tokens.output', tokens.output)
}

/** An order from a journal may be of an earlier version: what was added later is missing in it. */
export function toEndingOperation(order: EndingOrder): EndingOperation {
  const { kind, hold, at, target, upstreamStatus } = order
  const common = {
    ended_at: at,
    target,
    upstream_status: upstreamStatus,
    ...toDetailColumns(order.details),
    ...toTraceColumns(order.trace, target),
  }
  if (kind === 'refund') return { kind, hold, usage: { ...zeroUsage, ...common, code: order.code } }
  const { disputed = null } = order
  const usage = {
    ...common,
    credits: order.credits,
    input_tokens: order.tokens.input,
    cached_input_tokens: order.tokens.cachedInput ?? 0,
    output_tokens: order.tokens.output,
    estimated: order.estimated ? 1 : 0,
    code: order.outcome === 'aborted' ? 'aborted' : null,
  }
  return {
    kind,
    hold,
    usage,
    annotation: disputed === null ? null : { disputed_input: disputed.input, disputed_output: disputed.output },
  }
}

function toDetailColumns(details?: TurnDetails) {
  return {
    plan: details?.plan ?? null,
    upstream_model: details?.upstreamModel ?? null,
    upstream_response_id: details?.upstreamResponseId ?? null,
    upstream_cost_nanodollars: details?.upstreamCostNanodollars ?? null,
  }
}

function toTraceColumns(trace: TurnTrace | undefined, target: string | null) {
  return {
    first_token_ms: trace?.firstTokenMs ?? null,
    attempts: trace?.attempts == null ? null : encodeAttempts(trace.attempts, target),
  }
}

/** The answer to an ending that is in the journal only. How much of it becomes debt is unknown until the ledger has it. */
export function toExpectedEnding(order: EndingOrder): Ending {
  if (order.kind === 'refund') return { applied: true, state: 'refunded', credits: 0, debt: 0 }
  return { applied: true, state: 'settled', credits: order.credits, debt: 0 }
}

/** @throws RangeError as `toReserveOperation` */
export function toGrantOperation({ kind: packKind, ...order }: GrantOrder): GrantOperation {
  assertAmount('credits', order.credits)
  const { id, account, pool, credits, at, expiresAt } = order
  return { kind: 'grant', id, account, packKind, pool, credits, at, expiresAt }
}

/** @throws RangeError as `toReserveOperation`; zero corrects nothing */
export function toAdjustOperation({
  id,
  account,
  pool,
  credits,
  reason,
  at,
  expiresAt,
  periods,
  limits,
}: AdjustOrder): AdjustOperation {
  assertAmount('credits', Math.abs(credits))
  if (credits === 0) throw new RangeError('credits must not be 0')
  return { kind: 'adjust', id, account, pool, credits, reason, at, expiresAt, periods, limits }
}

/** @throws RangeError as `toReserveOperation`; zero changes nothing */
export function toChangePackOperation({ id, account, pack, credits, reason, at }: ChangePackOrder): ChangePackOperation {
  assertAmount('credits', Math.abs(credits))
  if (credits === 0) throw new RangeError('credits must not be 0')
  return { kind: 'changePack', id, account, pack, credits, reason, at }
}

/** @throws RangeError as `toReserveOperation` */
export function toOpenWithUsageOperation({ account, pool, at, periods, used }: OpenWithUsageOrder): OpenWithUsageOperation {
  for (const window of windows) assertAmount(`used.${window}`, used[window])
  const { day, week, month } = periods
  return {
    kind: 'openWithUsage',
    account,
    pool,
    at,
    periods: {
      day: { start: day.start, end: day.end, used: used.day },
      week: { start: week.start, end: week.end, used: used.week },
      month: { start: month.start, end: month.end, used: used.month },
    },
  }
}

/** Without the kind, which only the store needs. */
export function toEnding({ applied, state, credits, debt }: Ending): Ending {
  return { applied, state, credits, debt }
}

function assertAmount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${name} must be a whole number of at least 0, not ${value}`)
}
