/** The addresses to which payment providers send notifications. */
import t from 'tap'
import type { Test } from 'tap'
import { PaymentProviderError } from '../../../../src/domain/billing/orders/payment-provider.ts'
import type { NotificationAnswer, RawNotification } from '../../../../src/domain/billing/orders/payment-provider.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'

interface Received {
  readonly provider: string
  readonly notification: RawNotification
}

/** A gateway whose orders are scripted: this is about the way to them. */
async function startShop(t: Test, answer: () => Promise<NotificationAnswer> = async () => ({ status: 200, body: 'success' })) {
  const gateway = await startGateway(t, { payments: { demo: true } })
  const received: Received[] = []
  const orders = {
    async receive(provider: string, notification: RawNotification) {
      received.push({ provider, notification })
      return answer()
    },
  }
  Object.assign(gateway.services, { orders })
  return { gateway, received, address: `${gateway.url}/payments/demo/notify` }
}

t.test('a notification arrives as the bytes that were sent, whatever their type', async (t) => {
  const { address, received } = await startShop(t)
  const body = Buffer.from([0x7b, 0x00, 0xff, 0xc3, 0x28, 0x0d, 0x0a])
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/xml', null]) {
    const headers = {
      'Stripe-Signature': 't=1,v1=abc',
      'sec-fetch-site': 'cross-site',
      ...(type === null ? {} : { 'content-type': type }),
    }
    const answer = await fetch(address, { method: 'POST', headers, body })
    t.equal(answer.status, 200, String(type))
    t.equal(await answer.text(), 'success')
    t.match(answer.headers.get('content-type'), 'text/plain')
  }
  t.equal(received.length, 4)
  for (const { provider, notification } of received) {
    t.equal(provider, 'demo')
    t.equal(notification.method, 'POST')
    t.ok(notification.body.equals(body))
    t.equal(notification.headers['stripe-signature'], 't=1,v1=abc')
  }
})

t.test('a GET request brings its query as it was sent', async (t) => {
  const { address, received } = await startShop(t)
  t.equal((await fetch(`${address}?money=1.00&name=a%20b+c&sign=00`)).status, 200)
  t.match(received, [{ notification: { method: 'GET', query: 'money=1.00&name=a%20b+c&sign=00' } }])
  t.equal(received[0]?.notification.body.length, 0)
})

t.test('a refusal of the provider is answered in plain text', async (t) => {
  const { address } = await startShop(t, async () => ({ status: 400, body: 'signature' }))
  const answer = await fetch(address, { method: 'POST', body: '{}' })
  t.same([answer.status, await answer.text()], [400, 'signature'])
})

t.test('a provider that cannot be asked lets the notification be sent again', async (t) => {
  const { address } = await startShop(t, () => Promise.reject(new PaymentProviderError('unavailable', 'no answer')))
  const answer = await fetch(address, { method: 'POST', body: '{}' })
  t.equal(answer.status, 503)
  t.ok(answer.headers.get('retry-after'))
})

t.test('a body of more than 256 KiB is refused and not passed on', async (t) => {
  const { address, received } = await startShop(t)
  t.equal((await fetch(address, { method: 'POST', body: Buffer.alloc(256 * 1024) })).status, 200)
  t.equal((await fetch(address, { method: 'POST', body: Buffer.alloc(256 * 1024 + 1) })).status, 413)
  t.equal(received.length, 1)
})

t.test('there is no such address where there is no such provider', async (t) => {
  const { gateway, received } = await startShop(t)
  for (const provider of ['stripe', '__proto__', 'constructor', 'toString', '%2e%2e'])
    for (const method of ['GET', 'POST'])
      t.equal((await fetch(`${gateway.url}/payments/${provider}/notify`, { method })).status, 404, `${method} ${provider}`)
  t.equal(received.length, 0)
  const other = await startGateway(t)
  t.equal((await fetch(`${other.url}/payments/demo/notify`, { method: 'POST', body: '{}' })).status, 404)
})

t.test('only so many are handled at once, and the others are to come again', async (t) => {
  const held = Promise.withResolvers<NotificationAnswer>()
  const { address, received } = await startShop(t, () => held.promise)
  let refused = 0
  const answers = Array.from({ length: 40 }, async () => {
    const answer = await fetch(address, { method: 'POST', body: '{}' })
    if (answer.status === 503) refused++
    return answer
  })
  await waitUntil(() => received.length + refused === 40, 'all of them to be handled or refused')
  held.resolve({ status: 200, body: 'success' })
  const all = await Promise.all(answers)
  t.equal(all.filter(({ status }) => status === 200).length, 32)
  t.equal(all.filter(({ status }) => status === 503).length, 8)
  t.equal(received.length, 32)
  t.equal((await fetch(address, { method: 'POST', body: '{}' })).status, 200, 'there is room again')
})

t.test('neither a body nor a query is logged, also where handling it fails', async (t) => {
  const { address, gateway } = await startShop(t, () => Promise.reject(new Error('a fault')))
  t.equal((await fetch(`${address}?sign=query-of-a-member`)).status, 500)
  t.equal((await fetch(address, { method: 'POST', body: 'body-of-a-member' })).status, 500)
  t.notMatch(gateway.log.join('\n'), /of-a-member/)
})

t.test('what was paid at the demonstration arrives as its notification', async (t) => {
  const { gateway, received, address } = await startShop(t)
  const demo = gateway.services.paymentProviders.get('demo')
  const opened = await demo?.create({
    order: 'ord_1',
    number: '2026-000001',
    account: { id: 'acc_1', email: null },
    title: 'Pro',
    money: { amount: 900, currency: 'EUR' },
    renews: null,
    returnUrl: `${gateway.url}/plans`,
    cancelUrl: `${gateway.url}/plans`,
    notifyUrl: address,
    language: 'en',
    expiresAt: gateway.services.clock.now() + 3_600_000,
  })
  const page = await (await fetch(opened?.url ?? '')).text()
  const form = /name="form" value="([^"]*)"/.exec(page)?.[1] ?? ''
  const body = new URLSearchParams({ form, action: 'pay', subject: '', time_zone: '' })
  await fetch(opened?.url ?? '', { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' }, body, redirect: 'manual' })
  const [first] = received
  if (first === undefined) return t.fail('no notification arrived')
  t.match(await demo?.readNotification(first.notification), { hints: [{ kind: 'order', order: 'ord_1' }] })
})
