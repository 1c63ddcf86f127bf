/** `examples/payments/epay` in front of a scripted EPay service, opened as a server opens it. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { checkConfig } from '../../../src/config/config.ts'
import type { RawNotification } from '../../../src/domain/billing/orders/payment-provider.ts'
import { openPaymentProviders } from '../../../src/payments/open-payment-providers.ts'
import { DataFolder } from '../../../src/system/data-folder/data-folder.ts'
import { checkoutRoot, startServerProcess } from '../../support/processes/server-process.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import shipped from '../../../gateway.config.ts'

const key = 'epay-merchant-key'
const module = join(checkoutRoot, 'examples/payments/epay/epay.ts')
const checkout = {
  order: 'ord_1',
  number: '2026-000001',
  account: { id: 'acc_1', email: null },
  title: '专业版 & 1 个月',
  money: { amount: 4900, currency: 'CNY' },
  renews: null,
  returnUrl: 'https://models.example.com/account/orders/ord_1',
  cancelUrl: 'https://models.example.com/plans',
  notifyUrl: 'https://models.example.com/payments/epay/notify',
  language: 'zh',
  expiresAt: 1,
} as const
const payment = { order: 'ord_1', reference: 'ord_1', payment: null }

/** An EPay service that answers queries as the test says. */
async function startEpay(t: Test) {
  const queries: URLSearchParams[] = []
  const epay = { answer: {} as unknown, status: 200, queries, url: '' }
  const server = createServer((request, response) => {
    queries.push(new URL(request.url ?? '', 'http://epay').searchParams)
    response.writeHead(epay.status).end(typeof epay.answer === 'string' ? epay.answer : JSON.stringify(epay.answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  epay.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return epay
}

async function open(t: Test, options: object) {
  const config = checkConfig({
    ...shipped,
    listen: { host: '127.0.0.1', port: 8787 },
    payments: { providers: { epay: { module, options: { pid: '1001', key, ...options } } } },
  })
  const folder = new DataFolder(createTemporaryFolder(t))
  const providers = await openPaymentProviders(config, {
    clock: new SimulatedClock({ isLive: true }),
    secret: Buffer.alloc(32),
    folder,
  })
  const provider = providers.get('epay')
  if (provider === undefined) throw new Error('it was not opened')
  return provider
}

/** Written after the service's own description, and not after the example. */
function sign(fields: Readonly<Record<string, string>>): string {
  const names = Object.keys(fields)
    .filter((name) => !['sign', 'sign_type'].includes(name) && fields[name] !== '')
    .toSorted()
  return createHash('md5')
    .update(`${names.map((name) => `${name}=${fields[name]}`).join('&')}${key}`)
    .digest('hex')
}

function notify(fields: Readonly<Record<string, string>>, signature = sign(fields)): RawNotification {
  const query = new URLSearchParams({ ...fields, sign: signature, sign_type: 'MD5' }).toString()
  return { method: 'GET', headers: {}, query, body: Buffer.alloc(0), receivedAt: 0 }
}

t.test('the member is sent to the service with a signed order', async (t) => {
  const provider = await open(t, { url: 'https://pay.example.com/', type: 'alipay' })
  const { reference, url } = await provider.create(checkout)
  t.equal(reference, 'ord_1')
  const address = new URL(url ?? '')
  t.equal(address.origin + address.pathname, 'https://pay.example.com/submit.php')
  const fields = Object.fromEntries(address.searchParams)
  t.match(fields, { pid: '1001', type: 'alipay', out_trade_no: 'ord_1', money: '49.00', name: checkout.title, sign_type: 'MD5' })
  t.equal(fields['sign'], sign(fields))
  t.same(await provider.create(checkout), { reference, url, instructions: null }, 'repeated, it is the same')
  await t.rejects(provider.create({ ...checkout, money: { amount: 900, currency: 'EUR' } }), {
    name: 'PaymentProviderError',
    reason: 'misconfigured',
  })
})

t.test('what was paid is what the service says when it is asked', async (t) => {
  const epay = await startEpay(t)
  const provider = await open(t, { url: epay.url })
  const paid = { code: 1, msg: 'succ', trade_no: '2026112801', out_trade_no: 'ord_1', money: '49.00', status: 1 }
  for (const [what, answer, facts] of [
    ['a paid order', paid, { state: 'paid', money: { amount: 4900, currency: 'CNY' }, payment: '2026112801' }],
    ['numbers as text', { ...paid, code: '1', status: '1', money: 49 }, { state: 'paid', money: { amount: 4900 } }],
    ['less than was due', { ...paid, money: '0.01' }, { state: 'paid', money: { amount: 1, currency: 'CNY' } }],
    ['an order that is not paid', { ...paid, status: 0 }, { state: 'open', money: null }],
    ['an order that it has not seen', { code: -1, msg: '订单号不存在' }, { state: 'open', money: null }],
  ] as const) {
    epay.answer = answer
    t.match(await provider.query(payment), facts, what)
  }
  t.match(Object.fromEntries(epay.queries[0] ?? []), { act: 'order', pid: '1001', key, out_trade_no: 'ord_1' })
})

t.test('rubbish is no payment', async (t) => {
  const epay = await startEpay(t)
  const provider = await open(t, { url: epay.url })
  const paid = { code: 1, trade_no: '2026112801', out_trade_no: 'ord_1', money: '49.00', status: 1 }
  for (const [what, answer, reason, status = 200] of [
    ['a page', '<html>502', 'unavailable'],
    ['a failure', paid, 'unavailable', 502],
    ['nothing', 'null', 'unavailable'],
    ['deep rubbish', '['.repeat(10_000), 'unavailable'],
    ['another order', { ...paid, out_trade_no: 'ord_2' }, 'unavailable'],
    ['an amount with three decimals', { ...paid, money: '49.001' }, 'unavailable'],
    ['a negative amount', { ...paid, money: '-49.00' }, 'unavailable'],
    ['no amount', { ...paid, money: undefined }, 'unavailable'],
    ['no number of the payment', { ...paid, trade_no: '' }, 'unavailable'],
    ['a wrong key', { code: -3, msg: '商户密钥错误' }, 'misconfigured'],
  ] as const) {
    Object.assign(epay, { answer, status })
    const error = await provider.query(payment).catch((thrown: unknown) => thrown as Error)
    t.match(error, { name: 'PaymentProviderError', reason }, what)
    t.notMatch(String((error as Error).message), key, what)
  }
})

t.test('a notification is a hint if it is signed, and refused otherwise', async (t) => {
  const provider = await open(t, { url: 'https://pay.example.com' })
  const fields = {
    pid: '1001',
    trade_no: '2026112801',
    out_trade_no: 'ord_1',
    type: 'alipay',
    name: checkout.title,
    money: '49.00',
    trade_status: 'TRADE_SUCCESS',
    param: '',
  }
  const facts = { id: '2026112801', hints: [{ kind: 'order', order: 'ord_1' }], answer: { status: 200, body: 'success' } }
  t.same(await provider.readNotification(notify(fields)), facts)
  t.same(await provider.readNotification(notify(fields)), facts, 'twice')
  t.same(await provider.readNotification(notify({ ...fields, money: '0.01' })), facts, 'the amount in it decides nothing')
  for (const [what, notification, reason] of [
    ['with another amount', notify({ ...fields, money: '0.01' }, sign(fields)), 'signature'],
    ['without a signature', notify(fields, ''), 'signature'],
    ['with rubbish in its place', notify(fields, 'x'.repeat(32)), 'signature'],
    ['of another merchant', notify({ ...fields, pid: '1002' }), 'malformed'],
    ['without an order', notify({ ...fields, out_trade_no: '' }), 'malformed'],
    ['without anything', { ...notify(fields), query: '' }, 'signature'],
  ] as const)
    await t.rejects(provider.readNotification(notification), { name: 'PaymentNotificationError', reason }, what)
})

t.test('options that cannot work stop the start', async (t) => {
  for (const [options, sentence] of [
    [{}, /options\.url must be the https address/],
    [{ url: 'http://pay.example.com' }, /options\.url must be the https address/],
    [{ url: 'https://pay.example.com', pid: 'x' }, /options\.pid must be/],
    [{ url: 'https://pay.example.com', key: null }, /options\.key must be/],
  ] as const)
    await t.rejects(open(t, options), sentence)
})

t.test('the example starts as its README says', async (t) => {
  const server = await startServerProcess(t, {
    GATEWAY_CONFIG: join(checkoutRoot, 'examples/payments/epay/epay.config.ts'),
    EPAY_URL: 'https://pay.example.com',
    EPAY_PID: '1001',
    EPAY_KEY: key,
    DATA_DIR: t.testdir(),
  })
  t.not(server.url, '', server.log())
  t.notMatch(server.log(), key)
})
