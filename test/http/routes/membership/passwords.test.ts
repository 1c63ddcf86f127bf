/** Passwords: what they open, what they never tell, and how often they may be tried. */
import t from 'tap'
import { Browser, codeFor, lettersTo } from '../../../support/browser.ts'
import { startGateway, until } from '../../../support/gateway.ts'

const good = 'violet teapot orbit'

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

t.test('an old password that was being checked while it was changed opens nothing', async (t) => {
  const gateway = await startGateway(t)
  const { passwords } = gateway.services.membership
  const email = 'owner@example.com'
  const owner = new Browser(gateway)
  await owner.post('auth/sign-up', { email, password: good })
  await owner.post('auth/otp/verify', { email, code: await codeFor(gateway, email) })
  const checked = Promise.withResolvers<undefined>()
  const released = Promise.withResolvers<undefined>()
  const verify = passwords.verify.bind(passwords)
  passwords.verify = async (password, phc) => {
    const verdict = await verify(password, phc)
    checked.resolve(undefined)
    await released.promise
    return verdict
  }
  const late = new Browser(gateway).post('auth/sign-in', { email, password: good })
  await checked.promise
  t.equal((await owner.post('auth/password', { password: 'another teapot orbit' })).status, 200)
  released.resolve(undefined)
  t.match(await late, { status: 401, body: { code: 'invalid_credentials' } })
  t.equal((await owner.get('auth/sessions')).body.data.length, 1, 'only the session that changed it is left')
  passwords.verify = verify
  t.equal((await new Browser(gateway).post('auth/sign-in', { email, password: 'another teapot orbit' })).status, 200)
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

t.test('passwords are guessed five times, whoever guesses and after whatever restart', async (t) => {
  const gateway = await startGateway(t)
  const member = new Browser(gateway)
  await member.post('auth/sign-up', { email: 'target@example.com', password: good })
  await member.post('auth/otp/verify', { email: 'target@example.com', code: await codeFor(gateway, 'target@example.com') })
  const guesses = await Promise.all(
    Array.from({ length: 20 }, () =>
      new Browser(gateway).post('auth/sign-in', { email: 'target@example.com', password: 'wrong word' }),
    ),
  )
  t.equal(guesses.filter(({ status }) => status === 401).length, 5)
  t.equal(guesses.filter(({ status }) => status === 429).length, 15)
  await gateway.close()
  const attempts = { 'code-resend': { times: 9, withinMs: 60_000 } }
  const again = await startGateway(t, { limits: { attempts }, store: { dataDir: gateway.config.store.dataDir } })
  const right = { email: 'target@example.com', password: good }
  const refused = await new Browser(again).post('auth/sign-in', right)
  t.match(refused, { status: 429, body: { message: /sign in by mail/ } })
  const known = new Browser(again)
  known.cookies.set('svc_membership_device', member.cookies.get('svc_membership_device') ?? '')
  t.equal((await known.post('auth/sign-in', right)).status, 200, 'a browser that has signed in before has tries of its own')
  t.equal((await new Browser(again).signIn('target@example.com')).status, 200, 'and a letter lets in any')
})

t.test('the spellings of one mailbox share their guesses, and a password is good with each', async (t) => {
  const gateway = await startGateway(t)
  const member = new Browser(gateway)
  await member.post('auth/sign-up', { email: 'ann.lee@gmail.com', password: good })
  await member.post('auth/otp/verify', { email: 'ann.lee@gmail.com', code: await codeFor(gateway, 'ann.lee@gmail.com') })
  const enter = (email: string, password: string) => new Browser(gateway).post('auth/sign-in', { email, password })
  t.equal((await enter('annlee+x@googlemail.com', good)).status, 200)
  const spellings = ['annlee', 'a.nnlee', 'an.nlee', 'ann.lee', 'annl.ee', 'annle.e', 'annlee+1', 'annlee+2']
  const guesses = await Promise.all(spellings.map((name) => enter(`${name}@gmail.com`, 'wrong word')))
  t.equal(guesses.filter(({ status }) => status === 401).length, 5)
})

t.test('a known device has five guesses for its own account, and none more for others', async (t) => {
  const gateway = await startGateway(t)
  const thief = new Browser(gateway)
  await thief.signIn('thief@example.com')
  const owner = new Browser(gateway)
  await owner.signIn('owner@example.com')
  const guess = (browser: Browser) => browser.post('auth/sign-in', { email: 'owner@example.com', password: 'wrong word' })
  const guessed = async (browser: Browser) => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => guess(browser)))
    return answers.filter(({ status }) => status === 401).length
  }
  t.equal(await guessed(thief), 5, 'as a stranger')
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

t.test('a session of last week changes nothing without the code of a letter asked for now', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const email = 'old@example.com'
  const browser = new Browser(gateway)
  await browser.signIn(email)
  const { id } = (await browser.get('auth/session')).body.account
  now += 6 * 86_400_000
  const needed = { status: 401, body: { code: 'proof_required', stage: 'auth', actions: ['sign_in'] } }
  t.match(await browser.post('auth/password', { password: good }), needed)
  t.match(await browser.post('auth/delete-account', { confirm: email }), needed)
  t.match(await browser.post('auth/password', { password: good, code: '123456' }), {
    status: 401,
    body: { code: 'invalid_credentials' },
  })

  // A letter that signs in proves no change, and the other way round.
  await browser.post('auth/otp/start', { email })
  const toSignIn = await codeFor(gateway, email, 2)
  t.equal((await browser.post('auth/password', { password: good, code: toSignIn })).status, 401)
  now += 5 * 60_000
  t.match(await browser.post('auth/proof/start'), { status: 200, body: { sent: true } })
  const code = await codeFor(gateway, email, 3)
  t.notMatch(lettersTo(gateway, email).at(-1), '/sign-in/link')
  t.equal((await browser.post('auth/otp/verify', { email, code })).status, 401)
  const other = new Browser(gateway)
  other.cookies.set('svc_membership_session', browser.cookies.get('svc_membership_session') ?? '')
  t.match(await other.post('auth/password', { password: 'short', code }), { status: 400 }, 'a bad password uses up no code')
  t.match(await other.post('auth/password', { password: good, code: ` ${code.slice(0, 3)} ${code.slice(3)}` }), { status: 200 })
  t.equal((await new Browser(gateway).post('auth/sign-in', { email, password: good })).status, 200)
  t.match(await other.post('auth/delete-account', { confirm: email, code }), { status: 401 }, 'a code is good once')
  t.match(await other.post('auth/delete-account', { confirm: email, current: good }), { status: 200 })
  t.match(await gateway.services.store.accounts.find(id), { status: 'deleted' })
})

t.test('the code that confirms is guessed five times an hour', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: { now: () => now, ticks: () => performance.now() } })
  const email = 'held@example.com'
  const browser = new Browser(gateway)
  await browser.signIn(email)
  now += 86_400_000
  for (let letter = 0; letter < 3; letter++) {
    await browser.post('auth/proof/start')
    for (let guess = 0; guess < 5; guess++) await browser.post('auth/password', { password: good, code: 'abcdef' })
    now += 61_000
  }
  const { body } = await browser.get('audit?limit=100')
  t.equal(body.data.filter(({ event }: { event: string }) => event === 'sign_in_failed').length, 15)
  await until(() => lettersTo(gateway, email).length === 4, 'the letters')
  const codes = lettersTo(gateway, email).filter((letter) => /^\s{4}\d{6}/m.test(letter))
  t.equal(codes.length, 2, 'the one that signed in, and one that confirms')
})
