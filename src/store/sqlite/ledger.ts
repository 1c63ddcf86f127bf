/** The ledger on SQLite, seen from the main thread: orders become operations for the writer, answers become the port's words. */
import { windows } from '../../membership/plan.ts'
import type { Ending, Ledger, Pack, Reservation } from '../../membership/ledger.ts'
import type { Database } from '../database.ts'
import { GatewayError } from '../../errors.ts'
import { askedColumns, valuesOf } from '../turn-columns.ts'
import type { EndingOrder } from './endings.ts'
import { asOrdered, toOp } from './endings.ts'
import type { Owed } from './owed.ts'
import { owedLimit } from './owed.ts'
import { journalOf, processesWithJournal, readJournal } from './owed-journal.ts'
import type { PackResult, ReserveResult, Result } from './protocol.ts'
import type { Health } from './health.ts'
import { runTask } from './reader.ts'
import type { Writer } from './writer.ts'

/** `owed` is a server's: whoever only works beside one ends no turns. What is no turn is loaded when it is asked, with the query builder. */
export function ledgerOn(
  writer: Writer,
  database: () => Promise<Database>,
  file: string,
  health: Pick<Health, 'trouble' | 'met'>,
  owed?: Owed,
): Ledger {
  const tasked = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((error: unknown) => {
      health.met(error)
      throw error
    })
  const end = async (order: EndingOrder): Promise<Ending> => {
    const result = await (owed === undefined ? writer.submit(toOp(order), true) : owed.end(order))
    return result === 'journaled' ? asOrdered(order) : toEnding(result)
  }
  return {
    async reserve(order) {
      const { trouble } = health
      if (trouble !== null) throw new GatewayError('internal_error', { cause: new Error(trouble) })
      if (owed !== undefined && owed.count >= owedLimit) throw new GatewayError('temporarily_unavailable', { retryAfter: 5 })
      const { periods, limits, price, idempotency } = order
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
      const { day, week, month } = periods
      const result = await writer.submit(
        [
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
        ],
        false,
      )
      return toReservation(result as ReserveResult)
    },

    async settle(order) {
      amount('credits', order.credits)
      amount('tokens.input', order.tokens.input)
      amount('tokens.output', order.tokens.output)
      return end({ kind: 'settle', ...order })
    },

    refund: (order) => end({ kind: 'refund', ...order }),

    async grant(order) {
      amount('credits', order.credits)
      const result = await writer.submit(
        ['grant', order.id, order.account, order.kind, order.pool, order.credits, order.at, order.expiresAt],
        true,
      )
      return toPack(order.id, result as PackResult)
    },

    async carry({ account, pool, at, periods: { day, week, month }, used }) {
      for (const window of windows) amount(`used.${window}`, used[window])
      const periods = [day.start, day.end, used.day, week.start, week.end, used.week, month.start, month.end, used.month] as const
      await writer.submit(['carry', account, pool, at, ...periods], true)
    },

    async expire(at, ticks) {
      const result = await writer.submit(['expire', at, ticks, owed?.holds() ?? []], true)
      if (result[0] !== 'swept') throw unexpected(result)
      owed?.inherited(result[2])
      return result[1]
    },

    async owed() {
      let count = 0
      for (const process of processesWithJournal(file)) {
        const orders = readJournal(journalOf(file, process))
        if (orders.length > 0) count += await heldAmong(await database(), process, orders)
      }
      return count
    },

    async balance(query) {
      const { balanceIn } = await import('../balance.ts')
      return balanceIn(await database(), query)
    },
    async turns(query) {
      const { isShortQuery, turnsIn } = await import('../turns.ts')
      return isShortQuery(query) ? turnsIn((await database()).read, query) : tasked(runTask('turns', { file, query }))
    },
    async forgetTurns(before, limit) {
      const { hasOldLinks } = await import('../turns.ts')
      if (!(await hasOldLinks(await database(), before))) return 0
      const cuts = await tasked(runTask('cuts', { file, before, limit }))
      const forgotten = await Promise.all(cuts.map((cut) => writer.submit(['cut', cut], true)))
      return forgotten.reduce((sum, result) => sum + countIn(result), 0)
    },
    verify: () => tasked(runTask('verify', { file })),
    vitals: () => ({
      ...writer.vitals(),
      trouble: health.trouble,
      owed: owed?.count ?? 0,
      owedSince: owed?.since ?? null,
    }),
  }
}

/** Of these endings, how many wait for a hold of that process that has none yet. */
async function heldAmong({ read }: Database, process: string, orders: readonly EndingOrder[]): Promise<number> {
  const held = await read
    .selectFrom('turn')
    .innerJoin('process', 'process.id', 'turn.owner')
    .select('turn.id')
    .where('turn.state', '=', 'held')
    .where('process.name', '=', process)
    .execute()
  const known = new Set(orders.map(({ hold }) => hold))
  return held.filter(({ id }) => known.has(id)).length
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

function toEnding(result: Result): Ending {
  if (result[0] !== 'ended') throw unexpected(result)
  return { done: result[1], state: result[2], credits: result[3], debt: result[4] }
}

function countIn(result: Result): number {
  if (result[0] !== 'count') throw unexpected(result)
  return result[1]
}

function toPack(id: string, [, account, kind, pool, granted, reserved, settled, expiresAt, createdAt]: PackResult): Pack {
  return { id, account, kind, pool, granted, reserved, settled, expiresAt, createdAt }
}

function unexpected(result: Result): Error {
  return new Error(`the writer answered "${result[0]}" to another question`)
}
