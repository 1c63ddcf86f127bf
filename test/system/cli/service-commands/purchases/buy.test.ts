/** Buying and orders against a scripted service: what is sent, what is printed, and when the wait ends. */
import t from 'tap'
import type { Test } from 'tap'
import { sendError, sendJson, startStubGateway } from '../../../../support/cli/stub-gateway.ts'
import { runSvc } from '../../../../support/cli/run-svc.ts'

// A command reads the time zone of its process.
process.env['TZ'] = 'UTC'

const env = { SVC_TOKEN: 'svc_sess_x' }
const account = { id: 'acc_1', email_masked: 'm***@example.org', plan: 'free' }
const item = { kind: 'plan', title: 'Pro, 1 year', plan: 'pro', interval: 'year', pack: null }
const money = (amount: number, text: string) => ({ amount, currency: 'EUR', text })
const order = {
  id: 'ord_1',
  number: '2026-000123',
  item,
  state: 'sent',
  due: money(9000, '€90.00'),
  paid: null,
  pay_url: 'https://pay.example/session',
  instructions: null,
  receipt_url: null,
  is_final: false,
  created_at: '2026-11-24T07:24:00Z',
}
const granted = {
  ...order,
  state: 'granted',
  paid: money(9000, '€90.00'),
  pay_url: null,
  receipt_url: 'https://svc.example/receipt',
  is_final: true,
}
const quote = {
  item,
  event: 'first',
  price: money(9000, '€90.00'),
  credit: money(0, '€0.00'),
  due: money(9000, '€90.00'),
  starts_at: null,
  ends_at: '2027-11-24T07:24:00Z',
  renews: false,
}

async function open(t: Test) {
  const offers = [
    { item },
    { item: { ...item, plan: 'max', title: 'Max, 1 year' } },
    { item: { kind: 'pack', plan: null, pack: 'small', title: '500,000 credits for premium models' } },
  ]
  const server = await startStubGateway({
    'GET /api/membership/usage': (_, response) => sendJson(response, { account }),
    'GET /api/membership/offers': (_, response) => sendJson(response, { object: 'list', data: offers, providers: [] }),
    'POST /api/membership/orders/quote': (_, response) => sendJson(response, quote),
    'POST /api/membership/orders': (_, response) => sendJson(response, order),
  })
  t.teardown(() => server.close())
  const explain = (shown: object, missing: readonly string[] = []) => ({ order: shown, steps: [], interval: 0.01, missing })
  const run = (...words: readonly string[]) => runSvc(words, { home: t.testdir(), site: server.origin, env })
  const sent = (path: string) => server.requests.filter((request) => request.path === `/api/membership/${path}`)
  return { server, explain, run, sent }
}

t.test('buy shows the price, prints the address, and waits until the plan is delivered', async (t) => {
  const { server, explain, run, sent } = await open(t)
  let reads = 0
  server.routes['GET /api/membership/orders/ord_1'] = (received, response) => {
    reads += 1
    // A read that fails ends no wait.
    if (reads === 2) return sendError(response, received, 'temporarily_unavailable', 503)
    return sendJson(response, explain(reads < 4 ? order : granted))
  }
  const { code, stdout, stderr } = await run('buy', 'Pro', '--yearly', '--currency', 'eur')
  t.equal(code, 0)
  t.match(stderr, /Pro, 1 year: €90\.00\nBegins: when it is paid; ends: 24 Nov 2027.*\nIt is charged once/)
  t.match(stderr, /Open this address in a browser to pay order 2026-000123:\n\n {2}https:\/\/pay\.example\/session\n/)
  t.equal(stdout, '2026-000123 · Pro, 1 year · €90.00 · delivered\nReceipt: https://svc.example/receipt\n')
  const [body] = sent('orders').map((request) => request.body)
  t.match(body, { plan: 'pro', interval: 'year', currency: 'EUR', request_id: /^[\w-]{32}$/ })
})

t.test('a lost notification is found, because the payment service is asked again and again', async (t) => {
  const { server, explain, run, sent } = await open(t)
  server.routes['GET /api/membership/orders/ord_1'] = (_, response) => sendJson(response, explain(order, ['not_paid']))
  server.routes['POST /api/membership/orders/ord_1/check'] = (_, response) => sendJson(response, explain(granted))
  t.match(await run('buy', 'pro'), { code: 0, stdout: /delivered/ })
  t.equal(sent('orders/ord_1').length, 9)
  t.equal(sent('orders/ord_1/check').length, 1)
})

t.test('a payment that is not made ends the wait with its state', async (t) => {
  const { server, explain, run } = await open(t)
  server.routes['GET /api/membership/orders/ord_1'] = (_, response) =>
    sendJson(response, explain({ ...order, state: 'expired', is_final: true }, ['expired']))
  t.match(await run('buy', 'pack', 'small'), { code: 0, stdout: /expired/ })
})

t.test('a transfer prints how to pay and does not wait', async (t) => {
  const { server, run, sent } = await open(t)
  server.routes['POST /api/membership/orders'] = (_, response) =>
    sendJson(response, { ...order, pay_url: null, instructions: 'To: Example\nReference: 2026-000123\u001b[31m' })
  const { stderr, stdout } = await run('buy', 'pro', '--with', 'manual')
  t.match(stderr, /How to pay order 2026-000123:\n\n {2}To: Example\n {2}Reference: 2026-000123/)
  t.notMatch(stderr, '\u001b[31m')
  t.match(stdout, /not paid/)
  t.match(sent('orders')[0]?.body, { provider: 'manual' })
})

t.test('--check orders nothing, and what is not sold is refused before anything is ordered', async (t) => {
  const { run, sent } = await open(t)
  t.match(await run('buy', 'pro', '--check'), { code: 0, stdout: /Pro, 1 year: €90\.00[^]*Account: m/ })
  for (const [words, sentence] of [
    [['buy', 'gold'], /Name one of these plans: pro, max/],
    [['buy', 'pack'], /Name one of these packs: small/],
    [['buy', 'pack', 'large'], /Name one of these packs: small/],
    [['buy', 'pro', 'small'], /'small' is not expected after a plan/],
  ] as const)
    t.match(await run(...words), { code: 2, stderr: sentence }, words.join(' '))
  t.equal(sent('orders').length, 0)
})

t.test('--json reports where to pay before it waits', async (t) => {
  const { server, explain, run } = await open(t)
  server.routes['GET /api/membership/orders/ord_1'] = (_, response) => sendJson(response, explain(granted))
  const [event, result] = (await run('buy', 'pro', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  t.match(event, { event: 'order', number: '2026-000123', pay_url: 'https://pay.example/session' })
  t.match(result, { ok: true, result: { order: { state: 'granted' } } })
})

t.test('orders lists them, shows the story of one, asks and cancels', async (t) => {
  const { server, explain, run } = await open(t)
  const renewal = { plan: 'pro', name: 'Pro', state: 'active', renews: true, ends_at: '2027-11-24T07:24:00Z' }
  server.routes['GET /api/membership/orders'] = (_, response) =>
    sendJson(response, { object: 'list', data: [granted, order], renewal, spends_packs: true })
  const { stdout } = await run('orders')
  t.match(stdout, /Account: m[^]*Pro renews by itself on 24 Nov 2027[^]*2026-000123 +Pro, 1 year +€90\.00 +delivered/)
  const story = { ...explain(order, ['not_paid']), steps: [{ at: '2026-11-24T07:24:00Z', kind: 'created' }] }
  server.routes['GET /api/membership/orders/2026-000123'] = (_, response) => sendJson(response, story)
  t.match(
    (await run('orders', '2026-000123')).stdout,
    /not paid\nThe payment service has seen no payment yet\.\nPay at: https[^]*created/,
  )
  server.routes['POST /api/membership/orders/2026-000123/check'] = (_, response) => sendJson(response, explain(granted))
  t.match((await run('orders', '2026-000123', '--check')).stdout, /delivered/)
  server.routes['POST /api/membership/orders/2026-000123/cancel'] = (_, response) =>
    sendJson(response, explain({ ...order, state: 'cancelled' }))
  t.match((await run('orders', '2026-000123', '--cancel')).stdout, /cancelled/)
  t.match(await run('orders', '--check'), { code: 2, stderr: /Name the order/ })
})
