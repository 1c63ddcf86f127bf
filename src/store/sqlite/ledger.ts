/** The ledger on SQLite, seen from the main thread: orders become operations for the writer, answers become the port's words. */
import type { Ending, Ledger } from '../../membership/ledger.ts'
import type { Database } from '../database.ts'
import { GatewayError } from '../../errors.ts'
import type { EndingOrder } from '../ledger/endings.ts'
import { asOrdered, toOp } from '../ledger/endings.ts'
import type { PackResult, ReserveResult } from '../ledger/operations.ts'
import { mustBeWhole, toCarryOp, toEnding, toGrantOp, toPack, toReservation, toReserveOp } from '../ledger/orders.ts'
import type { Owed } from './owed.ts'
import { owedLimit } from './owed.ts'
import { journalOf, processesWithJournal, readJournal } from './owed-journal.ts'
import type { Result } from './protocol.ts'
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
    if (result === 'journaled') return asOrdered(order)
    if (result[0] !== 'ended') throw unexpected(result)
    return toEnding(result)
  }
  return {
    async reserve(order) {
      const { trouble } = health
      if (trouble !== null) throw new GatewayError('internal_error', { cause: new Error(trouble) })
      if (owed !== undefined && owed.count >= owedLimit) throw new GatewayError('temporarily_unavailable', { retryAfter: 5 })
      const result = await writer.submit(toReserveOp(order), false)
      return toReservation(result as ReserveResult)
    },

    async settle(order) {
      mustBeWhole(order)
      return end({ kind: 'settle', ...order })
    },

    refund: (order) => end({ kind: 'refund', ...order }),

    async grant(order) {
      const result = await writer.submit(toGrantOp(order), true)
      return toPack(order.id, result as PackResult)
    },

    async carry(order) {
      await writer.submit(toCarryOp(order), true)
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
    async forgetTurns(before, limit, signal) {
      const { hasOldLinks } = await import('../turns.ts')
      if (!(await hasOldLinks(await database(), before))) return 0
      const cuts = await tasked(runTask('cuts', { file, before, limit }, signal))
      const forgotten = await Promise.all(cuts.map((cut) => writer.submit(['cut', cut], true)))
      return forgotten.reduce((sum, result) => sum + countIn(result), 0)
    },
    verify: (signal) => tasked(runTask('verify', { file }, signal)),
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

function countIn(result: Result): number {
  if (result[0] !== 'count') throw unexpected(result)
  return result[1]
}

function unexpected(result: Result): Error {
  return new Error(`the writer answered "${result[0]}" to another question`)
}
