/** Subscriptions at Stripe: renewals, cancelling, changes of the plan and what they cost. */
import t from 'tap'
import type { Test } from 'tap'
import type { PlanPriceAtProvider } from '../../../../src/domain/billing/orders/payment-provider.ts'
import { createCheckout, dayMs, hourMs, openStripe, startMs } from './stripe-test-provider.ts'

const monthly = createCheckout({ renews: 'month' })
const max = { title: 'Max', money: { amount: 1900, currency: 'EUR' }, interval: 'month' } as const

/** Ordered now, for what it costs now. */
async function orderChange({ provider, clock, subscription }: Awaited<ReturnType<typeof subscribe>>, to: PlanPriceAtProvider) {
  const due = await provider.subscriptions.previewChange(subscription, to)
  return { order: 'ord_2', due, orderedAt: clock.now(), expiresAt: clock.now() + 23 * hourMs }
}

async function subscribe(t: Test) {
  const stripe = await openStripe(t)
  const { reference } = await stripe.provider.create(monthly)
  stripe.account.pay(reference)
  const facts = await stripe.provider.query({ reference })
  return { ...stripe, reference, facts, subscription: facts.subscription ?? '' }
}

t.test('the first payment names the subscription, and renewals are its invoices', async (t) => {
  const { provider, account, clock, facts, subscription } = await subscribe(t)
  t.match(facts, { state: 'paid', money: { amount: 900, currency: 'EUR' }, payment: /^pi_/, subscription: /^sub_/ })
  t.match(await provider.subscriptions.query(subscription), {
    state: 'active',
    invoices: [],
    nextChargeAt: Date.UTC(2026, 11, 28, 12),
  })
  clock.advance(30 * dayMs)
  account.renew(subscription)
  clock.advance(31 * dayMs)
  account.renew(subscription)
  const { invoices } = await provider.subscriptions.query(subscription)
  t.same(
    invoices.map(({ money, paidAt }) => [money.amount, paidAt]),
    [
      [900, startMs + 30 * dayMs],
      [900, startMs + 61 * dayMs],
    ],
    'oldest first, without the first payment',
  )
  t.not(invoices[0]?.payment, invoices[1]?.payment)
  const [renewal] = invoices
  t.match(await provider.query({ reference: renewal?.reference ?? '' }), {
    state: 'paid',
    payment: renewal?.payment,
    subscription,
  })
  account.refundInDashboard(renewal?.payment ?? '', 900)
  t.match(await provider.query({ reference: renewal?.reference ?? '' }), { refunded: 900 })
})

t.test('a renewal that was not paid is past due, and its invoice open', async (t) => {
  const { provider, account, subscription } = await subscribe(t)
  account.acceptsCharges = 'no'
  account.renew(subscription)
  t.match(await provider.subscriptions.query(subscription), { state: 'past_due', invoices: [], nextChargeAt: null })
  const invoice = String(account.get(subscription)['latest_invoice'])
  t.match(await provider.query({ reference: invoice }), { state: 'open', money: null })
  account.payInvoice(invoice)
  t.match(await provider.subscriptions.query(subscription), { state: 'active', invoices: [{ reference: invoice }] })
})

t.test('cancelling at the end and now can be repeated', async (t) => {
  const stripe = await subscribe(t)
  const { provider, account, subscription } = stripe
  const ordered = await orderChange(stripe, max)
  for (let times = 0; times < 2; times++) await provider.subscriptions.cancelAtEnd(subscription)
  t.match(await provider.subscriptions.query(subscription), { state: 'cancelled', nextChargeAt: null })
  for (let times = 0; times < 2; times++) await provider.subscriptions.cancelNow(subscription)
  t.match(await provider.subscriptions.query(subscription), { state: 'ended' })
  await provider.subscriptions.cancelAtEnd(subscription)
  t.equal(account.get(subscription)['status'], 'canceled')
  await t.rejects(provider.subscriptions.change(subscription, max, ordered), { reason: 'refused', message: /has ended/ })
})

t.test('the portal is opened for the customer of the subscription', async (t) => {
  const { provider, account, server, subscription } = await subscribe(t)
  const url = await provider.subscriptions.openPortal(subscription, 'https://models.example.com/account')
  t.equal(url, `https://billing.stripe.example/${String(account.get(subscription)['customer'])}`)
  server.fault = ({ path }) =>
    path === 'billing_portal/sessions'
      ? {
          status: 400,
          body: '{"error":{"type":"invalid_request_error","message":"No configuration provided and your test mode default configuration has not been created. Save your customer portal settings."}}',
        }
      : undefined
  await t.rejects(provider.subscriptions.openPortal(subscription, 'https://x.example'), {
    reason: 'misconfigured',
    message: /save them in the dashboard/,
  })
})

t.test('an upgrade costs what its preview said, hours later too, and once', async (t) => {
  const stripe = await subscribe(t)
  const { provider, account, clock, subscription } = stripe
  clock.advance(10 * dayMs + 3 * hourMs)
  const ordered = await orderChange(stripe, max)
  const preview = ordered.due
  clock.advance(15 * hourMs)
  const opened = await provider.subscriptions.change(subscription, max, ordered)
  t.match(opened, { reference: /^in_/, url: null })
  t.match(await provider.query(opened), { state: 'paid', money: preview, payment: /^pi_/, subscription })
  t.ok(preview.amount > 0 && preview.amount < 1000, `${preview.amount} of the difference of 1000`)
  const charges = account.list('charge').length
  t.same(await provider.subscriptions.change(subscription, max, ordered), opened, 'the answer was lost')
  clock.advance(2 * dayMs)
  t.same(await provider.subscriptions.change(subscription, max, ordered), opened, 'days later')
  t.equal(account.list('charge').length, charges)
  account.renew(subscription)
  t.match(
    (await provider.subscriptions.query(subscription)).invoices,
    [{ money: { amount: 1900 } }],
    'the renewal has the new price',
  )
})

t.test('an upgrade that the bank asks the member about changes nothing before it is paid', async (t) => {
  const stripe = await subscribe(t)
  const { provider, account, clock, subscription } = stripe
  clock.advance(dayMs)
  const ordered = await orderChange(stripe, max)
  account.acceptsCharges = 'asks'
  const opened = await provider.subscriptions.change(subscription, max, ordered)
  t.match(opened.url, /^https:\/\/invoice\.stripe\.example\//)
  t.match(await provider.query(opened), { state: 'open' })
  t.equal(account.get(subscription)['items'].data[0].price.unit_amount, 900)
  account.payInvoice(opened.reference)
  t.match(await provider.query(opened), { state: 'paid', subscription })
  t.equal(account.get(subscription)['items'].data[0].price.unit_amount, 1900)
})

t.test('an upgrade on the first day, and to a year, is charged by Stripe too', async (t) => {
  const stripe = await subscribe(t)
  const { provider, clock, subscription } = stripe
  clock.advance(hourMs)
  const year = { title: 'Pro', money: { amount: 9000, currency: 'EUR' }, interval: 'year' } as const
  const ordered = await orderChange(stripe, year)
  t.equal(ordered.due.amount, 8100, 'nothing of the month was used by days')
  const opened = await provider.subscriptions.change(subscription, year, ordered)
  t.match(await provider.query(opened), { state: 'paid', money: ordered.due })
})

t.test('an upgrade that costs another amount than was shown, or is old, charges nothing', async (t) => {
  const stripe = await subscribe(t)
  const { provider, account, clock, subscription } = stripe
  clock.advance(10 * dayMs)
  const ordered = await orderChange(stripe, max)
  const charges = account.list('charge').length
  const expectRefusal = (change: Partial<typeof ordered>) =>
    t.rejects(provider.subscriptions.change(subscription, max, { ...ordered, ...change }), {
      reason: 'refused',
      message: /^Nothing was charged/,
    })
  await expectRefusal({ due: { amount: ordered.due.amount - 1, currency: 'EUR' } })
  await expectRefusal({ due: { amount: ordered.due.amount, currency: 'USD' } })
  clock.advance(21 * dayMs)
  await expectRefusal({})
  account.renew(subscription)
  await expectRefusal({ expiresAt: clock.now() + hourMs })
  t.equal(account.list('charge').length, charges + 1, 'the renewal alone')
})

t.test('a lower price counts from the renewal on', async (t) => {
  const { provider, account, subscription } = await subscribe(t)
  const lite = { title: 'Lite', money: { amount: 500, currency: 'EUR' }, interval: 'month' } as const
  const charges = account.list('charge').length
  for (let times = 0; times < 2; times++) await provider.subscriptions.changeAtRenewal(subscription, lite)
  t.equal(account.list('charge').length, charges)
  account.renew(subscription)
  t.match((await provider.subscriptions.query(subscription)).invoices, [{ money: { amount: 500 } }])
  await t.rejects(provider.subscriptions.changeAtRenewal(subscription, { ...lite, interval: 'year' }), {
    name: 'PaymentProviderError',
    reason: 'refused',
  })
})
