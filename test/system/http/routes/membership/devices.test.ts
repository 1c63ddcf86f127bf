/** Device login: what a program receives, what a member decides, and what is refused. */
import t from 'tap'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const program = (gateway: TestGateway) => new WebsiteClient(gateway, { 'user-agent': 'svc-cli/1.0' })
const begin = async (gateway: TestGateway) =>
  (await program(gateway).post('auth/device/start', { client: 'svc-cli', hostname: 'desk', client_version: '1.0' })).body
const poll = (gateway: TestGateway, device_code: unknown) => program(gateway).post('auth/device/poll', { device_code })

t.test('leads from the first request to a session token for the session’s endpoints alone', async (t) => {
  const gateway = await startGateway(t)
  const started = await program(gateway).post('auth/device/start', { client: 'svc-cli', hostname: 'desk' })
  t.equal(started.status, 200)
  t.equal(started.headers.get('cache-control'), 'no-store')
  t.match(started.body, {
    device_code: /^[\w-]{43}$/,
    user_code: /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/,
    verification_uri: `${gateway.url}/device`,
    verification_uri_complete: `${gateway.url}/device?user_code=${started.body.user_code}`,
    expires_in: 600,
    interval: 5,
    requestId: /^mbr_/,
  })
  const { device_code, user_code } = started.body
  t.match((await poll(gateway, device_code)).body, {
    status: 'pending',
    error: 'authorization_pending',
    interval: 5,
    requestId: /^mbr_/,
  })

  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  const seen = await browser.post('auth/device/lookup', { user_code: ` ${user_code.toLowerCase().replace('-', '')} ` })
  t.match(seen.body.device, {
    user_code,
    client: 'svc-cli',
    hostname: 'desk',
    address: '127.0.0.x',
    same_network: true,
    state: 'claimed',
  })
  t.match(await browser.post('auth/device/approve', { user_code }), { status: 200, body: { status: 'approved' } })

  const approved = await poll(gateway, device_code)
  t.match(approved, {
    status: 200,
    body: {
      status: 'approved',
      sessionToken: /^svc_sess_[\w-]{43}$/,
      token_type: 'Bearer',
      expires_in: 90 * 86_400,
      account: { email_masked: 'o***@example.com', plan: 'free' },
    },
  })
  const { sessionToken } = approved.body
  t.match(await poll(gateway, device_code), { status: 400, body: { code: 'invalid_grant', stage: 'auth' } }, 'once')

  const bearer = { authorization: `Bearer ${sessionToken}` }
  t.equal((await gateway.chat(sessionToken)).status, 200)
  t.equal((await program(gateway).get('usage', bearer)).status, 200)
  t.equal((await program(gateway).get('boost', bearer)).status, 200)
  t.equal((await program(gateway).post('boost', { action: 'checkin' }, bearer)).status, 200)
  for (const path of ['auth/api-keys', 'auth/sessions', 'audit']) {
    t.match(
      await program(gateway).get(path, bearer),
      { status: 401, body: { code: 'sign_in_required' } },
      `${path} requires the cookie`,
    )
  }
  t.equal((await program(gateway).post('auth/api-keys', { name: 'x' }, bearer)).status, 401)

  const sessions = await browser.get('auth/sessions')
  t.match(
    sessions.body.data.find(({ kind }: { kind: string }) => kind === 'cli'),
    { method: 'device', client: 'svc-cli · desk', current: false },
  )
  t.equal((await program(gateway).post('auth/sign-out', {}, bearer)).status, 200)
  t.equal((await gateway.chat(sessionToken)).status, 401, 'refused after sign-out')
})

t.test('revokes an approval that was not fetched together with the other sessions', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } })
  const owner = new WebsiteClient(gateway)
  await owner.signIn('owner@example.com')
  const thief = new WebsiteClient(gateway)
  await thief.signIn('owner@example.com')
  for (const [path, body] of [
    ['auth/password', { password: 'violet teapot orbit' }],
    ['auth/sessions/end-others', {}],
  ] as const) {
    const { device_code, user_code } = await begin(gateway)
    t.equal((await thief.post('auth/device/approve', { user_code })).status, 200)
    t.equal((await owner.post(path, body)).status, 200)
    t.match(await poll(gateway, device_code), { status: 400, body: { code: 'access_denied' } }, path)
    await thief.signIn('owner@example.com')
  }
  t.match((await owner.get('auth/sessions')).body.data, [{ kind: 'web' }, { kind: 'web' }])
})

t.test('approves nothing when the link is opened or the code is inspected', async (t) => {
  const gateway = await startGateway(t)
  const { device_code, user_code, verification_uri_complete } = await begin(gateway)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  await browser.get(verification_uri_complete)
  t.match((await poll(gateway, device_code)).body, { status: 'pending' })
  await browser.post('auth/device/lookup', { user_code })
  t.match((await poll(gateway, device_code)).body, { error: 'slow_down' })
  for (const path of ['approve', 'deny', 'lookup']) {
    t.equal((await browser.get(`auth/device/${path}?user_code=${user_code}`)).status, 405, `GET ${path}`)
  }
})

t.test('issues one token to a hundred simultaneous polls', async (t) => {
  const gateway = await startGateway(t)
  const { device_code, user_code } = await begin(gateway)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  await browser.post('auth/device/approve', { user_code })
  const answers = await Promise.all(Array.from({ length: 100 }, () => poll(gateway, device_code)))
  t.equal(answers.filter(({ body }) => body.sessionToken !== undefined).length, 1)
  t.equal(answers.filter(({ body }) => body.code === 'invalid_grant').length, 99)
  const cli = (await browser.get('auth/sessions')).body.data.filter(({ kind }: { kind: string }) => kind === 'cli')
  t.equal(cli.length, 1)
})

t.test('hides a code claimed by another account', async (t) => {
  const gateway = await startGateway(t)
  const { device_code, user_code } = await begin(gateway)
  const first = new WebsiteClient(gateway)
  const second = new WebsiteClient(gateway)
  await first.signIn('first@example.com')
  await second.signIn('second@example.com')
  t.equal((await first.post('auth/device/lookup', { user_code })).status, 200)
  for (const path of ['lookup', 'approve', 'deny']) {
    t.match(await second.post(`auth/device/${path}`, { user_code }), { status: 404, body: { code: 'not_found' } }, path)
  }
  const unknown = await second.post('auth/device/approve', { user_code: 'BBBB-BBBB' })
  t.equal(unknown.status, 404)
  t.match((await poll(gateway, device_code)).body, { status: 'pending' })
  t.equal((await first.post('auth/device/approve', { user_code })).status, 200)
  t.equal((await first.post('auth/device/deny', { user_code })).status, 404, 'decided once')
  const { body } = await poll(gateway, device_code)
  t.match(body.account, { email_masked: 'f***@example.com' })
})

t.test('gives the device to one of two accounts that approve at once', async (t) => {
  const gateway = await startGateway(t)
  const { user_code } = await begin(gateway)
  const browsers = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async (name) => {
      const browser = new WebsiteClient(gateway)
      await browser.signIn(`${name}@example.com`)
      return browser
    }),
  )
  const answers = await Promise.all(browsers.map((browser) => browser.post('auth/device/approve', { user_code })))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
})

t.test('answers denied, expired and unknown codes', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  const denied = await begin(gateway)
  t.match(await browser.post('auth/device/deny', { user_code: denied.user_code }), { status: 200, body: { status: 'denied' } })
  t.match(await poll(gateway, denied.device_code), { status: 400, body: { code: 'access_denied', stage: 'auth' } })
  const late = await begin(gateway)
  const approvedLate = await begin(gateway)
  await browser.post('auth/device/approve', { user_code: approvedLate.user_code })
  now += 600_000
  t.match(await poll(gateway, late.device_code), { status: 400, body: { code: 'expired_token', actions: ['device_login'] } })
  t.match(await poll(gateway, approvedLate.device_code), { status: 400, body: { code: 'expired_token' } })
  t.equal((await browser.post('auth/device/approve', { user_code: late.user_code })).status, 404)
  for (const code of ['x'.repeat(43), 'short', "' or 1=1 --", '%', 'é'.repeat(43)]) {
    t.match(await poll(gateway, code), { status: 400, body: { code: 'invalid_grant' } }, code.slice(0, 12))
  }
  for (const code of [undefined, null, 5, '', {}, 'a\0b', 'x'.repeat(300)]) {
    t.match(await poll(gateway, code), { status: 400, body: { code: 'invalid_request', error: { param: 'device_code' } } })
  }
})

t.test('slows down polling that is too fast, and only that', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const { device_code, user_code } = await begin(gateway)
  t.match((await poll(gateway, device_code)).body, { status: 'pending', interval: 5 })
  now += 5_000
  t.match((await poll(gateway, device_code)).body, { status: 'pending', interval: 5 })
  now += 1_000
  t.match((await poll(gateway, device_code)).body, { status: 'slow_down', error: 'slow_down', interval: 10 })
  now += 5_000
  t.match((await poll(gateway, device_code)).body, { status: 'slow_down', interval: 15 })
  now += 15_000
  t.match((await poll(gateway, device_code)).body, { status: 'pending', interval: 15, expires_in: 574 })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  await browser.post('auth/device/approve', { user_code })
  t.match((await poll(gateway, device_code)).body, { status: 'approved' }, 'an approved code is returned at once')
})

t.test('allows five guesses at user codes in ten minutes, however many at once', async (t) => {
  const gateway = await startGateway(t)
  const { user_code } = await begin(gateway)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('guesser@example.com')
  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      browser.post('auth/device/approve', { user_code: `BCDF-BCD${'BCDFGHJKLMNPQRSTVWXZ'[i]}` }),
    ),
  )
  t.equal(guesses.filter(({ status }) => status === 404).length, 5)
  t.equal(guesses.filter(({ status }) => status === 429).length, 15)
  t.equal((await browser.post('auth/device/approve', { user_code })).status, 429, 'even the right one')
})

t.test('limits one client to ten devices and five guesses in ten minutes, with however many accounts', async (t) => {
  const gateway = await startGateway(t)
  const starts = await Promise.all(
    Array.from({ length: 14 }, () => program(gateway).post('auth/device/start', { client: 'svc-cli' })),
  )
  t.equal(starts.filter(({ status }) => status === 200).length, 10)
  const statuses: number[] = []
  for (const name of ['one', 'two', 'three']) {
    const browser = new WebsiteClient(gateway)
    await browser.signIn(`${name}@example.com`)
    for (let guess = 0; guess < 3; guess++)
      statuses.push((await browser.post('auth/device/lookup', { user_code: 'BCDF-BCDF' })).status)
  }
  t.equal(statuses.filter((status) => status === 404).length, 5)
})

t.test('limits starts by address and accepts known clients only', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'device-start': { times: 3, withinMs: 600_000 } } } })
  for (const client of ['evil-cli', '', 5, undefined]) {
    t.match(await program(gateway).post('auth/device/start', { client }), { status: 400, body: { error: { param: 'client' } } })
  }
  t.match(await program(gateway).post('auth/device/start', { client: 'svc-cli', hostname: 'a\nb' }), {
    status: 400,
    body: { error: { param: 'hostname' } },
  })
  for (let i = 0; i < 3; i++) t.ok((await begin(gateway)).device_code)
  const refused = await program(gateway).post('auth/device/start', { client: 'svc-cli' })
  t.match(refused, { status: 429, body: { code: 'rate_limited' } })
  t.ok(refused.headers.has('retry-after'))
})

t.test('issues no token for an account disabled between approval and poll', async (t) => {
  const gateway = await startGateway(t)
  const { device_code, user_code } = await begin(gateway)
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('owner@example.com')).body
  await browser.post('auth/device/approve', { user_code })
  await gateway.services.store.accounts.setStatus(account.id, 'disabled')
  t.match(await poll(gateway, device_code), { status: 400, body: { code: 'invalid_grant' } })
})
