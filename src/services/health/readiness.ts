/** Reasons, in sentences, why a serving thread accepts no new turns. */
import type { LedgerStats } from '../../domain/billing/ledger.ts'

/** With more operations in the writer's queue, new turns only make it longer. */
const maxQueue = 5_000
/** A shared database that is silent for longer makes the node not ready; otherwise an idle node would not notice the outage. */
const maxSilentMs = 2_000

/** @param silentMs time since the last answer of the shared database */
export function getNotReadyReasons(
  { writable, isDiskFull = false, queue, unhealthyReason, pendingSettlements, pendingSince }: LedgerStats,
  silentMs = 0,
): readonly string[] {
  const reasons: readonly (string | false)[] = [
    !writable && (isDiskFull ? 'the disk of the database is full: make room' : 'the ledger cannot be written'),
    silentMs > maxSilentMs && 'the database does not answer',
    unhealthyReason ?? false,
    queue > maxQueue && 'the write queue of the ledger is too long',
    pendingSince !== null &&
      pendingSettlements > 0 &&
      `${pendingSettlements} settlements have been pending since ${new Date(pendingSince).toISOString()}`,
  ]
  return reasons.filter((reason) => reason !== false)
}
