/** The provider for demonstrations: what each choice becomes, and which notifications it accepts. */
import t from 'tap'
import type { Test } from 'tap'
import type { Checkout, RawNotification } from '../../../src/domain/billing/orders/payment-provider.ts'
import { DemoProvider, lateMs } from '../../../src/payments/demo/demo-provider.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

const checkout: Checkout = {
  order: 'ord_1',
  number: '2026-000001',
  account: { id: 'acc_1', email: 'mei@example.com' },
  title: 'Pro, 1 month',
  money: { amount: 900, currency: 'EUR' },
  renews: null,
  returnUrl: 'http://127.0.0.1:8787/account/orders/ord_1',
  cancelUrl: 'http://127.0.0.1:8787/plans',
  notifyUrl: 'http://127.0.0.1:8787/payments/demo/notify',
  language: 'en',
  expiresAt: 1_000_000,
}
const payment = { order: 'ord_1', reference: 'ord_1', payment: null }

interface Sent {
  readonly url: string
  readonly notification: RawNotification
}

function openProvider(t: Test, folder = createTemporaryFolder(t)) {
  const clock = new SimulatedClock({ now: 0 })
  const sent: Sent[] = []
  const fetch = (async (url: string, { headers, body }: { headers: Record<string, string>; body: Uint8Array }) => {
    sent.push({ url, notification: { method: 'POST', headers, query: '', body: Buffer.from(body), receivedAt: clock.now() } })
    return new Response()
  }) as unknown as typeof globalThis.fetch
  return { clock, sent, folder, provider: new DemoProvider({ folder, clock, secret: Buffer.alloc(32, 7), fetch }) }
}

t.test('a repeated creation is the same payment, whose page is of the site itself', async (t) => {
  const { provider } = openProvider(t)
  const opened = await provider.create(checkout)
  t.same(opened, { reference: 'ord_1', url: 'http://127.0.0.1:8787/payments/demo/ord_1', instructions: null })
  t.same(await provider.create({ ...checkout, money: { amount: 1, currency: 'EUR' } }), opened)
  t.same(provider.find('ord_1')?.money, checkout.money, 'the first amount stays')
  t.match(await provider.query(payment), { state: 'open', money: null })
})

t.test('each choice becomes what its button says', async (t) => {
  for (const [choice, state, notifications] of [
    ['pay', 'paid', 1],
    ['lose', 'paid', 0],
    ['late', 'pending', 0],
    ['fail', 'closed', 1],
  ] as const) {
    const { provider, sent, clock } = openProvider(t)
    await provider.create(checkout)
    await provider.choose('ord_1', choice)
    const facts = await provider.query(payment)
    t.equal(facts.state, state, choice)
    t.same(facts.money, choice === 'fail' ? null : checkout.money, choice)
    t.equal(sent.length, notifications, `${choice} sends ${notifications}`)
    if (choice !== 'late') continue
    await clock.run(lateMs)
    t.equal((await provider.query(payment)).state, 'paid', 'a minute later')
    t.equal(sent.length, 1, 'and it is notified then')
  }
})

t.test('the first choice counts, also of two threads', async (t) => {
  const { provider, folder } = openProvider(t)
  await provider.create(checkout)
  const other = openProvider(t, folder)
  await Promise.all([provider.choose('ord_1', 'pay'), other.provider.choose('ord_1', 'fail')])
  t.equal((await other.provider.query(payment)).state, 'paid')
  await provider.cancel(payment)
  t.equal((await provider.query(payment)).state, 'paid', 'what is paid is not closed')
})

t.test('what was not paid in time, or was closed, is never paid', async (t) => {
  const { provider, clock } = openProvider(t)
  await provider.create(checkout)
  await provider.create({ ...checkout, order: 'ord_2' })
  await provider.cancel({ ...payment, order: 'ord_2', reference: 'ord_2' })
  await provider.choose('ord_2', 'pay')
  t.equal((await provider.query({ reference: 'ord_2' })).state, 'closed')
  clock.advance(checkout.expiresAt)
  await provider.choose('ord_1', 'pay')
  t.equal((await provider.query(payment)).state, 'closed')
})

t.test('a refund is made once, and never of more than was paid', async (t) => {
  const { provider } = openProvider(t)
  await provider.create(checkout)
  const half = { amount: 500, currency: 'EUR' }
  await t.rejects(provider.refund(payment, half, 'ref_1'), { name: 'PaymentProviderError', reason: 'refused' })
  await provider.choose('ord_1', 'pay')
  for (let times = 0; times < 2; times++)
    t.same(await provider.refund(payment, half, 'ref_1'), { state: 'done', reference: 'ref_1' })
  t.equal((await provider.query(payment)).refunded, 500)
  await t.rejects(provider.refund(payment, half, 'ref_2'), { name: 'PaymentProviderError', reason: 'refused' })
})

t.test('only a notification that it signed within five minutes is a hint', async (t) => {
  const { provider, sent, clock } = openProvider(t)
  await provider.create(checkout)
  await provider.choose('ord_1', 'pay')
  const notification = sent[0]?.notification
  if (notification === undefined) throw new Error('none was sent')
  t.match(await provider.readNotification(notification), { hints: [{ kind: 'order', order: 'ord_1' }], answer: { status: 200 } })
  t.match(await provider.readNotification(await provider.diagnose.signTestNotification()), { hints: [] })
  const signed = notification.headers['demo-signature'] ?? ''
  for (const [what, change, reason] of [
    ['without a signature', { headers: {} }, 'signature'],
    ['with rubbish in its place', { headers: { 'demo-signature': 't=1,v1=xyz' } }, 'signature'],
    ['of another time', { headers: { 'demo-signature': signed.replace(/^t=\d+/, 't=1') } }, 'signature'],
    ['with another body', { body: Buffer.from('{"order":"ord_2"}') }, 'signature'],
    ['sent again later', { receivedAt: clock.now() + 300_001 }, 'stale'],
  ] as const)
    await t.rejects(
      provider.readNotification({ ...notification, ...change }),
      { name: 'PaymentNotificationError', reason },
      `a notification ${what} is refused`,
    )
})

t.test('an address that names a file is no payment', async (t) => {
  const { provider } = openProvider(t)
  await provider.create(checkout)
  for (const reference of ['../secret', 'ord_1.json', '', 'x'.repeat(65)]) t.equal(provider.find(reference), undefined)
  await t.rejects(provider.create({ ...checkout, order: '../x' }), RangeError)
})
