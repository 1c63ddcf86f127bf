/** `/redeem`: a link shows what a code gives, and only the member's own form redeems it. */
import t from 'tap'
import type { Test } from 'tap'
import { createCodes } from '../../../../../src/domain/services/redeem-code-service.ts'
import type { CodeOrder } from '../../../../../src/domain/services/redeem-code-service.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'

async function open(t: Test) {
  const gateway = await startGateway(t)
  const { store, ids, clock } = gateway.services
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('mei@example.com')).body
  const create = async (change: Partial<CodeOrder> = {}) => {
    const terms = await store.subscriptions.ensureTerms(createPlan('gold', 9_000_000, { name: 'Gold' }), clock.now())
    const order = { gift: { kind: 'plan', terms, span: '30d' }, count: 1, maxUses: 1, expiresAt: null, batch: null } as const
    const [created] = await createCodes(store, ids, { ...order, ...change }, clock.now())
    return created?.code ?? ''
  }
  const url = `${gateway.url}/redeem`
  return { gateway, store, browser, account, create, url }
}

t.test('a link shows what the code gives, and redeems nothing until the form is sent', async (t) => {
  const { gateway, store, browser, account, create, url } = await open(t)
  const code = await create()
  const link = `${url}?code=${code}`
  for (let opened = 0; opened < 3; opened += 1) {
    const shown = await browser.get(link)
    t.equal(shown.status, 200)
    t.match(shown.body, /This code gives you[^]*Gold[^]*30 days[^]*now/)
    t.equal(shown.headers.get('referrer-policy'), 'strict-origin')
    t.equal(shown.headers.get('cache-control'), 'private, no-store')
  }
  t.same(await store.subscriptions.list(account.id), [])
  const fields = readFormFields((await browser.get(link)).body, { action: 'redeem', subject: code })
  t.equal((await sendForm(browser, url, fields, {}, { 'sec-fetch-site': 'cross-site' })).status, 403)
  t.same(await store.subscriptions.list(account.id), [])
  t.match(await sendForm(browser, url, fields), { status: 200, body: /The code is redeemed[^]*Gold/ })
  t.match(await sendForm(browser, url, fields), { status: 200, body: /has been redeemed already; it was counted once/ })
  t.equal((await store.subscriptions.list(account.id)).length, 1)
  t.match((await browser.get('usage')).body, { plan: 'gold', plan_name: 'Gold' })
  t.match(await browser.get(link), { status: 409, body: /Your account has redeemed this code already/ })
  t.notMatch(gateway.log.join('\n'), new RegExp(`${code}|${code.replaceAll('-', '')}`), 'the code is in no log')
  t.match((await browser.get('audit')).body.data[0], { event: 'code_redeemed', detail: { terms: 'gold@1', span: '30d' } })
})

t.test('a visitor signs in first and comes back to the code', async (t) => {
  const { gateway, create, url } = await open(t)
  const visitor = new WebsiteClient(gateway)
  const code = await create()
  const answer = await visitor.get(`${url}?code=${code}`)
  t.equal(answer.status, 303)
  const signIn = answer.headers.get('location') ?? ''
  t.equal(signIn, `/sign-in?next=${encodeURIComponent(`/redeem?code=${code}`)}`)
  t.equal((await visitor.get(`${gateway.url}${signIn}`)).headers.get('referrer-policy'), 'strict-origin')
})

t.test('a code that is typed is shown in both languages, and a refusal stands at the field', async (t) => {
  const { browser, create, url } = await open(t)
  const code = await create({ gift: { kind: 'credits', pool: 'premium', credits: 500_000, days: 365 } })
  const inspect = async (typed: string, headers: Record<string, string> = {}) =>
    sendForm(browser, url, readFormFields((await browser.get(url)).body, { action: 'inspect' }), { code: typed }, headers)
  t.match(await inspect(code.toLowerCase().replaceAll('-', ' ')), { status: 200, body: /500,000 · Premium/ })
  t.match((await inspect(code, { 'accept-language': 'zh' })).body, /该兑换码包含[^]*500,000/)
  for (const [typed, sentence] of [
    ['', /Fill in this field/],
    ['12345', /A code has twenty letters and digits/],
    ['AAAAA-AAAAA-AAAAA-AAAAB', /There is a typing error in this code/],
    ['00000-00000-00000-00000', /There is no such code/],
  ] as const) {
    const { status, body } = await inspect(typed)
    t.ok(status === 400 || status === 409, typed)
    t.match(body, sentence)
    t.match(body, `value="${typed}"`, 'what was typed stays')
  }
  t.equal((await browser.get(`${url}?code=${'%3Cscript%3E'.repeat(10)}`)).status, 400)
})

t.test('the API shows and redeems, and wrong codes use up a budget', async (t) => {
  const { browser, create } = await open(t)
  const code = await create()
  const plan = {
    kind: 'plan',
    plan: { id: 'gold', name: 'Gold', span: '30d', is_waiting: false, interrupts: null },
    credits: null,
  }
  t.match(await browser.post('codes/inspect', { code }), { status: 200, body: plan })
  t.match(await browser.post('codes/redeem', { code }), { status: 200, body: { ok: true, outcome: plan } })
  t.match(await browser.post('codes/redeem', { code }), { status: 409, body: { code: 'code_unusable', stage: 'membership' } })
  t.match(await browser.post('codes/redeem', { code: 'AAAAA-AAAAA-AAAAA-AAAAB' }), {
    status: 400,
    body: { code: 'invalid_request' },
  })
  for (let tries = 0; tries < 10; tries += 1)
    t.match(await browser.post('codes/redeem', { code: '00000-00000-00000-00000' }), { status: 409 })
  const answer = await browser.post('codes/inspect', { code: '00000-00000-00000-00000' })
  t.match(answer, { status: 429, body: { code: 'rate_limited' } })
  t.ok(Number(answer.headers.get('retry-after')) > 0)
})

t.test('the usage page names what follows the plan', async (t) => {
  const { gateway, browser, create, url, account } = await open(t)
  const redeem = async (code: string) =>
    sendForm(browser, url, readFormFields((await browser.get(`${url}?code=${code}`)).body, { action: 'redeem', subject: code }))
  const { membership, clock } = gateway.services
  await redeem(await create())
  await membership.subscriptions.give(account.id, createPlan('huge', 90_000_000, { name: 'Huge' }), clock.now() + 86_400_000)
  const usage = (await browser.get(`${gateway.url}/account`)).body
  t.match(usage, /Huge[^]*until [^]*then Gold until /)
  t.match((await browser.get(`${gateway.url}/plans`)).body, /A higher plan begins at once[^]*href="\/redeem"/)
})
