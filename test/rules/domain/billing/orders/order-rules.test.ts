/** The states of an order, by each answer that a provider can give. */
import t from 'tap'
import { unpaidOrder } from '../../../../../src/domain/billing/orders/order.ts'
import type { Order, OrderState } from '../../../../../src/domain/billing/orders/order.ts'
import {
  computeNextCheck,
  findPaymentProblem,
  lateMs,
  recordAfterPayment,
  recordClosed,
  recordFailure,
  recordOpened,
  recordUnpaid,
} from '../../../../../src/domain/billing/orders/order-rules.ts'
import type { PaymentFacts } from '../../../../../src/domain/billing/orders/payment-provider.ts'

const now = Date.parse('2026-05-13T12:00:00Z')
const hour = 3_600_000
const eur = (amount: number) => ({ amount, currency: 'EUR' })

function createOrder(change: Partial<Order> = {}): Order {
  return {
    ...unpaidOrder,
    id: 'ord_1',
    number: '2026-000001',
    account: 'acc_1',
    requestId: 'request',
    item: { kind: 'pack', pack: 'small', pool: 'fast', credits: 100, days: 30 },
    event: 'pack',
    price: eur(1_000),
    credit: 0,
    formerSubscription: null,
    due: eur(1_000),
    provider: 'stand-in',
    language: 'en',
    reference: 'chk_1',
    providerSubscription: null,
    renews: false,
    url: 'https://pay.example',
    state: 'sent',
    createdAt: now,
    expiresAt: now + 23 * hour,
    sentAt: now,
    nextCheckAt: now,
    checks: 1,
    checkedAt: null,
    buyer: [],
    version: 1,
    ...change,
  }
}

const createFacts = (change: Partial<PaymentFacts> = {}): PaymentFacts => ({
  state: 'open',
  money: null,
  payment: null,
  refunded: 0,
  dispute: 'none',
  subscription: null,
  ...change,
})

const paidFacts = (amount = 1_000, currency = 'EUR') =>
  createFacts({ state: 'paid', money: { amount, currency }, payment: 'pay_1' })

t.test('an answer about an order that is not paid', async (t) => {
  for (const [state, facts, at, expected, steps] of [
    ['sent', createFacts(), now, 'sent', []],
    ['sent', createFacts({ state: 'pending' }), now, 'sent', []],
    ['sent', paidFacts(), now, 'paid', ['paid']],
    ['sent', createFacts({ state: 'closed' }), now, 'cancelled', ['cancelled']],
    ['sent', createFacts({ state: 'closed' }), now + 24 * hour, 'expired', ['expired']],
    ['expired', createFacts(), now, 'expired', []],
    ['expired', createFacts({ state: 'closed' }), now, 'expired', []],
    ['expired', paidFacts(), now, 'paid', ['paid']],
    ['cancelled', paidFacts(), now, 'paid', ['paid']],
    ['sent', createFacts({ state: 'paid' }), now, 'sent', []],
  ] as const) {
    const result = recordUnpaid(createOrder({ state }), facts, at, 'sweep')
    t.equal(result.order.state, expected, `${state} ${facts.state}`)
    t.same(
      result.steps.map(({ kind }) => kind),
      steps,
    )
  }
})

t.test('money pays an order if it is of its currency, and what is due or more', async (t) => {
  for (const [amount, currency, problem] of [
    [1_000, 'EUR', null],
    [1_190, 'EUR', null],
    [999, 'EUR', 'amount'],
    [0, 'EUR', 'amount'],
    [100_000, 'USD', 'currency'],
  ] as const)
    t.equal(findPaymentProblem(createOrder(), { amount, currency }), problem, `${amount} ${currency}`)
})

t.test('the pauses between questions grow to six hours', async (t) => {
  t.same(
    [0, 1, 2, 3, 4, 5, 6, 100].map((checks) => (computeNextCheck({ checks }, 0) / 60_000).toFixed(2)),
    ['0.33', '1.00', '5.00', '15.00', '60.00', '360.00', '360.00', '360.00'],
  )
})

t.test('a closed order is asked about for three days more, if the provider has it', async (t) => {
  t.equal(recordClosed(createOrder({ reference: null }), 'cancelled', now, 'member').order.nextCheckAt, null)
  let order = recordClosed(createOrder(), 'expired', now, 'sweep').order
  let asked = 0
  while (order.nextCheckAt !== null && asked < 100) {
    asked += 1
    t.ok(order.nextCheckAt <= now + lateMs)
    order = recordUnpaid(order, createFacts(), order.nextCheckAt, 'sweep').order
  }
  t.ok(asked > 5 && asked < 20, `${asked} times`)
})

t.test('a failure has one row of the story until it changes, and an answer ends it', async (t) => {
  const failure = { reason: 'unavailable', message: 'no answer', setting: null } as const
  const first = recordFailure(createOrder(), failure, now, 'sweep')
  t.match(first, { order: { failure, state: 'sent' }, steps: [{ kind: 'provider_failed' }] })
  t.same(recordFailure(first.order, { ...failure, message: 'still none' }, now, 'sweep').steps, [])
  const other = { reason: 'misconfigured', message: 'wrong key', setting: 'payments.providers.stripe.secretKey' } as const
  t.equal(recordFailure(first.order, other, now, 'sweep').steps.length, 1)
  t.equal(recordUnpaid(first.order, createFacts(), now, 'sweep').order.failure, null)
})

t.test('an opened transfer has fourteen days', async (t) => {
  const opened = { reference: 'r', url: null, instructions: 'Transfer it' }
  t.equal(recordOpened(createOrder({ state: 'created' }), opened, now, 'member').order.expiresAt, now + 14 * 24 * hour)
  const page = { reference: 'r', url: 'https://pay.example', instructions: null }
  t.equal(recordOpened(createOrder({ state: 'created' }), page, now, 'member').order.expiresAt, now + 23 * hour)
})

t.test('an answer about an order that is paid', async (t) => {
  const paid = { paid: eur(1_000), paidAt: now, payment: 'pay_1' }
  for (const [state, change, expected, steps, takesBack] of [
    ['granted', {}, 'granted', [], false],
    ['granted', { refunded: 400 }, 'granted', ['refunded_at_provider'], false],
    ['granted', { refunded: 1_000 }, 'refunded', ['refunded_at_provider'], true],
    ['paid', { refunded: 1_000 }, 'refunded', ['refunded_at_provider'], true],
    ['granted', { dispute: 'open' }, 'disputed', ['disputed'], false],
    ['granted', { dispute: 'lost' }, 'refunded', ['dispute_lost'], true],
    ['disputed', { dispute: 'open' }, 'disputed', [], false],
    ['disputed', { dispute: 'won' }, 'granted', ['dispute_won'], false],
    ['disputed', { dispute: 'lost' }, 'refunded', ['dispute_lost'], true],
    ['granted', { dispute: 'won' }, 'granted', [], false],
  ] as const satisfies readonly (readonly [OrderState, Partial<PaymentFacts>, OrderState, readonly string[], boolean])[]) {
    const result = recordAfterPayment(createOrder({ ...paid, state }), { ...paidFacts(), ...change }, now, 'sweep')
    t.equal(result.order.state, expected, `${state} ${JSON.stringify(change)}`)
    t.same(
      result.steps.map(({ kind }) => kind),
      steps,
    )
    t.equal(result.takesBack, takesBack)
  }
})

t.test('an order whose renewals are asked for stays due, and another granted one does not', async (t) => {
  const granted = { state: 'granted', paid: eur(1_000), paidAt: now } as const
  t.equal(recordAfterPayment(createOrder(granted), paidFacts(), now, 'sweep').order.nextCheckAt, null)
  const renewing = createOrder({ ...granted, providerSubscription: 'psub_1' })
  t.ok((recordAfterPayment(renewing, paidFacts(), now, 'sweep').order.nextCheckAt ?? 0) > now)
})
