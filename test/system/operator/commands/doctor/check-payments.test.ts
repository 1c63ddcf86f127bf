/** What doctor says of payment providers: their lists of endpoints, and a notification that it sends itself. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { Agent, buildConnector } from 'undici'
import { checkConfig } from '../../../../../src/config/config.ts'
import type { RawNotification } from '../../../../../src/domain/billing/orders/payment-provider.ts'
import { checkPayments } from '../../../../../src/operator/commands/doctor/check-payments.ts'
import { readStripeNotification } from '../../../../../src/payments/stripe/stripe-notifications.ts'
import { startStripeServer, stripeKey, stripeWebhookSecret } from '../../../../support/servers/stripe/stripe-server.ts'
import type { StripeServer } from '../../../../support/servers/stripe/stripe-server.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'
import shipped from '../../../../../gateway.config.ts'

const site = 'http://models.example.com'
const notifyUrl = `${site}/payments/stripe/notify`

/** A server at the public address that answers notifications with this status. */
async function startSite(t: Test, status: number) {
  const received: RawNotification[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const headers = request.headers as Record<string, string>
      received.push({ method: 'POST', headers, query: '', body: Buffer.concat(chunks), receivedAt: Date.now() })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connect = buildConnector({})
  const dispatcher = new Agent({
    connect: (options, callback) => connect({ ...options, hostname: '127.0.0.1', port: String(port) }, callback),
  })
  t.teardown(async () => {
    await dispatcher.destroy()
    server.close()
  })
  return { dispatcher, received }
}

function createConfig(t: Test, { url }: StripeServer, changes: object = {}) {
  const stripe = { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, endpoint: url }
  return checkConfig({
    ...shipped,
    listen: { host: '127.0.0.1', port: 8787, siteUrl: site },
    store: { dataDir: createTemporaryFolder(t) },
    payments: { providers: { stripe } },
    ...changes,
  })
}

t.test('nothing is examined where nothing is sold', async (t) => {
  t.same(await checkPayments(checkConfig({ ...shipped, listen: { host: '127.0.0.1', port: 8787 } })), [])
})

t.test('an endpoint that fits and a test notification that arrives are good', async (t) => {
  const stripe = await startStripeServer(t, Date.now)
  stripe.account.endpoints.push({ url: notifyUrl, status: 'enabled', enabled_events: ['*'] })
  const { dispatcher, received } = await startSite(t, 200)
  t.same(await checkPayments(createConfig(t, stripe), dispatcher), [
    { what: 'payments by stripe', ok: true, detail: `stripe sends to ${notifyUrl}` },
    { what: 'payments by stripe', ok: true, detail: `a signed test notification arrives at ${notifyUrl}` },
  ])
  const [notification] = received
  if (notification === undefined) return t.fail('no notification arrived')
  t.match(await readStripeNotification(notification, stripeWebhookSecret), { hints: [] })
})

t.test('a difference between the endpoints is named', async (t) => {
  for (const [what, endpoints, finding] of [
    ['none', [], /stripe has no endpoint for http:\/\/models\.example\.com\/payments\/stripe\/notify: add it there/],
    [
      'that of another address',
      [{ url: 'https://old.example.com/payments/stripe/notify', status: 'enabled', enabled_events: ['*'] }],
      /stripe sends to https:\/\/old\.example\.com\/payments\/stripe\/notify, and this server is at/,
    ],
    [
      'one with a slash at its end',
      [{ url: `${notifyUrl}/`, status: 'enabled', enabled_events: ['*'] }],
      /stripe sends to .*notify\/, and this server is at/,
    ],
    [
      'one with few events',
      [{ url: notifyUrl, status: 'enabled', enabled_events: ['checkout.session.completed'] }],
      /but not these events: checkout\.session\.expired, /,
    ],
    ['one that is switched off', [{ url: notifyUrl, status: 'disabled', enabled_events: ['*'] }], /stripe has no endpoint/],
    [
      'one of another system',
      [{ url: 'https://shop.example.com/webhooks', status: 'enabled', enabled_events: ['*'] }],
      /stripe has no endpoint/,
    ],
  ] as const) {
    const stripe = await startStripeServer(t, Date.now)
    stripe.account.endpoints.push(...endpoints)
    const { dispatcher } = await startSite(t, 200)
    const [finding0] = await checkPayments(createConfig(t, stripe), dispatcher)
    t.match(finding0, { ok: false, detail: finding }, what)
  }
})

t.test('an answer to the test notification names its remedy', async (t) => {
  for (const [status, detail] of [
    [301, /redirected, which providers do not follow/],
    [400, /another secret; restart it/],
    [404, /does not have this provider, or a proxy does not pass \/payments on/],
    [413, /a proxy limits the size of bodies/],
    [502, /see the log/],
  ] as const) {
    const stripe = await startStripeServer(t, Date.now)
    const { dispatcher } = await startSite(t, status)
    const findings = await checkPayments(createConfig(t, stripe), dispatcher)
    t.match(findings[1], { ok: false, detail }, String(status))
  }
})

t.test('a key that Stripe refuses, and a Stripe that fails, are told without the key', async (t) => {
  const stripe = await startStripeServer(t, Date.now)
  const { dispatcher } = await startSite(t, 200)
  const wrong = { secretKey: 'sk_test_wrongwrong', webhookSecret: stripeWebhookSecret, endpoint: stripe.url }
  const findings = await checkPayments(createConfig(t, stripe, { payments: { providers: { stripe: wrong } } }), dispatcher)
  t.match(findings, [{ ok: false, detail: /does not accept the secret key.*; check payments\.providers\.stripe\.secretKey/ }])
  t.notMatch(JSON.stringify(findings), 'wrongwrong')
  stripe.fault = () => ({ status: 500, body: 'rubbish' })
  t.match(await checkPayments(createConfig(t, stripe), dispatcher), [{ ok: false, detail: /Stripe/ }])
})

t.test('a server without a public address, and other providers, are told as they are', async (t) => {
  const stripe = await startStripeServer(t, Date.now)
  const manual = { instructions: { en: '{reference}' } }
  const config = createConfig(t, stripe, {
    listen: { host: '127.0.0.1', port: 9 },
    payments: {
      demo: true,
      providers: { stripe: { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, endpoint: stripe.url }, manual },
    },
  })
  t.match(await checkPayments(config), [
    { what: 'payments by stripe', ok: true, detail: /cannot send to 127\.0\.0\.1, .*Set SITE_URL/ },
    { what: 'payments by stripe', ok: true, detail: /was not sent: no server answers at http:\/\/127\.0\.0\.1:9\// },
    { what: 'payments by manual', ok: true },
    { what: 'payments by demo', ok: true, detail: /no money moves/ },
  ])
})

t.test('a module that cannot be loaded is a finding', async (t) => {
  const config = checkConfig({
    ...shipped,
    listen: { host: '127.0.0.1', port: 8787 },
    store: { dataDir: createTemporaryFolder(t) },
    payments: { providers: { other: { module: './package.json' } } },
  })
  t.match(await checkPayments(config), [{ what: 'payments', ok: false, detail: /payments\.providers\.other\.module/ }])
})
