/** The ledger port on SQLite: converts orders to writer operations and results to the port's types. */
import type { Ending, Ledger, Reservation } from '../../domain/billing/ledger.ts'
import { diskFullRetrySeconds } from '../database.ts'
import type { Database } from '../database.ts'
import { findPack, readBalance } from '../repositories/billing/balance.ts'
import { hasPrunableRows, isShortQuery, listTurns } from '../repositories/billing/turns.ts'
import { GatewayError } from '../../errors.ts'
import { expectResult } from '../ledger/operations.ts'
import type { EndingOrder } from '../ledger/orders.ts'
import {
  assertWholeAmounts,
  toEnding,
  toEndingOperation,
  toExpectedEnding,
  toAdjustOperation,
  toChangePackOperation,
  toGrantOperation,
  toOpenWithUsageOperation,
  toReserveOperation,
} from '../ledger/orders.ts'
import type { PendingSettlements } from './settlement-retry.ts'
import { maxPending } from './settlement-retry.ts'
import { getJournalPath, listJournalProcesses, readJournal } from './process/settlement-journal.ts'
import type { DatabaseHealth } from './database-health.ts'
import { runReadTask } from './maintenance/read-tasks.ts'
import { readReport } from './maintenance/report.ts'
import type { Writer } from './writer/writer.ts'

/** `pendingSettlements` belongs to a server; a command beside it ends no turns. */
export function createSqliteLedger(
  writer: Writer,
  database: Database,
  file: string,
  health: Pick<DatabaseHealth, 'unhealthyReason' | 'recordFault'>,
  pendingSettlements?: PendingSettlements,
): Ledger {
  const reportFaults = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((error: unknown) => {
      health.recordFault(error)
      throw error
    })
  const end = async (order: EndingOrder): Promise<Ending> => {
    const result = await (pendingSettlements === undefined
      ? writer.apply(toEndingOperation(order), true)
      : pendingSettlements.end(order))
    if (result === 'journaled') return toExpectedEnding(order)
    return toEnding(expectResult(result, 'ended'))
  }
  return {
    async reserve(order) {
      const { unhealthyReason } = health
      if (unhealthyReason !== null) throw new GatewayError('internal_error', { cause: new Error(unhealthyReason) })
      if (pendingSettlements !== undefined && pendingSettlements.count >= maxPending)
        throw new GatewayError('temporarily_unavailable', { retryAfter: writer.isDiskFull ? diskFullRetrySeconds : 5 })
      return (await writer.apply(toReserveOperation(order), false)) as Reservation
    },

    async settle(order) {
      assertWholeAmounts(order)
      return end({ kind: 'settle', ...order })
    },

    refund: (order) => end({ kind: 'refund', ...order }),

    async grant(order) {
      return expectResult(await writer.apply(toGrantOperation(order), true), 'pack').pack
    },

    async adjust(order) {
      return expectResult(await writer.apply(toAdjustOperation(order), true), 'pack').pack
    },

    async changePack(order) {
      return expectResult(await writer.apply(toChangePackOperation(order), true), 'count').count > 0
    },
    async openWithUsage(order) {
      await writer.apply(toOpenWithUsageOperation(order), true)
    },

    async expire(at, monotonicMs) {
      const except = pendingSettlements?.listHolds() ?? []
      const result = await writer.apply({ kind: 'expire', at, monotonicMs, except }, true)
      const { expired, recovered } = expectResult(result, 'swept')
      pendingSettlements?.recovered(recovered)
      return expired
    },

    async countPendingSettlements() {
      let count = 0
      for (const process of listJournalProcesses(file)) {
        const orders = readJournal(getJournalPath(file, process))
        if (orders.length > 0) count += await countOpenHoldsOf(database, process, orders)
      }
      return count
    },

    balance: (query) => readBalance(database, query),
    findPack: (account, id) => findPack(database, account, id),
    turns: (query) =>
      isShortQuery(query) ? listTurns(database.read, query) : reportFaults(runReadTask('turns', { file, query })),
    async pruneTurns(before, limit, signal) {
      if (!(await hasPrunableRows(database, before))) return 0
      const steps = await reportFaults(runReadTask('planPruning', { file, before, limit }, signal))
      const results = await Promise.all(steps.map((step) => writer.apply({ kind: 'prune', step }, true)))
      return results.reduce((sum, result) => sum + expectResult(result, 'count').count, 0)
    },
    report: (query) => readReport(file, query),
    verify: (signal) => reportFaults(runReadTask('verify', { file }, signal)),
    stats: () => ({
      ...writer.stats(),
      unhealthyReason: health.unhealthyReason,
      pendingSettlements: pendingSettlements?.count ?? 0,
      pendingSince: pendingSettlements?.oldestAt ?? null,
    }),
  }
}

/** Counts the orders whose hold is still open and owned by that process. */
async function countOpenHoldsOf({ read }: Database, process: string, orders: readonly EndingOrder[]): Promise<number> {
  const heldTurns = await read
    .selectFrom('turn')
    .innerJoin('process', 'process.id', 'turn.owner_process')
    .select('turn.id')
    .where('turn.state', '=', 'held')
    .where('process.name', '=', process)
    .execute()
  const pendingHolds = new Set(orders.map(({ hold }) => hold))
  return heldTurns.filter(({ id }) => pendingHolds.has(id)).length
}
