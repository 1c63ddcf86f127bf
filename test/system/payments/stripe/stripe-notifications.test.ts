/** Stripe's events: which are accepted, what they hint at, and what is said about the others. */
import { createHmac } from 'node:crypto'
import t from 'tap'
import { stripeWebhookSecret } from '../../../support/servers/stripe/stripe-server.ts'
import { createCheckout, hourMs, openStripe, toNotification } from './stripe-test-provider.ts'

t.test('each event hints at its order, payment or subscription', async (t) => {
  const { provider } = await openStripe(t)
  for (const [type, object, hints] of [
    [
      'checkout.session.completed',
      { object: 'checkout.session', id: 'cs_1', metadata: { svc_gateway_order: 'ord_1' } },
      [{ kind: 'order', order: 'ord_1' }],
    ],
    [
      'checkout.session.completed',
      { object: 'checkout.session', id: 'cs_1', metadata: {} },
      [{ kind: 'reference', reference: 'cs_1' }],
    ],
    ['charge.refunded', { object: 'charge', payment_intent: 'pi_1' }, [{ kind: 'payment', payment: 'pi_1' }]],
    ['refund.failed', { object: 'refund', payment_intent: { id: 'pi_1' } }, [{ kind: 'payment', payment: 'pi_1' }]],
    ['charge.dispute.created', { object: 'dispute', payment_intent: 'pi_1' }, [{ kind: 'payment', payment: 'pi_1' }]],
    ['payment_intent.succeeded', { object: 'payment_intent', id: 'pi_1' }, [{ kind: 'payment', payment: 'pi_1' }]],
    ['customer.subscription.deleted', { object: 'subscription', id: 'sub_1' }, [{ kind: 'subscription', reference: 'sub_1' }]],
    [
      'invoice.paid',
      { object: 'invoice', id: 'in_1', parent: { subscription_details: { subscription: 'sub_1' } } },
      [
        { kind: 'reference', reference: 'in_1' },
        { kind: 'subscription', reference: 'sub_1' },
      ],
    ],
    [
      'invoice.paid of an older version',
      { object: 'invoice', subscription: 'sub_1' },
      [{ kind: 'subscription', reference: 'sub_1' }],
    ],
    ['customer.created', { object: 'customer', id: 'cus_1' }, []],
    ['charge.refunded without an intent', { object: 'charge', payment_intent: null }, []],
  ] as const) {
    const { account, provider: own, clock } = await openStripe(t)
    const signed = account.sign({ id: 'evt_1', type, object })
    t.same(
      await own.readNotification(toNotification(signed, clock.now())),
      { id: 'evt_1', hints, answer: { status: 200, body: 'ok' } },
      type,
    )
  }
  t.equal(provider.name, 'stripe')
})

t.test('what Stripe did not sign, or signed long ago, is refused with the reason', async (t) => {
  const { provider, account, clock } = await openStripe(t)
  const { reference } = await provider.create(createCheckout())
  account.pay(reference)
  const [event] = account.events
  if (event === undefined) throw new Error('paying makes an event')
  const now = clock.now()
  const good = toNotification(account.sign(event), now)
  t.match(await provider.readNotification(good), { hints: [{ kind: 'order', order: 'ord_1' }] })
  t.match(
    await provider.readNotification(toNotification(account.sign(event, { at: now + 6 * hourMs }), now + 6 * hourMs)),
    { id: event.id },
    'one that comes hours late is signed anew',
  )
  const header = good.headers['stripe-signature'] ?? ''
  for (const [what, change, expected] of [
    ['without a signature', { headers: {} }, { reason: 'signature', message: /no Stripe-Signature/ }],
    [
      'of another endpoint',
      toNotification(account.sign(event, { secret: 'whsec_other' }), now),
      { reason: 'signature', setting: /webhookSecret/ },
    ],
    [
      'that a proxy changed',
      { body: Buffer.from(`${good.body.toString()} `) },
      { reason: 'signature', message: /a proxy changed the body/ },
    ],
    ['of another scheme', { headers: { 'stripe-signature': header.replace('v1=', 'v0=') } }, { reason: 'signature' }],
    ['without a time', { headers: { 'stripe-signature': header.replace(/t=\d+,/, '') } }, { reason: 'signature' }],
    [
      'with a forged time',
      { headers: { 'stripe-signature': header.replace(/t=\d+/, 't=99999999999') } },
      { reason: 'signature' },
    ],
    ['sent again later', { receivedAt: now + 301_000 }, { reason: 'stale', message: /the clock of this machine is wrong/ }],
    ['without a body', { body: Buffer.alloc(0) }, { reason: 'signature' }],
  ] as const)
    await t.rejects(provider.readNotification({ ...good, ...change }), { name: 'PaymentNotificationError', ...expected }, what)
})

t.test('signed rubbish is refused as such', async (t) => {
  const { provider, clock } = await openStripe(t)
  for (const body of [
    '{}',
    'null',
    '[1]',
    '"evt"',
    '{"object":"event"}',
    '['.repeat(10_000),
    '{"id":1,"object":"event","data":{"object":{}}}',
  ]) {
    const seconds = Math.floor(clock.now() / 1000)
    const signature = createHmac('sha256', stripeWebhookSecret).update(`${seconds}.${body}`).digest('hex')
    const headers = { 'stripe-signature': `t=${seconds},v1=${signature}` }
    await t.rejects(
      provider.readNotification(toNotification({ headers, body }, clock.now())),
      { name: 'PaymentNotificationError', reason: 'malformed' },
      body.slice(0, 40),
    )
  }
})

t.test('the test of doctor is accepted and hints at nothing', async (t) => {
  const { provider } = await openStripe(t)
  const notification = await provider.diagnose.signTestNotification()
  t.match(await provider.readNotification(notification), { hints: [], answer: { status: 200 } })
})

t.test('the endpoints at Stripe are listed with the events that they lack', async (t) => {
  const { provider, account } = await openStripe(t)
  account.endpoints.push(
    { object: 'webhook_endpoint', url: 'https://a.example/payments/stripe/notify', status: 'enabled', enabled_events: ['*'] },
    { object: 'webhook_endpoint', url: 'https://b.example/notify', status: 'enabled', enabled_events: ['invoice.paid'] },
    { object: 'webhook_endpoint', url: 'https://c.example/notify', status: 'disabled', enabled_events: ['*'] },
  )
  const endpoints = await provider.diagnose.listEndpoints()
  t.match(endpoints, [
    { url: 'https://a.example/payments/stripe/notify', missingEvents: [] },
    { url: 'https://b.example/notify', missingEvents: ['checkout.session.completed'] },
  ])
  t.equal(endpoints.length, 2)
})
