/** Payments once: what is sent to Stripe, what its answers become, and every way in which they fail. */
import t from 'tap'
import { fromStripeAmount, toStripeAmount } from '../../../../src/payments/stripe/stripe-amounts.ts'
import { createCheckout, dayMs, hourMs, openStripe, startMs } from './stripe-test-provider.ts'

const at = (reference: string, payment: string | null = null) => ({ order: 'ord_1', reference, payment })

t.test('an order becomes a session with its amount, its time and its own key', async (t) => {
  const { provider, server } = await openStripe(t, { automaticTax: true })
  const { reference, url } = await provider.create(createCheckout({ language: 'zh' }))
  t.match(url, /^https:\/\/checkout\.stripe\.example\//)
  const [request] = server.requests
  t.equal(request?.headers['idempotency-key'], 'ord_1-checkout')
  t.notOk(request?.headers['x-stripe-client-telemetry'])
  t.match(request?.parameters, {
    mode: 'payment',
    line_items: { 0: { quantity: '1', price_data: { currency: 'eur', unit_amount: '900', tax_behavior: 'inclusive' } } },
    metadata: { svc_gateway_order: 'ord_1' },
    automatic_tax: { enabled: 'true' },
    adaptive_pricing: { enabled: 'false' },
    customer_email: 'mei@example.com',
    locale: 'zh',
    expires_at: String((startMs + 23 * hourMs) / 1000),
  })
  t.same(await provider.query({ reference }), {
    state: 'open',
    money: null,
    payment: null,
    refunded: 0,
    dispute: 'none',
    subscription: null,
  })
})

t.test('a repeated creation is the same session, also after a lost answer', async (t) => {
  const { provider, server, account } = await openStripe(t)
  server.fault = ({ method }) => (method === 'POST' && server.requests.length === 1 ? 'lost' : undefined)
  const opened = await provider.create(createCheckout())
  t.same(await provider.create(createCheckout()), opened)
  t.equal(account.list('checkout.session').length, 1)
  await t.rejects(provider.create(createCheckout({ money: { amount: 1, currency: 'EUR' } })), {
    reason: 'refused',
    message: /this order with other data/,
  })
})

t.test('an address that Stripe does not take is left out, and the session is still one', async (t) => {
  const { provider, server, account } = await openStripe(t)
  server.fault = ({ parameters }) =>
    parameters['customer_email'] === undefined
      ? undefined
      : {
          status: 400,
          body: '{"error":{"type":"invalid_request_error","code":"email_invalid","param":"customer_email","message":"Invalid email address"}}',
        }
  const opened = await provider.create(createCheckout())
  t.same(await provider.create(createCheckout()), opened)
  t.equal(account.list('checkout.session').length, 1)
})

t.test('each state of a session is a state of the payment', async (t) => {
  const { provider, account, clock } = await openStripe(t)
  const paid = (await provider.create(createCheckout())).reference
  account.pay(paid)
  const facts = await provider.query({ reference: paid })
  t.match(facts, { state: 'paid', money: { amount: 900, currency: 'EUR' }, payment: /^pi_/, refunded: 0, dispute: 'none' })
  const slow = (await provider.create(createCheckout({ order: 'ord_2' }))).reference
  account.pay(slow, { slow: true })
  t.match(await provider.query({ reference: slow }), { state: 'pending', money: null })
  account.settle(slow, false)
  t.match(await provider.query({ reference: slow }), { state: 'closed', money: null, reason: 'The transfer was returned.' })
  const other = (await provider.create(createCheckout({ order: 'ord_3' }))).reference
  account.pay(other, { slow: true })
  account.settle(other, true)
  t.match(await provider.query({ reference: other }), { state: 'paid', money: { amount: 900 } })
  const closed = (await provider.create(createCheckout({ order: 'ord_4' }))).reference
  for (let times = 0; times < 2; times++) await provider.cancel(at(closed))
  t.match(await provider.query({ reference: closed }), { state: 'closed' })
  await provider.cancel(at(paid))
  t.match(await provider.query({ reference: paid }), { state: 'paid' }, 'what is paid stays paid')
  clock.advance(dayMs)
  t.throws(() => account.pay(closed))
})

t.test('a refund is made once, also a week later, and shows in the payment', async (t) => {
  const { provider, account, clock, server } = await openStripe(t)
  const { reference } = await provider.create(createCheckout())
  account.pay(reference)
  const { payment } = await provider.query({ reference })
  const half = { amount: 450, currency: 'EUR' }
  const first = await provider.refund(at(reference, payment), half, 'ref_1')
  t.match(first, { state: 'done', reference: /^re_/ })
  clock.advance(7 * dayMs)
  t.same(await provider.refund(at(reference), half, 'ref_1'), first)
  t.equal(server.requests.filter(({ path, method }) => path === 'refunds' && method === 'POST').length, 1)
  t.match(await provider.query({ reference }), { state: 'paid', refunded: 450, money: { amount: 900 } })
  account.refundInDashboard(payment ?? '', 450)
  t.match(await provider.query({ reference }), { refunded: 900 })
  await t.rejects(provider.refund(at(reference, payment), half, 'ref_2'), { name: 'PaymentProviderError', reason: 'refused' })
})

t.test('nothing can be refunded before it was paid', async (t) => {
  const { provider } = await openStripe(t)
  const { reference } = await provider.create(createCheckout())
  await t.rejects(provider.refund(at(reference), { amount: 1, currency: 'EUR' }, 'ref_1'), {
    name: 'PaymentProviderError',
    reason: 'refused',
  })
})

t.test('a dispute shows until its end', async (t) => {
  for (const [end, dispute] of [
    ['won', 'won'],
    ['lost', 'lost'],
    ['warning_closed', 'none'],
  ] as const) {
    const { provider, account } = await openStripe(t)
    const { reference } = await provider.create(createCheckout())
    account.pay(reference)
    const { payment } = await provider.query({ reference })
    const id = account.dispute(payment ?? '')
    t.match(await provider.query({ reference }), { state: 'paid', dispute: 'open' })
    account.closeDispute(id, end)
    t.match(await provider.query({ reference }), { dispute }, end)
  }
})

t.test('amounts are those of the API in currencies of every kind', async (t) => {
  for (const [currency, amount, stripeAmount] of [
    ['EUR', 1200, 1200],
    ['JPY', 1200, 1200],
    ['KRW', 12_000, 12_000],
    ['KWD', 12_500, 12_500],
    ['ISK', 1200, 120_000],
    ['UGX', 5, 500],
    ['MGA', 120_000, 1200],
    ['TWD', 1200, 1200],
  ] as const) {
    t.equal(toStripeAmount({ amount, currency }), stripeAmount, currency)
    t.same(fromStripeAmount(stripeAmount, currency.toLowerCase()), { amount, currency })
  }
  t.throws(() => toStripeAmount({ amount: 12_345, currency: 'KWD' }), {
    reason: 'misconfigured',
    message: /in steps of 0\.010 KWD, not 12\.345 KWD/,
  })
  t.throws(() => toStripeAmount({ amount: 1250, currency: 'MGA' }), { name: 'PaymentProviderError', reason: 'misconfigured' })
  t.throws(() => fromStripeAmount(150, 'isk'), { name: 'PaymentProviderError', reason: 'unavailable' })
})

t.test('each failure is told in words, with the setting that cures it and without a key or an address', async (t) => {
  const refuse = (status: number, error: object) => ({ status, body: JSON.stringify({ error }) })
  const invalid = (message: string, code?: string) => refuse(400, { type: 'invalid_request_error', message, code })
  for (const [what, fault, expected] of [
    ['rubbish', { status: 200, body: '<html>' }, { reason: 'unavailable' }],
    ['deep rubbish', { status: 200, body: '['.repeat(100_000) }, { reason: 'unavailable' }],
    ['endless rubbish', { status: 200, body: `"${'x'.repeat(2 ** 21)}"` }, { reason: 'unavailable' }],
    ['a fault of its own', refuse(500, { type: 'api_error', message: 'sk_live_abc failed' }), { reason: 'unavailable' }],
    ['too many requests', refuse(429, { type: 'rate_limit_error', message: 'slow down' }), { reason: 'unavailable' }],
    ['a key that is none', refuse(401, { type: 'invalid_request_error' }), { reason: 'misconfigured', setting: /secretKey/ }],
    [
      'a restricted key',
      refuse(403, { type: 'invalid_request_error', message: "The provided key 'rk_test_abc' has no permission" }),
      { reason: 'misconfigured', setting: /secretKey/, message: /no permission/ },
    ],
    [
      'a key of the other mode',
      invalid('No such session; a similar object exists in live mode, but a test mode key was used.', 'resource_missing'),
      { reason: 'misconfigured', setting: /secretKey/ },
    ],
    [
      'tax without a registration',
      invalid('You must set a valid head office address to enable automatic tax calculation.'),
      { reason: 'misconfigured', setting: /automaticTax/ },
    ],
    ['an amount below its least', invalid('Amount must be at least 50 cents', 'amount_too_small'), { setting: 'prices' }],
    ['an address that is none', invalid('Invalid email address: mei@example'), { reason: 'refused' }],
  ] as const) {
    const { provider, server } = await openStripe(t)
    server.fault = () => fault
    const error = await provider.create(createCheckout()).catch((thrown: unknown) => thrown as Error)
    t.match(error, { name: 'PaymentProviderError', ...expected }, what)
    t.notMatch((error as Error).message, /[sr]k_\w|@/, what)
  }
})

t.test('a Stripe that does not answer is given up in bounded time', async (t) => {
  const { provider, server, clock } = await openStripe(t)
  server.fault = () => 'hang'
  const asked = provider.query({ reference: 'cs_1' }).catch((error: unknown) => error)
  for (let requests = 1; requests <= 2; requests++) {
    while (server.requests.length < requests) await clock.wait(1)
    clock.advance(10_001)
  }
  t.match(await asked, { reason: 'unavailable', message: /could not be reached/ })
  t.equal(server.requests.length, 2, 'it is asked twice')
})

t.test('no key is sent anywhere else by a redirect', async (t) => {
  const { provider, server } = await openStripe(t)
  const other = await openStripe(t)
  server.fault = ({ target }) => ({ status: 307, body: '', location: `${other.server.url}${target}` })
  await t.rejects(provider.query({ reference: 'cs_1' }), { name: 'PaymentProviderError' })
  t.equal(other.server.requests.length, 0)
})
