/** A failed turn costs nothing, and the caller is told so only when it is true. */
import t from 'tap'
import { refund } from '../../plugins/refund.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Exchange, Slots } from '../../src/exchange/exchange.ts'
import type { RefundOrder } from '../../src/membership/ledger.ts'
import { anExchange, fewServices, noon } from '../support/exchange.ts'

const failed = { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false } as const

function held(): Exchange & Pick<Slots, 'hold'> {
  const hold = { id: 7, credits: 100, inputEstimate: 1, outputCap: 16 }
  return Object.assign(anExchange({ attempted: { target: 'main/m', status: 500 } }), { hold })
}

t.test('the hold goes back, with what is known of the failure', async (t) => {
  const orders: RefundOrder[] = []
  const { services } = fewServices({
    ledger: {
      refund: async (order: RefundOrder) => (orders.push(order), { done: true, state: 'refunded', credits: 0, debt: 0 }),
    },
  })
  const x = held()
  await refund.onSettle?.(x, failed, services)
  t.same(orders, [{ hold: 7, at: noon, code: 'upstream_error', target: 'main/m', upstreamStatus: 500 }])
  t.equal(x.debug.quotaRefunded, true)
})

t.test('what had expired was given back as well; what was settled was not', async (t) => {
  for (const [state, told] of [
    ['expired', true],
    ['settled', false],
  ] as const) {
    const { services } = fewServices({ ledger: { refund: async () => ({ done: false, state, credits: 0, debt: 0 }) } })
    const x = held()
    await refund.onSettle?.(x, failed, services)
    t.equal(x.debug.quotaRefunded, told, state)
  }
})

t.test('a ledger that fails promises nothing', async (t) => {
  const { services } = fewServices({ ledger: { refund: async () => Promise.reject(new Error('disk full')) } })
  const x = held()
  await t.rejects(Promise.resolve(refund.onSettle?.(x, failed, services)), /disk full/)
  t.equal(x.debug.quotaRefunded, undefined)
})

t.test('only failures are refunded', async (t) => {
  const { services } = fewServices({ ledger: { refund: () => t.fail('nothing to refund') } })
  const usage = { inputTokens: 1, outputTokens: 1, estimated: false }
  for (const kind of ['completed', 'aborted'] as const) await refund.onSettle?.(held(), { kind, usage }, services)
  t.pass()
})
