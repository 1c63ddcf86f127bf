/** Creates the writing part of the ledger and its maintenance tasks. */
import { hasPrunableRows } from '../repositories/billing/turns.ts'
import { Connections } from './connection/connections.ts'
import { pruneAccount } from './maintenance/pruning.ts'
import { LedgerQueueConnection } from './ledger/ledger-queue-connection.ts'
import { createLedger } from './ledger/ledger.ts'
import type { LedgerDeps, WritableLedger } from './open.ts'
import { runMaintenanceTask } from './maintenance/maintenance-tasks.ts'
import { readReport } from './maintenance/report.ts'

export function openLedger({ url, seen, database, nodeLease }: LedgerDeps): WritableLedger {
  const connections = new Connections({ url, seen, max: 1 })
  const queue = new LedgerQueueConnection({ url, seen: seen.shared }, () => nodeLease.id)
  return {
    ...createLedger(queue, nodeLease),
    report: (query) => readReport({ url, seen }, query),
    verify: (signal) => runMaintenanceTask('verify', { url, seen: seen.shared }, signal),
    async pruneTurns(before, limit, signal) {
      if (!(await hasPrunableRows(database, before))) return 0
      let prunedTurns = 0
      for (const plan of await runMaintenanceTask('planPruning', { url, seen: seen.shared, before, limit }, signal)) {
        if (signal?.aborted === true) break
        prunedTurns += await pruneAccount(connections, plan)
      }
      return prunedTurns
    },
    async close(flushTimeoutMs) {
      await queue.close(flushTimeoutMs)
      await connections.close()
    },
  }
}
