/** Mail codes: what they open, how often they may be tried, and who may ask for one. */
import t from 'tap'
import { Browser, codeFor } from '../../../support/browser.ts'
import { startGateway } from '../../../support/gateway.ts'

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

t.test('an address is written to five times an hour, also after a restart', async (t) => {
  let now = Date.now()
  const clock = { now: () => now, ticks: () => performance.now() }
  const gateway = await startGateway(t, {}, { clock })
  for (let i = 0; i < 5; i++) {
    t.equal((await new Browser(gateway).post('auth/otp/start', { email: 'flood@example.com' })).status, 200, `letter ${i + 1}`)
    now += 61_000
  }
  await gateway.close()
  const again = await startGateway(t, { store: { dataDir: gateway.config.store.dataDir } }, { clock })
  const refused = await new Browser(again).post('auth/otp/start', { email: 'flood@example.com' })
  t.match(refused, { status: 429, body: { code: 'rate_limited' } })
  t.ok(Number(refused.headers.get('retry-after')) > 3000)
  t.equal(
    (await new Browser(again).post('auth/otp/start', { email: 'FLOOD@EXAMPLE.COM' })).status,
    429,
    'capitals are no way round',
  )
})

t.test('throw-away and blocked mail providers are refused, by setting', async (t) => {
  const gateway = await startGateway(t, { signIn: { blockedDomains: ['rival.example'] } })
  for (const email of ['a@mailinator.com', 'a@sub.mailinator.com', 'a@rival.example']) {
    t.match(
      await new Browser(gateway).post('auth/otp/start', { email }),
      { status: 400, body: { error: { param: 'email' } } },
      email,
    )
  }
  t.equal((await new Browser(gateway).post('auth/otp/start', { email: 'a@notmailinator.com' })).status, 200)
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
