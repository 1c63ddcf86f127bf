/** The ledger port on PostgreSQL. Operations that change balances go through the ledger queue. */
import type { Ledger, Reservation } from '../../../domain/billing/ledger.ts'
import { expectResult } from '../../ledger/operations.ts'
import {
  assertWholeAmounts,
  toEnding,
  toEndingOperation,
  toAdjustOperation,
  toChangePackOperation,
  toGrantOperation,
  toOpenWithUsageOperation,
  toReserveOperation,
} from '../../ledger/orders.ts'
import { createUnavailableError } from '../connection/errors.ts'
import type { LedgerQueueHandle } from './ledger-queue-connection.ts'
import { formatDuration } from '../../../system/duration.ts'
import { isClockTrusted } from '../cluster/node-lease.ts'
import type { NodeLease } from '../cluster/node-lease.ts'

type QueuedLedger = Omit<Ledger, 'balance' | 'findPack' | 'turns' | 'report' | 'verify' | 'pruneTurns'>

export function createLedger(queue: LedgerQueueHandle, nodeLease: NodeLease): QueuedLedger {
  let releasedHolds = 0
  const release = async (owner: number, at: number, leaseUntil?: number): Promise<number> => {
    const count = await queue.releaseHolds(owner, at, leaseUntil)
    releasedHolds += count
    return count
  }
  return {
    async reserve(order) {
      // Other nodes may declare this one dead and release its holds, so it makes none until its lease is renewed.
      if (!nodeLease.isAlive) throw createUnavailableError()
      return (await queue.submit(toReserveOperation(order))) as Reservation
    },
    async settle(order) {
      assertWholeAmounts(order)
      return toEnding(expectResult(await queue.submit(toEndingOperation({ kind: 'settle', ...order })), 'ended'))
    },
    async refund(order) {
      return toEnding(expectResult(await queue.submit(toEndingOperation({ kind: 'refund', ...order })), 'ended'))
    },
    async grant(order) {
      return expectResult(await queue.submit(toGrantOperation(order)), 'pack').pack
    },
    async adjust(order) {
      return expectResult(await queue.submit(toAdjustOperation(order)), 'pack').pack
    },
    async changePack(order) {
      return expectResult(await queue.submit(toChangePackOperation(order)), 'count').count > 0
    },
    async openWithUsage(order) {
      await queue.submit(toOpenWithUsageOperation(order))
    },
    async expire(at, monotonicMs) {
      let releasedCount = await release(nodeLease.id, at, monotonicMs)
      // Their turns would end at a wrong time; another node releases them.
      if (!isClockTrusted(nodeLease)) return releasedCount
      for (const dead of await nodeLease.findDeadNodes()) {
        releasedCount += await release(dead.id, at)
        await nodeLease.removeNode(dead)
      }
      return releasedCount
    },
    /** No node has a journal: settlements wait for the database in memory. */
    countPendingSettlements: () => Promise.resolve(0),
    stats() {
      const stats = queue.stats()
      return { ...stats, releasedHolds, flushSeconds: [], unhealthyReason: findUnhealthyReason(nodeLease) }
    },
  }
}

/** Days, weeks and months are computed by a node's own clock. */
function findUnhealthyReason(nodeLease: NodeLease): string | null {
  const { isAlive, clockAheadMs } = nodeLease
  if (!isAlive) return 'the lease of this node has expired: the database was not reachable'
  if (isClockTrusted(nodeLease)) return null
  return `this node's clock is ${formatDuration(Math.abs(clockAheadMs))} ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the database's`
}
