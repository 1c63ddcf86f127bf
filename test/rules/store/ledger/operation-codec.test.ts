/** Encoding and decoding of operations and results. */
import t from 'tap'
import { decodeOperation, decodeResult, encodeOperation, encodeResult } from '../../../../src/store/ledger/operation-codec.ts'
import type { LedgerOperation, LedgerResult } from '../../../../src/store/ledger/operations.ts'
import {
  toAdjustOperation,
  toEndingOperation,
  toGrantOperation,
  toOpenWithUsageOperation,
  toReserveOperation,
} from '../../../../src/store/ledger/orders.ts'
import {
  createGrantOrder,
  createRefundOrder,
  createReserveOrder,
  createSettleOrder,
  noon,
} from '../../../support/store/contract/store-contract.ts'

const details = { plan: 'pro', upstreamModel: 'm', upstreamResponseId: 'chatcmpl-1', upstreamCostNanodollars: 9 }

const { account, pool, periods } = createReserveOrder()
const checkpoint = { account, seq: 9, hash: new Uint8Array(16), balances: '{}', seal: new Uint8Array(16) }

const operations: readonly LedgerOperation[] = [
  toReserveOperation(createReserveOrder({ limits: { day: 1, week: 2, month: 3 }, amount: 40, minAmount: 5 })),
  toReserveOperation(createReserveOrder({ idempotency: { key: 'once', bodyHash: 'body' }, maxConcurrentTurns: 6 })),
  toEndingOperation({ kind: 'settle', ...createSettleOrder(7, 30) }),
  toEndingOperation({
    kind: 'settle',
    ...createSettleOrder(7, 30),
    disputed: { input: 8, output: 9 },
    outcome: 'aborted',
    details,
  }),
  toEndingOperation({ kind: 'refund', ...createRefundOrder(7) }),
  toGrantOperation(createGrantOrder('pack', 50)),
  toAdjustOperation({
    id: 'adj',
    account,
    pool,
    credits: -5,
    reason: 'a fault',
    at: noon,
    expiresAt: noon + 9,
    periods,
    limits: { day: 1, week: 2, month: 3 },
  }),
  toOpenWithUsageOperation({ account, pool, at: noon, periods, used: { day: 1, week: 2, month: 3 } }),
  { kind: 'expire', at: noon, monotonicMs: 5, except: [1, 2] },
  {
    kind: 'prune',
    step: { account, previousSeq: 3, checkpoint, turns: [1], buckets: [[2, 3]], sumsBefore: 5, packs: [['pack', 4]] },
  },
]

const results: readonly LedgerResult[] = [
  { kind: 'held', hold: { id: 3, credits: 40 }, left: { window: 'week', credits: 60, resetsAt: noon } },
  { kind: 'held', hold: { id: 3, credits: 40 } },
  { kind: 'insufficient', resetsAt: noon, window: 'week' },
  { kind: 'reserved_elsewhere' },
  { kind: 'concurrency_limit' },
  { kind: 'duplicate', state: 'settled', sameBody: true, requestId: 'mbr_1', aborted: false, credits: 8 },
  { kind: 'ended', applied: true, state: 'settled', credits: 30, debt: 4 },
  {
    kind: 'pack',
    pack: { id: 'p', account, kind: 'grant', pool, granted: 9, reserved: 1, settled: 2, expiresAt: noon, createdAt: 5 },
  },
  { kind: 'count', count: 2 },
  { kind: 'swept', expired: 3, recovered: 1 },
]

t.test('decodes every operation as it was encoded', async (t) => {
  for (const operation of operations)
    t.same(decodeOperation(structuredClone(encodeOperation(operation))), operation, operation.kind)
})

t.test('decodes every result as it was encoded', async (t) => {
  for (const result of results) t.same(decodeResult(structuredClone(encodeResult(result))), result, result.kind)
})
