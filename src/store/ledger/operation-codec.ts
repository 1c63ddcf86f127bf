/**
 * Encodes operations and results as flat tuples of plain values for `postMessage`: structured cloning of named objects costs more than the
 * ledger's own statements. Nothing else knows a position in these tuples.
 */
import type { PackKind, TurnState } from '../../domain/billing/ledger.ts'
import type { Window } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import type {
  AdjustOperation,
  AccountOperation,
  AccountResult,
  LedgerOperation,
  LedgerResult,
  SweepResult,
  UsedPeriod,
} from './operations.ts'
import type { PruningStep } from './pruning.ts'
import type { ColumnValues } from './turn-columns.ts'
import { annotationColumns, pickValues, requestColumns, toRow, reportedColumns } from './turn-columns.ts'

type UsageValues = ColumnValues<typeof reportedColumns>
type AnnotationValues = ColumnValues<typeof annotationColumns>

type EncodedReserve = readonly [
  kind: 'reserve',
  dayStart: number,
  dayEnd: number,
  dayNextEnd: number,
  weekStart: number,
  weekEnd: number,
  weekNextEnd: number,
  monthStart: number,
  monthEnd: number,
  monthNextEnd: number,
  dayLimit: number,
  weekLimit: number,
  monthLimit: number,
  amount: number,
  minAmount: number,
  leaseUntil: number,
  maxConcurrentTurns: number,
  ...request: ColumnValues<typeof requestColumns>,
]

export type EncodedAccountOperation =
  | EncodedReserve
  | readonly [kind: 'settle', hold: number, annotation: AnnotationValues | null, ...usage: UsageValues]
  | readonly [kind: 'refund', hold: number, ...usage: UsageValues]
  | readonly [
      kind: 'grant',
      id: string,
      account: string,
      packKind: PackKind,
      pool: Pool,
      credits: number,
      at: number,
      expiresAt: number,
    ]
  | readonly [
      kind: 'adjust',
      id: string,
      account: string,
      pool: Pool,
      credits: number,
      reason: string,
      at: number,
      expiresAt: number,
      periods: AdjustOperation['periods'],
      limits: AdjustOperation['limits'],
    ]
  | readonly [kind: 'changePack', id: string, account: string, pack: string, credits: number, reason: string, at: number]
  | readonly [
      kind: 'openWithUsage',
      account: string,
      pool: Pool,
      at: number,
      dayStart: number,
      dayEnd: number,
      dayUsed: number,
      weekStart: number,
      weekEnd: number,
      weekUsed: number,
      monthStart: number,
      monthEnd: number,
      monthUsed: number,
    ]

export type EncodedOperation =
  | EncodedAccountOperation
  | readonly [kind: 'expire', at: number, monotonicMs: number, except: readonly number[]]
  | readonly [kind: 'prune', step: PruningStep]

export type EncodedAccountResult =
  | readonly [kind: 'held', id: number, credits: number]
  | readonly [kind: 'held', id: number, credits: number, window: Window, left: number, resetsAt: number]
  | readonly [kind: 'insufficient', resetsAt: number, window: Window]
  | readonly [kind: 'reserved_elsewhere']
  | readonly [kind: 'concurrency_limit']
  | readonly [
      kind: 'duplicate',
      state: 'held' | 'settled',
      sameBody: boolean,
      requestId: string,
      aborted: boolean,
      credits: number,
    ]
  | readonly [kind: 'ended', applied: boolean, state: TurnState, credits: number, debt: number]
  | readonly [
      kind: 'pack',
      id: string,
      account: string,
      packKind: PackKind,
      pool: Pool,
      granted: number,
      reserved: number,
      settled: number,
      expiresAt: number,
      createdAt: number,
    ]
  | readonly [kind: 'count', count: number]

type EncodedSweepResult = readonly [kind: 'swept', expired: number, recovered: number]
export type EncodedResult = EncodedAccountResult | EncodedSweepResult

export function encodeOperation(operation: AccountOperation): EncodedAccountOperation
export function encodeOperation(operation: LedgerOperation): EncodedOperation
export function encodeOperation(operation: LedgerOperation): EncodedOperation {
  switch (operation.kind) {
    case 'reserve': {
      const { periods, limits, amount, minAmount, leaseUntil, maxConcurrentTurns, request } = operation
      const { day, week, month } = periods
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
        amount,
        minAmount,
        leaseUntil,
        maxConcurrentTurns,
        ...pickValues(requestColumns, request),
      ]
    }
    case 'settle': {
      const { hold, usage, annotation } = operation
      return [
        'settle',
        hold,
        annotation === null ? null : pickValues(annotationColumns, annotation),
        ...pickValues(reportedColumns, usage),
      ]
    }
    case 'refund':
      return ['refund', operation.hold, ...pickValues(reportedColumns, operation.usage)]
    case 'grant': {
      const { id, account, packKind, pool, credits, at, expiresAt } = operation
      return ['grant', id, account, packKind, pool, credits, at, expiresAt]
    }
    case 'adjust': {
      const { id, account, pool, credits, reason, at, expiresAt, periods, limits } = operation
      return ['adjust', id, account, pool, credits, reason, at, expiresAt, periods, limits]
    }
    case 'changePack': {
      const { id, account, pack, credits, reason, at } = operation
      return ['changePack', id, account, pack, credits, reason, at]
    }
    case 'openWithUsage': {
      const { account, pool, at, periods } = operation
      const { day, week, month } = periods
      const dayAndWeek = [day.start, day.end, day.used, week.start, week.end, week.used] as const
      return ['openWithUsage', account, pool, at, ...dayAndWeek, month.start, month.end, month.used]
    }
    case 'expire':
      return ['expire', operation.at, operation.monotonicMs, operation.except]
    case 'prune':
      return ['prune', operation.step]
  }
}

export function decodeOperation(encoded: EncodedAccountOperation): AccountOperation
export function decodeOperation(encoded: EncodedOperation): LedgerOperation
export function decodeOperation(encoded: EncodedOperation): LedgerOperation {
  switch (encoded[0]) {
    case 'reserve': {
      const [kind, dayStart, dayEnd, dayNextEnd, weekStart, weekEnd, weekNextEnd, monthStart, monthEnd, monthNextEnd, ...rest] =
        encoded
      const [day, week, month, amount, minAmount, leaseUntil, maxConcurrentTurns, ...request] = rest
      return {
        kind,
        periods: {
          day: { start: dayStart, end: dayEnd, nextEnd: dayNextEnd },
          week: { start: weekStart, end: weekEnd, nextEnd: weekNextEnd },
          month: { start: monthStart, end: monthEnd, nextEnd: monthNextEnd },
        },
        limits: { day, week, month },
        amount,
        minAmount,
        leaseUntil,
        maxConcurrentTurns,
        request: toRow(requestColumns, request),
      }
    }
    case 'settle': {
      const [kind, hold, annotation, ...usage] = encoded
      return {
        kind,
        hold,
        annotation: annotation === null ? null : toRow(annotationColumns, annotation),
        usage: toRow(reportedColumns, usage),
      }
    }
    case 'refund': {
      const [kind, hold, ...usage] = encoded
      return { kind, hold, usage: toRow(reportedColumns, usage) }
    }
    case 'grant': {
      const [kind, id, account, packKind, pool, credits, at, expiresAt] = encoded
      return { kind, id, account, packKind, pool, credits, at, expiresAt }
    }
    case 'adjust': {
      const [kind, id, account, pool, credits, reason, at, expiresAt, periods, limits] = encoded
      return { kind, id, account, pool, credits, reason, at, expiresAt, periods, limits }
    }
    case 'changePack': {
      const [kind, id, account, pack, credits, reason, at] = encoded
      return { kind, id, account, pack, credits, reason, at }
    }
    case 'openWithUsage': {
      const [kind, account, pool, at, ...periods] = encoded
      const [dayStart, dayEnd, dayUsed, weekStart, weekEnd, weekUsed, monthStart, monthEnd, monthUsed] = periods
      const toPeriod = (start: number, end: number, used: number): UsedPeriod => ({ start, end, used })
      const [day, week] = [toPeriod(dayStart, dayEnd, dayUsed), toPeriod(weekStart, weekEnd, weekUsed)]
      return { kind, account, pool, at, periods: { day, week, month: toPeriod(monthStart, monthEnd, monthUsed) } }
    }
    case 'expire': {
      const [kind, at, monotonicMs, except] = encoded
      return { kind, at, monotonicMs, except }
    }
    case 'prune':
      return { kind: 'prune', step: encoded[1] }
  }
}

export function encodeResult(result: SweepResult): EncodedSweepResult
export function encodeResult(result: AccountResult): EncodedAccountResult
export function encodeResult(result: LedgerResult): EncodedResult
export function encodeResult(result: LedgerResult): EncodedResult {
  switch (result.kind) {
    case 'held': {
      const { hold, left } = result
      return left === undefined
        ? ['held', hold.id, hold.credits]
        : ['held', hold.id, hold.credits, left.window, left.credits, left.resetsAt]
    }
    case 'insufficient':
      return ['insufficient', result.resetsAt, result.window]
    case 'reserved_elsewhere':
    case 'concurrency_limit':
      return [result.kind]
    case 'duplicate':
      return ['duplicate', result.state, result.sameBody, result.requestId, result.aborted, result.credits]
    case 'ended':
      return ['ended', result.applied, result.state, result.credits, result.debt]
    case 'pack': {
      const { id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt } = result.pack
      return ['pack', id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt]
    }
    case 'count':
      return ['count', result.count]
    case 'swept':
      return ['swept', result.expired, result.recovered]
  }
}

export function decodeResult(encoded: EncodedSweepResult): SweepResult
export function decodeResult(encoded: EncodedAccountResult): AccountResult
export function decodeResult(encoded: EncodedResult): LedgerResult
export function decodeResult(encoded: EncodedResult): LedgerResult {
  switch (encoded[0]) {
    case 'held': {
      const [kind, id, credits, window, left = 0, resetsAt = 0] = encoded
      return { kind, hold: { id, credits }, ...(window === undefined ? {} : { left: { window, credits: left, resetsAt } }) }
    }
    case 'insufficient':
      return { kind: 'insufficient', resetsAt: encoded[1], window: encoded[2] }
    case 'reserved_elsewhere':
    case 'concurrency_limit':
      return { kind: encoded[0] }
    case 'duplicate': {
      const [kind, state, sameBody, requestId, aborted, credits] = encoded
      return { kind, state, sameBody, requestId, aborted, credits }
    }
    case 'ended': {
      const [kind, applied, state, credits, debt] = encoded
      return { kind, applied, state, credits, debt }
    }
    case 'pack': {
      const [, id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt] = encoded
      return { kind: 'pack', pack: { id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt } }
    }
    case 'count':
      return { kind: 'count', count: encoded[1] }
    case 'swept':
      return { kind: 'swept', expired: encoded[1], recovered: encoded[2] }
  }
}
