/** `/payments/demo/{order}` by its forms, without a script and without a session. */
import t from 'tap'
import type { Test } from 'tap'
import { findAccessibilityViolations, openBrowserSession, openChromium } from '../../../support/website/chromium.ts'
import { findFaultsAtWidths } from '../../../support/website/page-checks.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

async function openPayment(t: Test, gateway: TestGateway, order = 'ord_1'): Promise<string> {
  const { services, url } = gateway
  const opened = await services.paymentProviders.get('demo')?.create({
    order,
    number: '2026-000001',
    account: { id: 'acc_1', email: null },
    title: 'Pro <b>1 month</b>',
    money: { amount: 900, currency: 'EUR' },
    renews: null,
    returnUrl: `${url}/plans?paid`,
    cancelUrl: `${url}/plans?cancelled`,
    notifyUrl: `${url}/payments/demo/notify`,
    language: 'en',
    expiresAt: services.clock.now() + 3_600_000,
  })
  if (opened?.url == null) return t.bailout('no page was opened') as never
  return opened.url
}

async function queryState({ services }: TestGateway, order = 'ord_1'): Promise<string | undefined> {
  return (await services.paymentProviders.get('demo')?.query({ order, reference: order, payment: null }))?.state
}

/** The fields of a form, as a browser would send them. */
async function readForm(url: string, action: string): Promise<URLSearchParams> {
  const page = await (await fetch(url, { headers: { 'accept-language': 'en' } })).text()
  const form = page.split('<form').find((text) => text.includes(`name="action" value="${action}"`)) ?? ''
  return new URLSearchParams(
    [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']): [string, string] => [name, value],
    ),
  )
}

function submit(
  url: string,
  fields: URLSearchParams,
  headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
) {
  return fetch(url, { method: 'POST', body: fields, headers, redirect: 'manual' })
}

t.test('a choice leads back to the shop, and counts once', async (t) => {
  const gateway = await startGateway(t, { payments: { demo: true } })
  for (const [order, action, location, state] of [
    ['ord_1', 'pay', '/plans?paid', 'paid'],
    ['ord_2', 'late', '/plans?paid', 'pending'],
    ['ord_3', 'lose', '/payments/demo/ord_3', 'paid'],
    ['ord_4', 'fail', '/plans?cancelled', 'closed'],
  ] as const) {
    const url = await openPayment(t, gateway, order)
    const fields = await readForm(url, action)
    const answer = await submit(url, fields)
    t.equal(answer.status, 303, action)
    t.equal(answer.headers.get('location'), location, action)
    t.equal(await queryState(gateway, order), state, action)
    t.match(await (await submit(url, fields)).text(), 'A choice was made before', 'a second press')
    t.equal(await queryState(gateway, order), state, action)
  }
  t.match(await (await fetch(`${gateway.url}/payments/demo/ord_3`)).text(), 'The shop was not notified')
})

t.test('another site cannot pay for its visitor', async (t) => {
  const gateway = await startGateway(t, { payments: { demo: true } })
  const url = await openPayment(t, gateway)
  const fields = await readForm(url, 'pay')
  t.equal((await submit(url, fields, { 'sec-fetch-site': 'cross-site' })).status, 403)
  t.equal(await queryState(gateway), 'open')
})

t.test('the page is not there without the demonstration, or without the payment', async (t) => {
  const selling = await startGateway(t, { payments: { demo: true } })
  const url = await openPayment(t, selling)
  t.notMatch(await (await fetch(url)).text(), '<b>1 month', 'texts are escaped')
  t.equal((await fetch(`${selling.url}/payments/demo/ord_none`)).status, 404)
  const other = await startGateway(t)
  t.equal((await fetch(`${other.url}/payments/demo/ord_1`)).status, 404)
})

const browser = await openChromium(t)
if (browser !== undefined)
  t.test('the page has no barrier and is whole at every width, without a script', async (t) => {
    const gateway = await startGateway(t, { payments: { demo: true } })
    const url = await openPayment(t, gateway)
    for (const locale of ['en', 'zh-CN']) {
      const { page, context } = await openBrowserSession(browser, gateway.url, { locale })
      await page.goto(url)
      t.same(await findAccessibilityViolations(page), [], locale)
      t.same(await findFaultsAtWidths(await context.newCDPSession(page), [320, 360, 768, 1280]), [], locale)
      await context.close()
    }
    const { page, context, problems } = await openBrowserSession(browser, gateway.url, { locale: 'en', javaScriptEnabled: false })
    await page.goto(url)
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await page.waitForURL('**/plans?paid')
    t.equal(await queryState(gateway), 'paid')
    t.same(problems, [])
    await context.close()
  })
