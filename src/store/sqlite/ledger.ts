/** The ledger on SQLite, seen from the main thread: orders become operations for the writer, answers become the port's words. */
import type { Ending, Ledger, Pack, Reservation } from '../../membership/ledger.ts'
import { balanceIn } from '../balance.ts'
import type { Database } from '../database.ts'
import { forgetTurnsIn, isShortQuery, turnsIn } from '../turns.ts'
import type { PackResult, ReserveResult, Result } from './protocol.ts'
import { runTask } from './reader.ts'
import type { Writer } from './writer.ts'

export function ledgerOn(writer: Writer, db: Database, file: string): Ledger {
  return {
    async reserve(order) {
      const { periods, limits, price, idempotency } = order
      amount('want', order.want)
      amount('floor', order.floor)
      if (order.floor > order.want) throw new RangeError(`floor ${order.floor} is above want ${order.want}`)
      const result = await writer.submit(
        [
          'reserve',
          order.account,
          order.requestId,
          order.model,
          order.pool,
          order.at,
          periods.day.start,
          periods.day.end,
          periods.week.start,
          periods.week.end,
          periods.month.start,
          periods.month.end,
          limits.day,
          limits.week,
          limits.month,
          order.want,
          order.floor,
          price.input,
          price.output,
          price.discountPercent,
          order.until,
          idempotency?.key ?? null,
          idempotency?.bodyHash ?? null,
        ],
        false,
      )
      return toReservation(result as ReserveResult)
    },

    async settle(order) {
      amount('credits', order.credits)
      amount('tokens.input', order.tokens.input)
      amount('tokens.output', order.tokens.output)
      return toEnding(
        await writer.submit(
          [
            'settle',
            order.hold,
            order.at,
            order.credits,
            order.tokens.input,
            order.tokens.output,
            order.estimated ? 1 : 0,
            order.outcome === 'aborted' ? 'aborted' : null,
            order.target,
            order.upstreamStatus,
          ],
          true,
        ),
      )
    },

    async refund(order) {
      return toEnding(await writer.submit(['refund', order.hold, order.at, order.code, order.target, order.upstreamStatus], true))
    },

    async grant(order) {
      amount('credits', order.credits)
      const result = await writer.submit(
        ['grant', order.id, order.account, order.kind, order.pool, order.credits, order.at, order.expiresAt],
        true,
      )
      return toPack(order.id, result as PackResult)
    },

    async expire(at) {
      const result = await writer.submit(['expire', at], true)
      if (result[0] !== 'count') throw unexpected(result)
      return result[1]
    },

    balance: (query) => balanceIn(db, query),
    turns: (query) => (isShortQuery(query) ? turnsIn(db.read, query) : runTask('turns', { file, query })),
    forgetTurns: (before, limit) => forgetTurnsIn(db, before, limit),
    verify: () => runTask('verify', { file }),
    vitals: () => writer.vitals(),
  }
}

/** The last look before the database: an amount that is no whole number, or below zero, is a bug above and must not move money. */
function amount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${name} must be a whole number of at least 0, not ${value}`)
}

function toReservation(result: ReserveResult): Reservation {
  switch (result[0]) {
    case 'held':
      return { kind: 'held', hold: { id: result[1], credits: result[2] } }
    case 'empty':
      return { kind: 'empty', resetsAt: result[1] }
    case 'busy':
      return { kind: 'busy' }
    case 'duplicate':
      return { kind: 'duplicate', state: result[1], sameBody: result[2], requestId: result[3] }
  }
}

function toEnding(result: Result): Ending {
  if (result[0] !== 'ended') throw unexpected(result)
  return { done: result[1], state: result[2], credits: result[3], debt: result[4] }
}

function toPack(id: string, [, account, kind, pool, granted, reserved, settled, expiresAt, createdAt]: PackResult): Pack {
  return { id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt }
}

function unexpected(result: Result): Error {
  return new Error(`the writer answered "${result[0]}" to another question`)
}
