/** Passwords: what they allow, what answers reveal, and how often they may be tried. */
import t from 'tap'
import { TooManyAttempts } from '../../../../../src/domain/identity/limits/attempt-limits.ts'
import { hashPassword } from '../../../../../src/domain/identity/passwords/password.ts'
import { WebsiteClient, waitForEmailCode, readEmailsTo } from '../../../../support/gateway/website-client.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const good = 'violet teapot orbit'

t.test('accepts a password only after its address is verified', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  const response = await browser.post('auth/sign-up', { email: 'word@example.com', password: good })
  t.match(response, { status: 200, body: { sent: true } })
  t.equal((await new WebsiteClient(gateway).post('auth/sign-in', { email: 'word@example.com', password: good })).status, 401)
  const code = await waitForEmailCode(gateway, 'word@example.com')
  t.match(await browser.post('auth/otp/verify', { email: 'word@example.com', code }), {
    status: 200,
    body: { created: true, account: { has_password: true } },
  })
  const other = new WebsiteClient(gateway)
  t.match(await other.post('auth/sign-in', { email: 'Word@Example.com', password: good }), { status: 200, body: { ok: true } })
  t.match((await other.get('auth/session')).body, { session: { method: 'password' } })
})

t.test('changes no existing password when its address signs up again', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
  const owner = new WebsiteClient(gateway)
  await owner.post('auth/sign-up', { email: 'owner@example.com', password: good })
  await owner.post('auth/otp/verify', { email: 'owner@example.com', code: await waitForEmailCode(gateway, 'owner@example.com') })
  const again = new WebsiteClient(gateway)
  await again.post('auth/sign-up', { email: 'owner@example.com', password: 'another teapot orbit' })
  const code = await waitForEmailCode(gateway, 'owner@example.com', 2)
  t.match((await again.post('auth/otp/verify', { email: 'owner@example.com', code })).body, { created: false })
  const password = (word: string) =>
    new WebsiteClient(gateway).post('auth/sign-in', { email: 'owner@example.com', password: word })
  t.equal((await password('another teapot orbit')).status, 401)
  t.equal((await password(good)).status, 200)
})

t.test('drops a password set for an unverified address once the owner verifies it', async (t) => {
  const gateway = await startGateway(t)
  const { store, ids, clock } = gateway.services
  const at = clock.now()
  const id = ids.next('acc_', at)
  const passwordHash = await hashPassword(good)
  await store.accounts.create({ id, email: 'victim@example.com', plan: 'free', passwordHash, emailVerified: false, at })
  const attacker = () => new WebsiteClient(gateway).post('auth/sign-in', { email: 'victim@example.com', password: good })
  t.equal((await attacker()).status, 401, 'unverified: no sign-in by password')
  t.match((await new WebsiteClient(gateway).signIn('victim@example.com')).body, { account: { id, has_password: false } })
  t.equal((await attacker()).status, 401)
})

t.test('refuses an old password whose check overlaps its change', async (t) => {
  const gateway = await startGateway(t)
  const { passwords } = gateway.services.membership
  const email = 'owner@example.com'
  const owner = new WebsiteClient(gateway)
  await owner.post('auth/sign-up', { email, password: good })
  await owner.post('auth/otp/verify', { email, code: await waitForEmailCode(gateway, email) })
  const checked = Promise.withResolvers<undefined>()
  const released = Promise.withResolvers<undefined>()
  const verify = passwords.verify.bind(passwords)
  passwords.verify = async (...args) => {
    const verdict = await verify(...args)
    checked.resolve(undefined)
    await released.promise
    return verdict
  }
  const late = new WebsiteClient(gateway).post('auth/sign-in', { email, password: good })
  await checked.promise
  t.equal((await owner.post('auth/password', { password: 'another teapot orbit' })).status, 200)
  released.resolve(undefined)
  t.match(await late, { status: 401, body: { code: 'invalid_credentials' } })
  t.equal((await owner.get('auth/sessions')).body.data.length, 1, 'only the session that changed it is left')
  passwords.verify = verify
  t.equal((await new WebsiteClient(gateway).post('auth/sign-in', { email, password: 'another teapot orbit' })).status, 200)
})

t.test('reveals in no response whether an address has an account', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
  const member = new WebsiteClient(gateway)
  await member.post('auth/sign-up', { email: 'known@example.com', password: good })
  await member.post('auth/otp/verify', { email: 'known@example.com', code: await waitForEmailCode(gateway, 'known@example.com') })
  const shape = ({ status, body, headers }: Awaited<ReturnType<WebsiteClient['post']>>) => ({
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
    const known = shape(await new WebsiteClient(gateway).post(path, { email: 'known@example.com', ...rest }))
    const unknown = shape(await new WebsiteClient(gateway).post(path, { email: 'unknown@example.com', ...rest }))
    t.same(known, unknown, path)
  }
})

t.test('takes as long for unknown addresses as for known ones', async (t) => {
  const gateway = await startGateway(t, {
    limits: {
      attempts: {
        'password-by-address': { times: 100, withinMs: 60_000 },
        'password-by-network': { times: 100, withinMs: 60_000 },
      },
    },
  })
  const member = new WebsiteClient(gateway)
  await member.post('auth/sign-up', { email: 'known@example.com', password: good })
  await member.post('auth/otp/verify', { email: 'known@example.com', code: await waitForEmailCode(gateway, 'known@example.com') })
  await new WebsiteClient(gateway).signIn('passwordless@example.com')
  // CPU time, which a busy machine does not stretch.
  const spent: Record<string, number> = { known: 0, unknown: 0, passwordless: 0 }
  for (let round = 0; round < 4; round++) {
    for (const name of Object.keys(spent)) {
      const before = process.cpuUsage()
      await new WebsiteClient(gateway).post('auth/sign-in', { email: `${name}@example.com`, password: 'not the password' })
      const { user, system } = process.cpuUsage(before)
      spent[name] = (spent[name] ?? 0) + user + system
    }
  }
  // Without the decoy hash an unknown address would cost a tenth.
  for (const name of ['unknown', 'passwordless']) {
    const share = (spent[name] ?? 0) / (spent['known'] ?? 0)
    t.ok(share > 0.5 && share < 2, `${name}: ${share.toFixed(2)} of what a known address costs`)
  }
})

t.test('allows five password attempts, from whatever clients and across restarts', async (t) => {
  const gateway = await startGateway(t)
  const member = new WebsiteClient(gateway)
  await member.post('auth/sign-up', { email: 'target@example.com', password: good })
  await member.post('auth/otp/verify', {
    email: 'target@example.com',
    code: await waitForEmailCode(gateway, 'target@example.com'),
  })
  const guesses = await Promise.all(
    Array.from({ length: 20 }, () =>
      new WebsiteClient(gateway).post('auth/sign-in', { email: 'target@example.com', password: 'wrong word' }),
    ),
  )
  t.equal(guesses.filter(({ status }) => status === 401).length, 5)
  t.equal(guesses.filter(({ status }) => status === 429).length, 15)
  await gateway.close()
  const attempts = { 'code-resend': { times: 9, withinMs: 60_000 } }
  const again = await startGateway(t, { limits: { attempts }, store: { dataDir: gateway.config.store.dataDir } })
  const right = { email: 'target@example.com', password: good }
  const refused = await new WebsiteClient(again).post('auth/sign-in', right)
  t.match(refused, { status: 429, body: { message: /sign in by email/ } })
  const known = new WebsiteClient(again)
  known.cookies.set('svc_membership_device', member.cookies.get('svc_membership_device') ?? '')
  t.equal((await known.post('auth/sign-in', right)).status, 200, 'a known browser has attempts of its own')
  t.equal((await new WebsiteClient(again).signIn('target@example.com')).status, 200, 'and an email code still signs in')
})

t.test('counts attempts together for all spellings of one mailbox, and accepts the password with each', async (t) => {
  const gateway = await startGateway(t)
  const member = new WebsiteClient(gateway)
  await member.post('auth/sign-up', { email: 'ann.lee@gmail.com', password: good })
  await member.post('auth/otp/verify', { email: 'ann.lee@gmail.com', code: await waitForEmailCode(gateway, 'ann.lee@gmail.com') })
  const enter = (email: string, password: string) => new WebsiteClient(gateway).post('auth/sign-in', { email, password })
  t.equal((await enter('annlee+x@googlemail.com', good)).status, 200)
  const spellings = ['annlee', 'a.nnlee', 'an.nlee', 'ann.lee', 'annl.ee', 'annle.e', 'annlee+1', 'annlee+2']
  const guesses = await Promise.all(spellings.map((name) => enter(`${name}@gmail.com`, 'wrong word')))
  t.equal(guesses.filter(({ status }) => status === 401).length, 5)
})

t.test('allows a known device five attempts at its own account, and none more at others', async (t) => {
  const gateway = await startGateway(t)
  const thief = new WebsiteClient(gateway)
  await thief.signIn('thief@example.com')
  const owner = new WebsiteClient(gateway)
  await owner.signIn('owner@example.com')
  const guess = (browser: WebsiteClient) => browser.post('auth/sign-in', { email: 'owner@example.com', password: 'wrong word' })
  const guessed = async (browser: WebsiteClient) => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => guess(browser)))
    return answers.filter(({ status }) => status === 401).length
  }
  t.equal(await guessed(thief), 5, 'as an unknown client')
  const word = owner.cookies.get('svc_membership_device') ?? ''
  for (const forged of [
    word.slice(1),
    word.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    'x'.repeat(44),
    '.'.repeat(900),
  ]) {
    thief.cookies.set('svc_membership_device', forged)
    t.equal((await guess(thief)).status, 429, forged.slice(0, 50))
  }
  t.equal(await guessed(owner), 5, 'as a known device')
  t.equal((await guess(owner)).status, 429)
})

t.test('accepts and refuses passwords by length and list', async (t) => {
  const gateway = await startGateway(t, {
    limits: { attempts: { 'code-resend': { times: 99, withinMs: 60_000 }, 'code-by-address': { times: 99, withinMs: 60_000 } } },
  })
  const up = (password: unknown) => new WebsiteClient(gateway).post('auth/sign-up', { email: 'rules@example.com', password })
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

t.test('ends all other sessions and the old cookie when the password changes', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/sign-up', { email: 'change@example.com', password: good })
  await browser.post('auth/otp/verify', {
    email: 'change@example.com',
    code: await waitForEmailCode(gateway, 'change@example.com'),
  })
  const other = new WebsiteClient(gateway)
  await other.post('auth/sign-in', { email: 'change@example.com', password: good })
  t.equal((await other.get('auth/session')).status, 200)
  t.match(
    await other.post('auth/password', { password: 'a new teapot orbit' }),
    { status: 401, body: { code: 'invalid_credentials' } },
    'signed in by password: the current one is required',
  )
  t.match(await other.post('auth/password', { current: 'wrong', password: 'a new teapot orbit' }), { status: 401 })
  const before = other.cookies.get('svc_membership_session') ?? ''
  t.match(await other.post('auth/password', { current: good, password: 'a new teapot orbit' }), {
    status: 200,
    body: { ended_sessions: 1 },
  })
  t.equal((await browser.get('auth/session')).status, 401, 'the other session has ended')
  t.equal((await other.get('auth/session')).status, 200, 'this one continues with a new cookie')
  const old = new WebsiteClient(gateway)
  old.cookies.set('svc_membership_session', before)
  t.equal((await old.get('auth/session')).status, 401, 'the old value is refused')
  t.equal((await new WebsiteClient(gateway).post('auth/sign-in', { email: 'change@example.com', password: good })).status, 401)
  t.equal(
    (await new WebsiteClient(gateway).post('auth/sign-in', { email: 'change@example.com', password: 'a new teapot orbit' }))
      .status,
    200,
  )
  t.ok(
    readEmailsTo(gateway, 'change@example.com').some((email) => email.includes('password')),
    'the owner is notified',
  )
})

t.test('replaces a forgotten password within ten minutes of a sign-in by code', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.post('auth/sign-up', { email: 'forgot@example.com', password: good })
  await browser.post('auth/otp/verify', {
    email: 'forgot@example.com',
    code: await waitForEmailCode(gateway, 'forgot@example.com'),
  })
  now += 61_000
  await browser.signIn('forgot@example.com')
  now += 11 * 60_000
  t.equal((await browser.post('auth/password', { password: 'a new teapot orbit' })).status, 401, 'too late')
  await browser.signIn('forgot@example.com')
  t.equal((await browser.post('auth/password', { password: 'a new teapot orbit' })).status, 200)
})

t.test('requires a new email code for changes in an old session', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const email = 'old@example.com'
  const browser = new WebsiteClient(gateway)
  await browser.signIn(email)
  const { id } = (await browser.get('auth/session')).body.account
  now += 6 * 86_400_000
  const needed = { status: 401, body: { code: 'reauthentication_required', stage: 'auth', actions: ['sign_in'] } }
  t.match(await browser.post('auth/password', { password: good }), needed)
  t.match(await browser.post('auth/delete-account', { confirm: email }), needed)
  t.match(await browser.post('auth/password', { password: good, code: '123456' }), {
    status: 401,
    body: { code: 'invalid_credentials' },
  })

  // A sign-in code confirms no change, and the other way round.
  await browser.post('auth/otp/start', { email })
  const toSignIn = await waitForEmailCode(gateway, email, 2)
  t.equal((await browser.post('auth/password', { password: good, code: toSignIn })).status, 401)
  now += 5 * 60_000
  t.match(await browser.post('auth/reauthenticate'), { status: 200, body: { sent: true } })
  const code = await waitForEmailCode(gateway, email, 3)
  t.notMatch(readEmailsTo(gateway, email).at(-1), '/sign-in/link')
  t.equal((await browser.post('auth/otp/verify', { email, code })).status, 401)
  const other = new WebsiteClient(gateway)
  other.cookies.set('svc_membership_session', browser.cookies.get('svc_membership_session') ?? '')
  t.match(
    await other.post('auth/password', { password: 'short', code }),
    { status: 400 },
    'an invalid password does not consume the code',
  )
  t.match(await other.post('auth/password', { password: good, code: ` ${code.slice(0, 3)} ${code.slice(3)}` }), { status: 200 })
  t.equal((await new WebsiteClient(gateway).post('auth/sign-in', { email, password: good })).status, 200)
  t.match(await other.post('auth/delete-account', { confirm: email, code }), { status: 401 }, 'a code is valid once')
  t.match(await other.post('auth/delete-account', { confirm: email, current: good }), { status: 200 })
  t.match(await gateway.services.store.accounts.find(id), { status: 'deleted' })
})

t.test('allows five attempts an hour at the reauthentication code', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const email = 'held@example.com'
  const browser = new WebsiteClient(gateway)
  await browser.signIn(email)
  now += 86_400_000
  for (let sentCount = 0; sentCount < 3; sentCount++) {
    await browser.post('auth/reauthenticate')
    for (let guess = 0; guess < 5; guess++) await browser.post('auth/password', { password: good, code: 'abcdef' })
    now += 61_000
  }
  const { body } = await browser.get('audit?limit=100')
  t.equal(body.data.filter(({ event }: { event: string }) => event === 'sign_in_failed').length, 15)
  await waitUntil(() => readEmailsTo(gateway, email).length === 4, 'the letters')
  const codes = readEmailsTo(gateway, email).filter((text) => /^\s{4}\d{6}/m.test(text))
  t.equal(codes.length, 2, 'one that signed in, and one that confirms')
})

t.test('a refused sign-up computes no hash', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-to-new-addresses': { times: 2, withinMs: 3_600_000 } } } })
  const { passwords } = gateway.services.membership
  let hashes = 0
  const hash = passwords.hash.bind(passwords)
  passwords.hash = (...args) => {
    hashes += 1
    return hash(...args)
  }
  const signUp = async (email: string): Promise<number> =>
    (await new WebsiteClient(gateway).post('auth/sign-up', { email, password: good })).status
  t.equal(await signUp('first@example.com'), 200)
  t.equal(hashes, 1)
  for (let times = 0; times < 3; times++) t.equal(await signUp('first@example.com'), 429, 'one email a minute')
  t.equal(hashes, 1)
  t.equal(await signUp('second@example.com'), 200)
  for (const name of ['third', 'fourth']) t.equal(await signUp(`${name}@example.com`), 503, 'new addresses are paused')
  t.equal(hashes, 2)
})

t.test('a sign-up whose hash finds no room counts nothing and can be repeated', async (t) => {
  const gateway = await startGateway(t)
  const { passwords } = gateway.services.membership
  const hash = passwords.hash.bind(passwords)
  passwords.hash = () => Promise.reject(new TooManyAttempts(3_000))
  const browser = new WebsiteClient(gateway)
  const email = 'new@example.com'
  for (let times = 0; times < 30; times++) {
    const answer = await browser.post('auth/sign-up', { email, password: good })
    t.match(answer, { status: 429, body: { code: 'rate_limited' } })
    t.equal(answer.headers.get('retry-after'), '3')
  }
  passwords.hash = hash
  t.equal((await browser.post('auth/sign-up', { email, password: good })).status, 200)
  t.equal((await browser.post('auth/otp/verify', { email, code: await waitForEmailCode(gateway, email) })).status, 200)
  t.equal((await new WebsiteClient(gateway).post('auth/sign-in', { email, password: good })).status, 200)
})

t.test('a flood of wrong passwords from 16 addresses refuses no right password of others', async (t) => {
  const gateway = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  const { store, ids, clock } = gateway.services
  const at = clock.now()
  const passwordHash = await hashPassword(good)
  const members = Array.from({ length: 12 }, (_, index) => `member-${index}@example.com`)
  for (const email of members)
    await store.accounts.create({ id: ids.next('acc_', at), email, plan: 'free', passwordHash, emailVerified: true, at })
  const signIn = async (address: string, email: string, password: string): Promise<number> =>
    (await new WebsiteClient(gateway).post('auth/sign-in', { email, password }, { 'x-forwarded-for': address })).status
  const flood = Array.from({ length: 96 }, (_, index) =>
    signIn(`198.51.100.${index % 16}`, `stranger-${index}@example.com`, 'another teapot orbit'),
  )
  const others = await Promise.all(members.map((email, index) => signIn(`203.0.113.${index}`, email, good)))
  t.same(others, Array<number>(12).fill(200))
  const answers = await Promise.all(flood)
  t.ok(
    answers.every((status) => status === 401 || status === 429),
    'the flood itself is refused',
  )
})
