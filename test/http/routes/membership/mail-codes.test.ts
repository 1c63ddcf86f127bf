/** Mail codes: what they open, how often they may be tried, and who may ask for one. */
import t from 'tap'
import { Browser, codeFor, lettersTo, linkFor } from '../../../support/browser.ts'
import { startGateway } from '../../../support/gateway.ts'
import type { TestGateway } from '../../../support/gateway.ts'

t.test('of a hundred right codes at once one makes a session', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  await browser.post('auth/otp/start', { email: 'many@example.com' })
  const code = await codeFor(gateway, 'many@example.com')
  const cookies = new Map(browser.cookies)
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => {
      const same = new Browser(gateway)
      for (const [name, value] of cookies) same.cookies.set(name, value)
      return same.post('auth/otp/verify', { email: 'many@example.com', code })
    }),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.equal(await gateway.services.store.accounts.count(), 1)
  const account = await gateway.services.store.accounts.find('many@example.com')
  t.equal((await gateway.services.store.sessions.list(account?.id ?? '')).length, 1)
})

t.test('the sixth guess of a code is not looked at, be it right', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  await browser.post('auth/otp/start', { email: 'guess@example.com' })
  const code = await codeFor(gateway, 'guess@example.com')
  const wrong = code === '000000' ? '000001' : '000000'
  for (let guess = 1; guess <= 5; guess++) {
    const answer = await browser.post('auth/otp/verify', { email: 'guess@example.com', code: wrong })
    t.match(answer, { status: 401, body: { code: 'invalid_credentials', stage: 'auth' } }, `guess ${guess}`)
  }
  t.equal((await browser.post('auth/otp/verify', { email: 'guess@example.com', code })).status, 401)
  t.equal(await gateway.services.store.accounts.count(), 0)
})

t.test('the fifth guess may still be right', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  await browser.post('auth/otp/start', { email: 'guess@example.com' })
  const code = await codeFor(gateway, 'guess@example.com')
  for (let guess = 1; guess <= 4; guess++) await browser.post('auth/otp/verify', { email: 'guess@example.com', code: 'abcdef' })
  t.equal((await browser.post('auth/otp/verify', { email: 'guess@example.com', code })).status, 200)
})

t.test('a code is good in the browser that asked alone, for its address alone, for five minutes', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const browser = new Browser(gateway)
  await browser.post('auth/otp/start', { email: 'bound@example.com' })
  const code = await codeFor(gateway, 'bound@example.com')
  const stranger = new Browser(gateway)
  t.equal((await stranger.post('auth/otp/verify', { email: 'bound@example.com', code })).status, 401, 'no word at all')
  await stranger.post('auth/otp/start', { email: 'other@example.com' })
  t.equal((await stranger.post('auth/otp/verify', { email: 'bound@example.com', code })).status, 401, 'a word of its own')
  t.equal((await browser.post('auth/otp/verify', { email: 'other@example.com', code })).status, 401, 'another address')
  now += 5 * 60_000
  t.equal((await browser.post('auth/otp/verify', { email: 'bound@example.com', code })).status, 401, 'too late')
})

t.test('a new code voids the one before', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const browser = new Browser(gateway)
  await browser.post('auth/otp/start', { email: 'again@example.com' })
  const first = await codeFor(gateway, 'again@example.com')
  const early = await browser.post('auth/otp/start', { email: 'again@example.com' })
  t.match(early, { status: 429, body: { code: 'rate_limited', stage: 'rate_limit' } })
  t.equal(early.headers.get('retry-after'), '60')
  now += 60_000
  await browser.post('auth/otp/start', { email: 'again@example.com' })
  const second = await codeFor(gateway, 'again@example.com', 2)
  if (first !== second) t.equal((await browser.post('auth/otp/verify', { email: 'again@example.com', code: first })).status, 401)
  t.equal((await browser.post('auth/otp/verify', { email: 'again@example.com', code: second })).status, 200)
})

t.test('an address is written to five times an hour by one client, ten times by all, also after a restart', async (t) => {
  let now = Date.now()
  const clock = { now: () => now, ticks: () => performance.now() }
  const listen = { trustedProxies: ['127.0.0.1'] }
  const gateway = await startGateway(t, { listen }, { clock })
  const from = (at: TestGateway, last: number) =>
    new Browser(at, { 'x-forwarded-for': `203.0.113.${last}` }).post('auth/otp/start', { email: 'flood@example.com' })
  for (const client of [1, 2]) {
    for (let i = 1; i <= 6; i++) {
      t.equal((await from(gateway, client)).status, i <= 5 ? 200 : 429, `client ${client}, letter ${i}`)
      now += 61_000
    }
  }
  const link = await linkFor(gateway, 'flood@example.com', 10)
  await gateway.close()
  const again = await startGateway(t, { listen, store: { dataDir: gateway.config.store.dataDir } }, { clock })
  const refused = await from(again, 3)
  t.match(refused, { status: 429, body: { code: 'rate_limited' } })
  t.ok(Number(refused.headers.get('retry-after')) > 2500)
  t.match(refused.body.message, 'the link in it signs you in')
  t.equal(
    (await new Browser(again).post('auth/otp/start', { email: 'FLOOD@EXAMPLE.COM' })).status,
    429,
    'capitals are no way round',
  )
  t.equal((await new Browser(again).post('auth/link/verify', { link })).status, 200, 'what they had sent lets the owner in')
  t.equal((await from(again, 3)).status, 200, 'and a letter that was used counts no more')
})

t.test('one client has twenty letters sent in an hour, to whomever, and a known device its own', async (t) => {
  const gateway = await startGateway(t)
  const member = new Browser(gateway)
  await member.signIn('member@example.com')
  const ask = (email: string) => new Browser(gateway).post('auth/otp/start', { email })
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(`stranger-${i}@example.com`)))
  t.equal(answers.filter(({ status }) => status === 200).length, 20)
  t.equal((await ask('one-more@example.com')).status, 429)
  t.equal((await member.post('auth/otp/start', { email: 'member@example.com' })).status, 200)
  t.equal((await member.post('auth/otp/start', { email: 'one-more@example.com' })).status, 429, 'to its own account')
})

t.test('looking at a link uses up nothing; opening it does, in any browser, once, within the hour', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const asking = new Browser(gateway)
  await asking.post('auth/otp/start', { email: 'linked@example.com' })
  const link = await linkFor(gateway, 'linked@example.com')
  const scanner = new Browser(gateway, {})
  for (let i = 0; i < 3; i++)
    t.match(await scanner.post('auth/link/look', { link }), { status: 200, body: { email_masked: 'l***@example.com' } })
  t.equal((await scanner.get(`${gateway.url}/sign-in/link?${link}`)).status, 200, 'the page alone does nothing')
  for (const wrong of ['x'.repeat(43), 'short', "' or 1=1 --", link.slice(1)])
    t.match(
      await scanner.post('auth/link/verify', { link: wrong }),
      { status: 401, body: { code: 'invalid_credentials' } },
      wrong,
    )
  const phone = new Browser(gateway)
  t.match(await phone.post('auth/link/verify', { link }), { status: 200, body: { created: true } })
  t.equal((await phone.get('auth/session')).status, 200)
  t.equal((await new Browser(gateway).post('auth/link/verify', { link })).status, 401, 'once')
  t.equal((await new Browser(gateway).post('auth/link/look', { link })).status, 401)
  const code = await codeFor(gateway, 'linked@example.com')
  t.equal((await asking.post('auth/otp/verify', { email: 'linked@example.com', code })).status, 401, 'nor by its code')
  now += 61_000
  await asking.post('auth/otp/start', { email: 'linked@example.com' })
  const late = await linkFor(gateway, 'linked@example.com', 2)
  now += 60 * 60_000
  t.equal((await asking.post('auth/link/verify', { link: late })).status, 401, 'an hour later')
})

t.test('a password that a stranger asked for does not come with the link the owner opens', async (t) => {
  const gateway = await startGateway(t)
  const stranger = new Browser(gateway)
  await stranger.post('auth/sign-up', { email: 'owner@example.com', password: 'violet teapot orbit' })
  const link = await linkFor(gateway, 'owner@example.com')
  t.match(await new Browser(gateway).post('auth/link/verify', { link }), {
    status: 200,
    body: { account: { has_password: false } },
  })
  const again = await stranger.post('auth/sign-in', { email: 'owner@example.com', password: 'violet teapot orbit' })
  t.equal(again.status, 401)
})

t.test(
  'while a stranger has the tries of a code, another letter has its link alone; the code that was sent stays good',
  async (t) => {
    const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
    const first = new Browser(gateway)
    await first.post('auth/otp/start', { email: 'two@example.com' })
    const code = await codeFor(gateway, 'two@example.com')
    await new Browser(gateway).post('auth/otp/start', { email: 'two@example.com' })
    await linkFor(gateway, 'two@example.com', 2)
    const [, second = ''] = lettersTo(gateway, 'two@example.com')
    t.notMatch(second, /^\s{4}\d{6}/m)
    t.equal((await first.post('auth/otp/verify', { email: 'two@example.com', code })).status, 200)
    await new Browser(gateway).post('auth/otp/start', { email: 'two@example.com' })
    await codeFor(gateway, 'two@example.com', 3)
  },
)

t.test('throw-away and blocked mail providers are refused, by setting', async (t) => {
  const gateway = await startGateway(t, { signIn: { blockedDomains: ['rival.example'] } })
  for (const email of ['a@mailinator.com', 'a@sub.mailinator.com', 'a@rival.example']) {
    t.match(
      await new Browser(gateway).post('auth/otp/start', { email }),
      { status: 400, body: { error: { param: 'email' } } },
      email,
    )
  }
  t.equal((await new Browser(gateway).post('auth/otp/start', { email: 'a@notmailinator.example' })).status, 200)
  const open = await startGateway(t, { signIn: { blockDisposable: false } })
  t.equal((await new Browser(open).post('auth/otp/start', { email: 'a@mailinator.com' })).status, 200)
})

t.test('an account that is deleted is forgotten, and its ledger stays', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
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
  t.equal((await gateway.turns(id)).length, 1)
  const fresh = await new Browser(gateway).signIn('leaving@example.com').catch((error: Error) => error)
  t.ok(fresh instanceof Error, 'a minute has not passed')
  t.equal(await gateway.services.store.accounts.find('leaving@example.com'), undefined)
})
