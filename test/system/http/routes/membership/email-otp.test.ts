/** Email codes: what they allow, how often they may be tried, and how often they are sent. */
import t from 'tap'
import { WebsiteClient, waitForEmailCode, readEmailsTo, waitForMagicLink } from '../../../../support/gateway/website-client.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { getPlan } from '../../../../../src/domain/billing/catalog/plan.ts'
import { createSubscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import { unknownReader } from '../../../../../src/domain/identity/reader.ts'
import { createClock } from '../../../../../src/system/clock.ts'

t.test('creates one session for a hundred simultaneous right codes', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/otp/start', { email: 'many@example.com' })
  const code = await waitForEmailCode(gateway, 'many@example.com')
  const cookies = new Map(browser.cookies)
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => {
      const same = new WebsiteClient(gateway)
      for (const [name, value] of cookies) same.cookies.set(name, value)
      return same.post('auth/otp/verify', { email: 'many@example.com', code })
    }),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.equal(await gateway.services.store.accounts.count(), 1)
  const account = await gateway.services.store.accounts.find('many@example.com')
  t.equal((await gateway.services.store.sessions.list(account?.id ?? '')).length, 1)
})

t.test('refuses the sixth attempt, even with the right code', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/otp/start', { email: 'guess@example.com' })
  const code = await waitForEmailCode(gateway, 'guess@example.com')
  const wrong = code === '000000' ? '000001' : '000000'
  for (let guess = 1; guess <= 5; guess++) {
    const answer = await browser.post('auth/otp/verify', { email: 'guess@example.com', code: wrong })
    t.match(answer, { status: 401, body: { code: 'invalid_credentials', stage: 'auth' } }, `guess ${guess}`)
  }
  t.equal((await browser.post('auth/otp/verify', { email: 'guess@example.com', code })).status, 401)
  t.equal(await gateway.services.store.accounts.count(), 0)
})

t.test('accepts the right code at the fifth attempt', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/otp/start', { email: 'guess@example.com' })
  const code = await waitForEmailCode(gateway, 'guess@example.com')
  for (let guess = 1; guess <= 4; guess++) await browser.post('auth/otp/verify', { email: 'guess@example.com', code: 'abcdef' })
  t.equal((await browser.post('auth/otp/verify', { email: 'guess@example.com', code })).status, 200)
})

t.test('accepts a code only in the browser that requested it, for its address, for five minutes', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/otp/start', { email: 'bound@example.com' })
  const code = await waitForEmailCode(gateway, 'bound@example.com')
  const stranger = new WebsiteClient(gateway)
  t.equal((await stranger.post('auth/otp/verify', { email: 'bound@example.com', code })).status, 401, 'no browser token')
  await stranger.post('auth/otp/start', { email: 'other@example.com' })
  t.equal(
    (await stranger.post('auth/otp/verify', { email: 'bound@example.com', code })).status,
    401,
    'a browser token of its own',
  )
  t.equal((await browser.post('auth/otp/verify', { email: 'other@example.com', code })).status, 401, 'another address')
  now += 5 * 60_000
  t.equal((await browser.post('auth/otp/verify', { email: 'bound@example.com', code })).status, 401, 'too late')
})

t.test('invalidates the previous code when a new one is sent', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/otp/start', { email: 'again@example.com' })
  const first = await waitForEmailCode(gateway, 'again@example.com')
  const early = await browser.post('auth/otp/start', { email: 'again@example.com' })
  t.match(early, { status: 429, body: { code: 'rate_limited', stage: 'rate_limit' } })
  t.equal(early.headers.get('retry-after'), '60')
  now += 60_000
  await browser.post('auth/otp/start', { email: 'again@example.com' })
  const second = await waitForEmailCode(gateway, 'again@example.com', 2)
  if (first !== second) t.equal((await browser.post('auth/otp/verify', { email: 'again@example.com', code: first })).status, 401)
  t.equal((await browser.post('auth/otp/verify', { email: 'again@example.com', code: second })).status, 200)
})

t.test('sends five emails an hour to an address for one client, ten for all, also after a restart', async (t) => {
  let now = Date.now()
  const clock = createClock({ now: () => now })
  const listen = { trustedProxies: ['127.0.0.1'] }
  const gateway = await startGateway(t, { listen }, { clock })
  const from = (at: TestGateway, last: number) =>
    new WebsiteClient(at, { 'x-forwarded-for': `203.0.113.${last}` }).post('auth/otp/start', { email: 'flood@example.com' })
  for (const client of [1, 2]) {
    for (let i = 1; i <= 6; i++) {
      t.equal((await from(gateway, client)).status, i <= 5 ? 200 : 429, `client ${client}, email ${i}`)
      now += 61_000
    }
  }
  const link = await waitForMagicLink(gateway, 'flood@example.com', 10)
  await gateway.close()
  const again = await startGateway(t, { listen, store: { dataDir: gateway.config.store.dataDir } }, { clock })
  const refused = await from(again, 3)
  t.match(refused, { status: 429, body: { code: 'rate_limited' } })
  t.ok(Number(refused.headers.get('retry-after')) > 2500)
  t.match(refused.body.message, 'its link signs you in')
  t.equal(
    (await new WebsiteClient(again).post('auth/otp/start', { email: 'FLOOD@EXAMPLE.COM' })).status,
    429,
    'capitals do not evade the limit',
  )
  t.equal(
    (await new WebsiteClient(again).post('auth/magic-link/verify', { link })).status,
    200,
    'an email requested by others lets the owner in',
  )
  t.equal((await from(again, 3)).status, 200, 'and a used email no longer counts')
})

t.test('sends twenty emails an hour for one client, and more for a known device to its own account', async (t) => {
  const gateway = await startGateway(t)
  const member = new WebsiteClient(gateway)
  await member.signIn('member@example.com')
  const ask = (email: string) => new WebsiteClient(gateway).post('auth/otp/start', { email })
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(`stranger-${i}@example.com`)))
  t.equal(answers.filter(({ status }) => status === 200).length, 20)
  t.equal((await ask('one-more@example.com')).status, 429)
  t.equal((await member.post('auth/otp/start', { email: 'member@example.com' })).status, 200)
  t.equal((await member.post('auth/otp/start', { email: 'one-more@example.com' })).status, 429, 'to its own account')
})

t.test('consumes a link when it is opened, not when it is inspected, in any browser, within the hour', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const asking = new WebsiteClient(gateway)
  await asking.post('auth/otp/start', { email: 'linked@example.com' })
  const link = await waitForMagicLink(gateway, 'linked@example.com')
  const scanner = new WebsiteClient(gateway, {})
  for (let i = 0; i < 3; i++)
    t.match(await scanner.post('auth/magic-link/inspect', { link }), { status: 200, body: { email_masked: 'l***@example.com' } })
  t.equal((await scanner.get(`${gateway.url}/sign-in/link?${link}`)).status, 200, 'loading the page consumes nothing')
  for (const wrong of ['x'.repeat(43), 'short', "' or 1=1 --", link.slice(1)])
    t.match(
      await scanner.post('auth/magic-link/verify', { link: wrong }),
      { status: 401, body: { code: 'invalid_credentials' } },
      wrong,
    )
  const phone = new WebsiteClient(gateway)
  t.match(await phone.post('auth/magic-link/verify', { link }), { status: 200, body: { created: true } })
  t.equal((await phone.get('auth/session')).status, 200)
  t.equal((await new WebsiteClient(gateway).post('auth/magic-link/verify', { link })).status, 401, 'once')
  t.equal((await new WebsiteClient(gateway).post('auth/magic-link/inspect', { link })).status, 401)
  const code = await waitForEmailCode(gateway, 'linked@example.com')
  t.equal((await asking.post('auth/otp/verify', { email: 'linked@example.com', code })).status, 401, 'nor by its code')
  now += 61_000
  await asking.post('auth/otp/start', { email: 'linked@example.com' })
  const late = await waitForMagicLink(gateway, 'linked@example.com', 2)
  now += 60 * 60_000
  t.equal((await asking.post('auth/magic-link/verify', { link: late })).status, 401, 'an hour later')
})

t.test('does not set a password that another browser requested when the owner opens the link', async (t) => {
  const gateway = await startGateway(t)
  const stranger = new WebsiteClient(gateway)
  await stranger.post('auth/sign-up', { email: 'owner@example.com', password: 'violet teapot orbit' })
  const link = await waitForMagicLink(gateway, 'owner@example.com')
  t.match(await new WebsiteClient(gateway).post('auth/magic-link/verify', { link }), {
    status: 200,
    body: { account: { has_password: false } },
  })
  const again = await stranger.post('auth/sign-in', { email: 'owner@example.com', password: 'violet teapot orbit' })
  t.equal(again.status, 401)
})

t.test(
  'omits the code from further emails while others have used up its attempts; the code already sent stays valid',
  async (t) => {
    const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
    const first = new WebsiteClient(gateway)
    await first.post('auth/otp/start', { email: 'two@example.com' })
    const code = await waitForEmailCode(gateway, 'two@example.com')
    await new WebsiteClient(gateway).post('auth/otp/start', { email: 'two@example.com' })
    await waitForMagicLink(gateway, 'two@example.com', 2)
    const [, second = ''] = readEmailsTo(gateway, 'two@example.com')
    t.notMatch(second, /^\s{4}\d{6}/m)
    t.equal((await first.post('auth/otp/verify', { email: 'two@example.com', code })).status, 200)
    await new WebsiteClient(gateway).post('auth/otp/start', { email: 'two@example.com' })
    await waitForEmailCode(gateway, 'two@example.com', 3)
  },
)

t.test('refuses disposable and blocked email providers, as configured', async (t) => {
  const gateway = await startGateway(t, { signIn: { blockedDomains: ['rival.example'] } })
  for (const email of ['a@mailinator.com', 'a@sub.mailinator.com', 'a@rival.example']) {
    t.match(
      await new WebsiteClient(gateway).post('auth/otp/start', { email }),
      { status: 400, body: { error: { param: 'email' } } },
      email,
    )
  }
  t.equal((await new WebsiteClient(gateway).post('auth/otp/start', { email: 'a@notmailinator.example' })).status, 200)
  const open = await startGateway(t, { signIn: { blockDisposable: false } })
  t.equal((await new WebsiteClient(open).post('auth/otp/start', { email: 'a@mailinator.com' })).status, 200)
})

t.test('deletes personal data with an account and keeps its ledger', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('leaving@example.com')
  const { token } = (await browser.post('auth/api-keys', { name: 'my laptop' })).body
  await gateway.chat(token)
  const { id } = (await browser.get('auth/session')).body.account
  t.match(await browser.post('auth/delete-account', { confirm: 'somebody@example.com' }), {
    status: 400,
    body: { error: { param: 'confirm' } },
  })
  t.match(await browser.post('auth/delete-account', { confirm: 'leaving@example.com' }), { status: 200, body: { deleted: true } })
  t.notOk(browser.cookies.has('svc_membership_session'))
  t.equal((await gateway.chat(token)).status, 401)
  t.match(await gateway.services.store.accounts.find(id), { email: null, status: 'deleted' })
  t.equal((await gateway.listTurns(id)).length, 1)
  t.equal(await gateway.services.store.accounts.find('leaving@example.com'), undefined)
  await new WebsiteClient(gateway).signIn('leaving@example.com')
  t.not((await gateway.services.store.accounts.find('leaving@example.com'))?.id, id, 'nothing of the address was left')
})

t.test('a deletion waits while a provider renews the plan, and the account is not signed in to', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
  const { store, membership, clock } = gateway.services
  const browser = new WebsiteClient(gateway)
  await browser.signIn('leaving@example.com')
  const { token } = (await browser.post('auth/api-keys', { name: 'my laptop' })).body
  const { id } = (await browser.get('auth/session')).body.account
  const now = clock.now()
  const subscription: Subscription = createSubscription({
    id: 'sub_1',
    account: id,
    terms: await store.subscriptions.ensureTerms(getPlan(gateway.services.config, 'pro'), now),
    source: 'order',
    order: 'ord_1',
    renewal: 'provider',
    state: 'active',
    startsAt: now,
    endsAt: now + 86_400_000,
    createdAt: now,
  })
  const put = (change: Partial<Subscription>) =>
    store.subscriptions.change(id, ({ plan, planUntil, terms, basePlan }) => ({
      plan,
      planUntil,
      terms,
      basePlan,
      changed: [{ ...subscription, ...change }],
    }))
  await put({})
  t.match(await browser.post('auth/delete-account', { confirm: 'leaving@example.com' }), {
    status: 200,
    body: { deleted: false },
  })
  t.notOk(browser.cookies.has('svc_membership_session'))
  t.equal((await gateway.chat(token)).status, 401)
  await waitUntil(() => readEmailsTo(gateway, 'leaving@example.com').length === 2, 'the email after that of the sign-in arrives')
  const other = new WebsiteClient(gateway)
  t.match(await other.post('auth/otp/start', { email: 'leaving@example.com' }), { status: 200 })
  const code = await waitForEmailCode(gateway, 'leaving@example.com', 3)
  t.match(await other.post('auth/otp/verify', { email: 'leaving@example.com', code }), {
    status: 403,
    body: { error: { code: 'account_deletion_waiting', message: /being deleted/ } },
  })
  t.match((await other.get(`${gateway.url}/sign-in?error=deletion_waiting`)).body, 'Your account is being deleted')
  // The renewal has ended at the provider.
  await put({ state: 'cancelled' })
  t.match(await store.accountDeletions.listDue(clock.now() + 5 * 60_000, 9, 86_400_000), [{ account: id }])
  t.equal(await membership.deletions.delete(id, { reader: unknownReader, client: null }), 'deleted')
  t.match(await store.accounts.find(id), { email: null, status: 'deleted' })
})

t.test('writes the email in the language of the request', async (t) => {
  const gateway = await startGateway(t)
  await new WebsiteClient(gateway).post('auth/otp/start', { email: 'wei@example.com' }, { 'accept-language': 'zh-CN,zh;q=0.9' })
  await waitForEmailCode(gateway, 'wei@example.com')
  const chosen = new WebsiteClient(gateway)
  chosen.cookies.set('svc_language', 'en')
  await chosen.post('auth/otp/start', { email: 'ann@example.com' }, { 'accept-language': 'zh-CN' })
  await waitForEmailCode(gateway, 'ann@example.com')
  const [chinese = ''] = readEmailsTo(gateway, 'wei@example.com')
  const [english = ''] = readEmailsTo(gateway, 'ann@example.com')
  t.match(chinese, /lang=3D"zh-CN"|lang="zh-CN"/)
  t.match(english, /^Subject: \d{3} \d{3} is your svc code$/m)
  t.match(english, /content-type: multipart\/alternative/i)
})
