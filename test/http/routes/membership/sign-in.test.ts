/** Mail codes and passwords: what they open, what they never tell, and how often they may be tried. */
import t from 'tap'
import { Browser, codeFor, lettersTo } from '../../../support/browser.ts'
import { startGateway } from '../../../support/gateway.ts'

const good = 'violet teapot orbit'

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

t.test('a password works once its address is proven, and not before', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  const asked = await browser.post('auth/sign-up', { email: 'word@example.com', password: good })
  t.match(asked, { status: 200, body: { sent: true } })
  t.equal((await new Browser(gateway).post('auth/sign-in', { email: 'word@example.com', password: good })).status, 401)
  const code = await codeFor(gateway, 'word@example.com')
  t.match(await browser.post('auth/otp/verify', { email: 'word@example.com', code }), {
    status: 200,
    body: { created: true, account: { has_password: true } },
  })
  const other = new Browser(gateway)
  t.match(await other.post('auth/sign-in', { email: 'Word@Example.com', password: good }), { status: 200, body: { ok: true } })
  t.match((await other.get('auth/session')).body, { session: { method: 'password' } })
})

t.test('signing up again for an address that has a password changes nothing but who is signed in', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
  const owner = new Browser(gateway)
  await owner.post('auth/sign-up', { email: 'owner@example.com', password: good })
  await owner.post('auth/otp/verify', { email: 'owner@example.com', code: await codeFor(gateway, 'owner@example.com') })
  const again = new Browser(gateway)
  await again.post('auth/sign-up', { email: 'owner@example.com', password: 'another teapot orbit' })
  const code = await codeFor(gateway, 'owner@example.com', 2)
  t.match((await again.post('auth/otp/verify', { email: 'owner@example.com', code })).body, { created: false })
  const password = (word: string) => new Browser(gateway).post('auth/sign-in', { email: 'owner@example.com', password: word })
  t.equal((await password('another teapot orbit')).status, 401)
  t.equal((await password(good)).status, 200)
})

t.test('a password that somebody set for an unproven address is gone once the owner proves it', async (t) => {
  const gateway = await startGateway(t)
  const { store, ids, clock, membership } = gateway.services
  const at = clock.now()
  const id = ids.next('acc_', at)
  const passwordHash = await membership.passwords.hash(good)
  await store.accounts.create({ id, email: 'victim@example.com', plan: 'free', passwordHash, emailVerified: false, at })
  const attacker = () => new Browser(gateway).post('auth/sign-in', { email: 'victim@example.com', password: good })
  t.equal((await attacker()).status, 401, 'unproven: no sign-in by password')
  t.match((await new Browser(gateway).signIn('victim@example.com')).body, { account: { id, has_password: false } })
  t.equal((await attacker()).status, 401)
})

t.test('nobody learns from an answer whether an address has an account', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
  const member = new Browser(gateway)
  await member.post('auth/sign-up', { email: 'known@example.com', password: good })
  await member.post('auth/otp/verify', { email: 'known@example.com', code: await codeFor(gateway, 'known@example.com') })
  const shape = ({ status, body, headers }: Awaited<ReturnType<Browser['post']>>) => ({
    status,
    body: { ...body, requestId: undefined },
    headers: [...headers.keys()].toSorted(),
  })
  for (const [path, rest] of [
    ['auth/otp/start', {}],
    ['auth/sign-up', { password: good }],
    ['auth/sign-in', { password: 'not the password' }],
    ['auth/otp/verify', { code: '123456' }],
  ] as const) {
    const known = shape(await new Browser(gateway).post(path, { email: 'known@example.com', ...rest }))
    const unknown = shape(await new Browser(gateway).post(path, { email: 'nobody@example.com', ...rest }))
    t.same(known, unknown, path)
  }
})

t.test('nor from how long it takes', async (t) => {
  const gateway = await startGateway(t, {
    limits: {
      attempts: {
        'password-by-address': { times: 100, withinMs: 60_000 },
        'password-by-network': { times: 100, withinMs: 60_000 },
      },
    },
  })
  const member = new Browser(gateway)
  await member.post('auth/sign-up', { email: 'known@example.com', password: good })
  await member.post('auth/otp/verify', { email: 'known@example.com', code: await codeFor(gateway, 'known@example.com') })
  await new Browser(gateway).signIn('wordless@example.com')
  // Processor time, which a busy machine does not stretch as it does the clock's.
  const spent: Record<string, number> = { known: 0, nobody: 0, wordless: 0 }
  for (let round = 0; round < 4; round++) {
    for (const name of Object.keys(spent)) {
      const before = process.cpuUsage()
      await new Browser(gateway).post('auth/sign-in', { email: `${name}@example.com`, password: 'not the password' })
      const { user, system } = process.cpuUsage(before)
      spent[name] = (spent[name] ?? 0) + user + system
    }
  }
  // Without the decoy an unknown address would cost a tenth.
  for (const name of ['nobody', 'wordless']) {
    const share = (spent[name] ?? 0) / (spent['known'] ?? 0)
    t.ok(share > 0.5 && share < 2, `${name}: ${share.toFixed(2)} of what a known address costs`)
  }
})

t.test('passwords are guessed ten times, whoever guesses and after whatever restart', async (t) => {
  const gateway = await startGateway(t)
  const member = new Browser(gateway)
  await member.post('auth/sign-up', { email: 'target@example.com', password: good })
  await member.post('auth/otp/verify', { email: 'target@example.com', code: await codeFor(gateway, 'target@example.com') })
  const guesses = await Promise.all(
    Array.from({ length: 20 }, () =>
      new Browser(gateway).post('auth/sign-in', { email: 'target@example.com', password: 'wrong word' }),
    ),
  )
  t.equal(guesses.filter(({ status }) => status === 401).length, 10)
  t.equal(guesses.filter(({ status }) => status === 429).length, 10)
  await gateway.close()
  const again = await startGateway(t, { store: { dataDir: gateway.config.store.dataDir } })
  t.equal((await new Browser(again).post('auth/sign-in', { email: 'target@example.com', password: good })).status, 429)
})

t.test('which passwords are taken', async (t) => {
  const gateway = await startGateway(t, {
    limits: { attempts: { 'code-resend': { times: 99, withinMs: 60_000 }, 'code-by-address': { times: 99, withinMs: 60_000 } } },
  })
  const up = (password: unknown) => new Browser(gateway).post('auth/sign-up', { email: 'rules@example.com', password })
  for (const bad of [
    '',
    'short77',
    'password1',
    'Qwertyuiop',
    'rules@example.com',
    '12345678',
    '11111111',
    'x'.repeat(129),
    'x'.repeat(1_000_000 / 8),
    5,
    null,
  ]) {
    t.match(
      await up(bad),
      { status: 400, body: { code: 'invalid_request', error: { param: 'password' } } },
      String(bad).slice(0, 20),
    )
  }
  for (const fine of [good, 'пароль-и-чайник', '密码密码一二三四五六', '🫖🛰️🪴🦊🐙🌵🍋🎈', 'y'.repeat(60) + 'zx'.repeat(34)]) {
    t.equal((await up(fine)).status, 200, fine.slice(0, 20))
  }
})

t.test('changing the password ends every other session, and the old cookie', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  await browser.post('auth/sign-up', { email: 'change@example.com', password: good })
  await browser.post('auth/otp/verify', { email: 'change@example.com', code: await codeFor(gateway, 'change@example.com') })
  const other = new Browser(gateway)
  await other.post('auth/sign-in', { email: 'change@example.com', password: good })
  t.equal((await other.get('auth/session')).status, 200)
  t.match(
    await other.post('auth/password', { password: 'a new teapot orbit' }),
    { status: 401, body: { code: 'invalid_credentials' } },
    'signed in by password: the current one is asked for',
  )
  t.match(await other.post('auth/password', { current: 'wrong', password: 'a new teapot orbit' }), { status: 401 })
  const before = other.cookies.get('svc_membership_session') ?? ''
  t.match(await other.post('auth/password', { current: good, password: 'a new teapot orbit' }), {
    status: 200,
    body: { ended_sessions: 1 },
  })
  t.equal((await browser.get('auth/session')).status, 401, 'the other session is over')
  t.equal((await other.get('auth/session')).status, 200, 'this one goes on, with a new cookie')
  const old = new Browser(gateway)
  old.cookies.set('svc_membership_session', before)
  t.equal((await old.get('auth/session')).status, 401, 'the old value is worth nothing')
  t.equal((await new Browser(gateway).post('auth/sign-in', { email: 'change@example.com', password: good })).status, 401)
  t.equal(
    (await new Browser(gateway).post('auth/sign-in', { email: 'change@example.com', password: 'a new teapot orbit' })).status,
    200,
  )
  t.ok(
    lettersTo(gateway, 'change@example.com').some((letter) => letter.includes('password')),
    'the owner is told',
  )
})

t.test('a forgotten password is replaced within ten minutes of a mail code', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const browser = new Browser(gateway)
  await browser.post('auth/sign-up', { email: 'forgot@example.com', password: good })
  await browser.post('auth/otp/verify', { email: 'forgot@example.com', code: await codeFor(gateway, 'forgot@example.com') })
  now += 61_000
  await browser.signIn('forgot@example.com')
  now += 11 * 60_000
  t.equal((await browser.post('auth/password', { password: 'a new teapot orbit' })).status, 401, 'too late')
  await browser.signIn('forgot@example.com')
  t.equal((await browser.post('auth/password', { password: 'a new teapot orbit' })).status, 200)
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
