/** A failed turn costs nothing, and the client is told so only when it is true. */
import t from 'tap'
import { refund } from '../../../plugins/refund.ts'
import { GatewayError } from '../../../src/errors.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import type { RefundOrder } from '../../../src/domain/billing/ledger.ts'
import { createTestExchange, createTestServices, noon } from '../../support/gateway/test-exchange.ts'

const failed = { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false } as const

function held(): Exchange & Pick<Slots, 'hold'> {
  const hold = { id: 7, credits: 100, inputEstimate: 1, outputCap: 16 }
  return Object.assign(createTestExchange({ lastAttempt: { target: 'main/m', status: 500 } }), { hold })
}

t.test('refunds the hold and records the failure', async (t) => {
  const orders: RefundOrder[] = []
  const { services } = createTestServices({
    ledger: {
      refund: async (order: RefundOrder) => (orders.push(order), { applied: true, state: 'refunded', credits: 0, debt: 0 }),
    },
  })
  const failedUsage = { inputTokens: 10, outputTokens: 5, estimated: true }
  const x = held()
  Object.assign(x.lastAttempt, { cost: { input: 2, cachedInput: null, output: 8, perCall: 0 }, model: 'm-7b', failedUsage })
  const attempts = [{ target: 'main/m', startedMs: 1, endedMs: 20, status: 500, failure: 'status' }]
  Object.assign(x, { attempts, firstTokenMonotonicMs: x.startedMonotonicMs + 11.6 })
  await refund.onSettle?.(x, failed, services)
  const trace = { firstTokenMs: 12, attempts }
  const details = { plan: null, upstreamModel: 'm-7b', upstreamResponseId: null, upstreamCostNanodollars: 60_000 }
  t.same(orders, [{ hold: 7, at: noon, code: 'upstream_error', target: 'main/m', upstreamStatus: 500, details, trace }])
  t.equal(x.debug.quotaRefunded, true)
})

t.test('reports an expired hold as refunded, but not a settled one', async (t) => {
  for (const [state, told] of [
    ['expired', true],
    ['settled', false],
  ] as const) {
    const { services } = createTestServices({ ledger: { refund: async () => ({ applied: false, state, credits: 0, debt: 0 }) } })
    const x = held()
    await refund.onSettle?.(x, failed, services)
    t.equal(x.debug.quotaRefunded, told, state)
  }
})

t.test('does not report a refund when the ledger fails', async (t) => {
  const { services } = createTestServices({ ledger: { refund: async () => Promise.reject(new Error('disk full')) } })
  const x = held()
  await t.rejects(Promise.resolve(refund.onSettle?.(x, failed, services)), /disk full/)
  t.equal(x.debug.quotaRefunded, undefined)
})

t.test('refunds failures only', async (t) => {
  const { services } = createTestServices({ ledger: { refund: () => t.fail('nothing to refund') } })
  const usage = { inputTokens: 1, outputTokens: 1, estimated: false }
  for (const kind of ['completed', 'aborted'] as const) await refund.onSettle?.(held(), { kind, usage }, services)
  t.pass()
})

t.test('does not refund a hold that was charged before a later call of the turn failed', async (t) => {
  // In the journal alone, the settlement would come after the refund.
  const { services } = createTestServices({ ledger: { refund: () => t.fail('the hold has ended') } })
  const x = Object.assign(held(), { chargedCredits: 12 })
  await refund.onSettle?.(x, failed, services)
  t.equal(x.debug.quotaRefunded, false)
})
