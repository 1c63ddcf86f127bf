/** The pages of selling by scripted orders: what they show, what their forms do, and whose orders they are. */
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { sellByScript } from '../../../../support/orders/scripted-orders.ts'
import { createGrantedOrder, createTestOrder } from '../../../../support/orders/test-order.ts'
import { createRenewalToken } from '../../../../../src/domain/billing/email-link-token.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'

type GatewayOverrides = Parameters<typeof startGateway>[1]

const catalog = {
  plans: {
    pro: {
      prices: [
        { amount: 9, currency: 'USD', multiplier: 1 },
        { amount: 90, currency: 'USD', interval: 'year', multiplier: 1 },
        { amount: 8.5, currency: 'EUR', multiplier: 1 },
        { amount: 1200, currency: 'JPY', multiplier: 1 },
      ],
    },
  },
  packs: [{ id: 'small', credits: 500_000, pool: 'premium' as const, prices: [{ amount: 5, currency: 'EUR' }], days: 365 }],
  payments: {
    demo: true,
    legalLines: ['Example GmbH', 'Berlin <HRB>'],
    taxText: { en: 'Includes 19 % VAT.', zh: '含 19% 增值税。' },
  },
} satisfies GatewayOverrides

async function open(t: Test) {
  const gateway = await startGateway(t, catalog)
  const script = sellByScript(gateway)
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('mei@example.com')).body
  const get = async (path: string, headers?: Record<string, string>) => browser.get(`${gateway.url}${path}`, headers)
  const send = async (path: string, form: { action: string; subject?: string }, values: Record<string, string> = {}) =>
    sendForm(browser, `${gateway.url}${path}`, readFormFields((await get(path)).body, form), values)
  return { gateway, script, browser, account, get, send }
}

t.test('without a way to pay, the site has no page of selling and names none', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('mei@example.com')
  for (const path of ['/checkout?plan=pro', '/account/orders', `/account/orders/${createTestOrder().id}`])
    t.equal((await browser.get(`${gateway.url}${path}`)).status, 404, path)
  t.equal((await browser.get('orders')).status, 404)
  t.notMatch((await browser.get(`${gateway.url}/account`)).body, '/account/orders')
  const plans = (await browser.get(`${gateway.url}/plans`)).body
  t.match(plans, 'takes no payment here')
  t.notMatch(plans, /\/checkout|id="packs"|price-choice/)
})

t.test('the plans page has one button a plan, for the chosen interval and currency, and packs beside them', async (t) => {
  const { gateway, get } = await open(t)
  const byDefault = (await get('/plans')).body
  t.match(byDefault, /\$9[^]*href="\/checkout\?plan=pro&amp;interval=month&amp;currency=USD"[^]*Buy Pro/)
  t.match(byDefault, /More than Free:[^]*× Premium credits/)
  t.match(byDefault, /500,000 credits for premium models[^]*€5\.00[^]*href="\/checkout\?pack=small&amp;currency=EUR"/)
  t.match(byDefault, 'unused whole days of the lower one are taken off')
  t.match((await get('/plans?interval=year')).body, /\$90[^]*href="\/checkout\?plan=pro&amp;interval=year&amp;currency=USD"/)
  t.match((await get('/plans?currency=JPY')).body, /¥1,200[^]*href="\/checkout\?plan=pro&amp;interval=month&amp;currency=JPY"/)
  const visitor = new WebsiteClient(gateway)
  t.match(
    (await visitor.get(`${gateway.url}/plans?currency=EUR`)).body,
    'href="/sign-in?next=%2Fplans%3Fplan%3Dpro%26interval%3Dmonth%26currency%3DEUR"',
  )
})

t.test('the checkout shows what it will do and orders nothing until its form is sent, once however often', async (t) => {
  const { script, get, send } = await open(t)
  const path = '/checkout?plan=pro&interval=month&currency=EUR'
  script.quote = { event: 'upgrade', credit: 150, creditedDays: 12, interrupts: 'Lite', due: { amount: 700, currency: 'EUR' } }
  const shown = await get(path)
  t.match(shown.body, /Pro, 1 month[^]*€8\.50[^]*12 unused days of Lite[^]*−€1\.50[^]*€7\.00[^]*higher plan begins at once/)
  t.match(shown.body, /does not renew by itself[^]*Pay €7\.00[^]*Bank transfer/)
  t.same(script.calls, [])
  const subject = 'plan pro month EUR demo'
  const fields = readFormFields(shown.body, { action: 'buy', subject })
  t.ok(fields.get('form'))
  t.equal(fields.get('due'), '700', 'no more than what was shown is ordered')
  const first = await send(path, { action: 'buy', subject })
  t.match(first, { status: 200, body: /content="0;url=http:\/\/127\.0\.0\.1\/payments\/demo\/pay"[^]*Continue to the payment/ })
  t.equal(script.orders.length, 1)
  script.quote = { renews: true }
  t.match((await get(path)).body, /Charged again every month until you cancel/)
})

t.test('a double click is one order', async (t) => {
  const { gateway, browser, script, get } = await open(t)
  const path = '/checkout?pack=small&currency=EUR'
  const fields = readFormFields((await get(path)).body, { action: 'buy', subject: 'pack small EUR demo' })
  const answers = await Promise.all([1, 2, 3].map(async () => sendForm(browser, `${gateway.url}${path}`, fields)))
  for (const answer of answers) t.match(answer, { status: 200, body: /Your order 2026-000001 is stored/ })
  t.equal(script.orders.length, 1)
  const again = readFormFields((await get(path)).body, { action: 'buy', subject: 'pack small EUR demo' })
  await sendForm(browser, `${gateway.url}${path}`, again)
  t.equal(script.orders.length, 2, 'the page opened again is another order')
})

t.test('a transfer leads to the order’s page, which tells how to pay', async (t) => {
  const { script, get, send } = await open(t)
  script.created = { url: null, instructions: 'To: Example <GmbH>\nReference: 2026-000001' }
  const path = '/checkout?plan=pro&interval=month&currency=EUR&provider=manual'
  t.match((await get(path)).body, 'Order for €8.50')
  const answer = await send(path, { action: 'buy', subject: 'plan pro month EUR manual' })
  t.equal(answer.status, 303)
  const place = answer.headers.get('location') ?? ''
  t.match(place, /^\/account\/orders\/ord_\w{26}$/)
  t.notMatch((await get(place)).body, 'Check now', 'the payment service knows of no transfer')
  t.match(
    (await get(place)).body,
    /href="\/account\/orders" aria-current="true"[^]*The operator confirms it[^]*How to pay[^]*Example &lt;GmbH&gt;\nReference: 2026-000001/,
  )
})

t.test('a refusal stands in words, and nothing is ordered', async (t) => {
  const { script, get, browser, gateway } = await open(t)
  const path = '/checkout?plan=pro&interval=month&currency=EUR'
  const fields = readFormFields((await get(path)).body, { action: 'buy', subject: 'plan pro month EUR demo' })
  for (const [reason, status, words] of [
    ['renews_itself', 409, /cancel its renewal under Orders first/],
    ['too_many_open', 409, /several orders that are not paid/],
    ['price_changed', 409, /price has changed since it was shown/],
    ['unavailable', 503, /does not answer at the moment/],
    ['unknown_item', 409, /This is not offered/],
  ] as const) {
    script.refusal = reason
    t.match(await get(path), { status, body: words }, reason)
    t.match(await sendForm(browser, `${gateway.url}${path}`, fields), { status, body: words }, reason)
  }
  t.equal((await get('/checkout')).status, 404)
  t.equal((await get(`/checkout?plan=${'%3Cscript%3E'.repeat(20)}`)).status, 409)
})

t.test('the page after the payment asks the payment service, and the member can ask again and cancel', async (t) => {
  const { gateway, browser, script, account, get, send } = await open(t)
  const order = createTestOrder({ account: account.id })
  script.orders.push(order)
  const path = `/account/orders/${order.id}`
  t.match((await get(path)).body, /Waiting for your payment of €12\.00[^]*Pay €12\.00[^]*Check now[^]*Cancel the order/)
  t.same(script.calls, ['check by return'])
  script.findings = [{ code: 'provider_unavailable', operator: '', setting: null, facts: {} }]
  t.match((await get(path)).body, /We keep asking; your payment is not lost/)
  const fields = readFormFields((await get(path)).body, { action: 'check' })
  script.checked = createGrantedOrder({ account: account.id })
  script.findings = []
  t.match(await sendForm(browser, `${gateway.url}${path}`, fields), { status: 303 })
  const paid = (await get(path)).body
  t.match(paid, /Paid and delivered[^]*You ordered it/)
  t.notMatch(paid, /Check now|Cancel the order/)
  script.checked = {}
  script.orders[0] = order
  t.match((await send(path, { action: 'cancel' })).headers.get('location'), 'done=cancelled')
  t.match((await get(`${path}?done=cancelled`)).body, /The order is cancelled[^]*Nothing was charged/)
})

t.test('the member names the buyer on the receipt, by a form and by the API', async (t) => {
  const { script, account, browser, get, send } = await open(t)
  const order = createGrantedOrder({ account: account.id })
  script.orders.push(order)
  const path = `/account/orders/${order.id}`
  const answer = await send(path, { action: 'buyer' }, { name: ' Mei <Ltd> ', line1: 'Street 1', line3: 'Germany' })
  t.match(answer.headers.get('location'), 'done=buyer_saved')
  t.same(script.orders[0]?.buyer, ['Mei <Ltd>', 'Street 1', 'Germany'])
  t.match((await get(`${path}?done=buyer_saved`)).body, /Saved\. The receipt has it now[^]*value="Mei &lt;Ltd&gt;"/)
  const receipt = (await get(`${path}/receipt`)).body
  t.match(receipt, /Sold to[^]*Mei &lt;Ltd&gt;[^]*Street 1[^]*Germany[^]*Sold by/)
  t.notMatch(/<article[^]*<\/article>/.exec(receipt)?.[0], 'mei@example.com')
  t.match(await send(path, { action: 'buyer' }, { name: 'x'.repeat(101) }), { status: 400, body: /At most 100 characters/ })
  const post = (lines: readonly string[]) => browser.post(`orders/${order.id}/buyer`, { lines })
  t.match(await post(['Mei Ltd']), { status: 200, body: { order: { buyer: ['Mei Ltd'] } } })
  t.equal((await post(['1', '2', '3', '4', '5'])).status, 400)
  t.equal((await post(['two\nlines'])).status, 400)
  t.match(await post([]), { status: 200, body: { order: { buyer: [] } } })
  script.orders[0] = { ...order, account: 'acc_other' }
  t.equal((await post(['Mallory'])).status, 404)
})

t.test('a receipt has its number, day, lines, tax text and the operator’s lines, and only a paid order has one', async (t) => {
  const { script, account, get } = await open(t)
  const order = createGrantedOrder({ account: account.id, credit: 200, refunded: 300 })
  script.orders.push(order)
  const receipt = await get(`/account/orders/${order.id}/receipt`)
  t.match(receipt.body, /Receipt 2026-000123[^]*24 Nov 2026|Nov 24, 2026/)
  t.match(receipt.body, /mei@example\.com[^]*Example GmbH[^]*Berlin &lt;HRB&gt;/)
  t.match(receipt.body, /Pro, 1 month[^]*€12\.00[^]*−€2\.00[^]*Total[^]*€12\.00[^]*Refunded[^]*−€3\.00[^]*Includes 19 % VAT/)
  t.match(
    (await get(`/account/orders/${order.id}/receipt`, { 'accept-language': 'zh' })).body,
    /收据 2026-000123[^]*含 19% 增值税/,
  )
  script.orders[0] = createTestOrder({ account: account.id })
  t.equal((await get(`/account/orders/${order.id}/receipt`)).status, 404)
})

t.test('an order of another account does not exist, on pages and in the API', async (t) => {
  const { gateway, script, account } = await open(t)
  const order = createGrantedOrder({ account: account.id })
  script.orders.push(order)
  const other = new WebsiteClient(gateway)
  await other.signIn('ben@example.com')
  for (const path of [`/account/orders/${order.id}`, `/account/orders/${order.id}/receipt`])
    t.equal((await other.get(`${gateway.url}${path}`)).status, 404)
  for (const path of [`orders/${order.id}`, 'orders/nothing']) t.equal((await other.get(path)).status, 404)
  t.equal((await other.post(`orders/${order.id}/cancel`, {})).status, 404)
  t.notMatch((await other.get(`${gateway.url}/account/orders`)).body, order.number)
})

t.test('orders are listed by page, and bought packs are kept or used', async (t) => {
  const { gateway, script, account, get, send } = await open(t)
  for (let number = 1; number <= 30; number += 1)
    script.orders.unshift(
      createGrantedOrder({ account: account.id, id: `ord_${String(number).padStart(26, '0')}`, number: `2026-${number + 100}` }),
    )
  const first = (await get('/account/orders')).body
  t.match(first, '2026-130')
  t.notMatch(first, '2026-105')
  const older = /href="(\/account\/orders\?before=\w+)"/.exec(first)?.[1] ?? ''
  t.match((await get(older)).body, /2026-105[^]*2026-101/)
  t.match((await send('/account/orders', { action: 'use_packs', subject: 'off' })).headers.get('location'), 'done=packs_off')
  t.equal(await gateway.services.store.accounts.readSpendsPacks(account.id), false)
  t.match((await get('/account/orders')).body, /requests are refused until it resets[^]*Use bought packs/)
})

t.test('one click in an email cancels the renewal, and opening its link does not', async (t) => {
  const { gateway, script, account } = await open(t)
  const visitor = new WebsiteClient(gateway)
  const url = `${gateway.url}/cancel-renewal?token=${createRenewalToken(gateway.services.secret, account.id)}`
  t.match(await visitor.get(url), { status: 200, body: /Cancel the renewal/ })
  t.same(script.calls, [])
  t.match(await visitor.post(url, {}), { status: 200, body: /Nothing more is charged/ })
  t.same(script.calls, [`cancel renewal of ${account.id}`])
  script.renewal = 'no_renewal'
  t.match(await visitor.post(url, {}), { status: 409, body: /There is no renewal to cancel/ })
  t.equal((await visitor.get(`${gateway.url}/cancel-renewal?token=acc_1.x`)).status, 403)
})

t.test('the API offers, quotes, orders and asks, in the reader’s language', async (t) => {
  const { gateway, script, browser, account } = await open(t)
  const offers = await browser.get('offers')
  t.match(offers.body.data[0], {
    item: { kind: 'plan', title: 'Pro, 1 month', plan: 'pro', interval: 'month' },
    prices: [{ amount: 900, currency: 'USD', text: '$9.00' }, { amount: 850 }, { amount: 1200, currency: 'JPY', text: '¥1,200' }],
    checkout_url: `${gateway.url}/checkout?plan=pro&interval=month&currency=USD`,
  })
  t.match(offers.body.providers, [{ name: 'demo' }, { name: 'manual', label: 'Bank transfer' }])
  t.match((await browser.post('orders/quote', { pack: 'small' })).body, {
    item: { title: '500,000 credits for premium models', credits: 500_000 },
    due: { amount: 500, currency: 'EUR' },
  })
  for (const body of [{}, { plan: 'pro', pack: 'small' }, { plan: 'pro', interval: 'week' }])
    t.equal((await browser.post('orders/quote', body)).status, 400)
  t.equal((await browser.post('orders', { pack: 'small', request_id: 'no' })).status, 400)
  const order = { plan: 'pro', interval: 'month', currency: 'eur', request_id: 'request-12345' }
  const first = await browser.post('orders', order)
  t.match(first, {
    status: 201,
    body: { number: '2026-000001', state: 'sent', due: { text: '€8.50' }, pay_url: /pay$/, is_final: false },
  })
  t.equal((await browser.post('orders', order)).body.id, first.body.id)
  script.checked = createGrantedOrder({ account: account.id, id: first.body.id })
  t.match((await browser.post(`orders/${first.body.id}/check`, {})).body, {
    order: {
      state: 'granted',
      pay_url: null,
      receipt_url: `${gateway.url}/account/orders/${first.body.id}/receipt`,
      is_final: true,
    },
    steps: [{ kind: 'created' }],
    missing: [],
  })
  t.match((await browser.get('orders')).body, { data: [{ id: first.body.id }], renewal: null, spends_packs: true })
  t.match((await browser.post('pack-use', { enabled: false })).body, { enabled: false })
  t.match((await browser.get('orders')).body, { spends_packs: false })
  t.match((await browser.post('payment-portal', {})).body, { url: 'https://pay.example/portal' })
  script.portal = null
  t.match(await browser.post('payment-portal', {}), { status: 409, body: { code: 'order_refused' } })
  script.renewal = 'unavailable'
  t.match(await browser.post('renewal/cancel', {}), { status: 503, body: { code: 'temporarily_unavailable' } })
})
