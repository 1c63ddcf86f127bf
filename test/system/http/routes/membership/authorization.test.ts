/** Which credential each endpoint accepts, which page may write, and which account owns what. */
import t from 'tap'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../../src/system/clock.ts'

async function sessionToken(gateway: TestGateway, browser: WebsiteClient): Promise<string> {
  const program = new WebsiteClient(gateway, {})
  const { device_code, user_code } = (await program.post('auth/device/start', { client: 'svc-cli' })).body
  await browser.post('auth/device/approve', { user_code })
  return (await program.post('auth/device/poll', { device_code })).body.sessionToken
}

const cookieEndpoints = [
  ['GET', 'auth/api-keys'],
  ['POST', 'auth/api-keys'],
  ['DELETE', 'auth/api-keys/key_x'],
  ['GET', 'auth/sessions'],
  ['DELETE', 'auth/sessions/ses_x'],
  ['POST', 'auth/sessions/end-others'],
  ['POST', 'auth/password'],
  ['POST', 'auth/delete-account'],
  ['POST', 'auth/device/lookup'],
  ['POST', 'auth/device/approve'],
  ['POST', 'auth/device/deny'],
  ['GET', 'audit'],
] as const
const sessionEndpoints = [
  ['GET', 'auth/session'],
  ['GET', 'usage'],
  ['GET', 'boost'],
  ['POST', 'boost'],
] as const

const bodyFor = (method: string): unknown => (method === 'POST' ? {} : undefined)

t.test('accepts at each endpoint exactly the credentials it documents', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  const session = await sessionToken(gateway, browser)
  const key = await gateway.createKey(account.id)
  const cookie = browser.cookies.get('svc_membership_session') ?? ''
  const own = { 'sec-fetch-site': 'same-origin' }
  const closedToAll = {
    nothing: {},
    'an API key': { authorization: `Bearer ${key}` },
    'an API key beside a good cookie': { authorization: `Bearer ${key}`, cookie: `svc_membership_session=${cookie}` },
    'the cookie as a bearer': { authorization: `Bearer ${cookie}` },
    'a session token as the cookie': { cookie: `svc_membership_session=${session}` },
    'an API key as the cookie': { cookie: `svc_membership_session=${key}` },
    'an unknown cookie': { cookie: `svc_membership_session=${'x'.repeat(43)}` },
    'a token of the right form': { authorization: `Bearer svc_sess_${'x'.repeat(43)}` },
    'basic authentication': { authorization: 'Basic YTpi' },
    'a cookie full of SQL': { cookie: `svc_membership_session=' or 1=1 --` },
  }
  for (const [method, path] of [...cookieEndpoints, ...sessionEndpoints]) {
    for (const [name, headers] of Object.entries(closedToAll)) {
      const answer = await new WebsiteClient(gateway, own).send(method, path, bodyFor(method), headers)
      t.match(answer, { status: 401, body: { code: 'sign_in_required', stage: 'auth', ok: false } }, `${method} ${path}: ${name}`)
      t.ok(answer.headers.has('www-authenticate'))
    }
    const twice = await new WebsiteClient(gateway, own).send(method, path, bodyFor(method), {
      cookie: `svc_membership_session=${cookie}; svc_membership_session=${cookie}`,
    })
    t.match(twice, { status: 401, body: { code: 'sign_in_required' } }, `${method} ${path}: the cookie twice`)
  }
  for (const [method, path] of cookieEndpoints) {
    const answer = await new WebsiteClient(gateway, own).send(method, path, bodyFor(method), {
      authorization: `Bearer ${session}`,
    })
    t.equal(answer.status, 401, `${method} ${path}: a session token`)
  }
  for (const [method, path] of sessionEndpoints) {
    const answer = await new WebsiteClient(gateway, {}).send(method, path, bodyFor(method), {
      authorization: `Bearer ${session}`,
    })
    t.not(answer.status, 401, `${method} ${path}: a session token`)
  }
  t.equal((await gateway.chat(cookie)).status, 401, 'the cookie is no bearer token for /v1 either')
})

t.test('refuses writes from pages of other sites', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway, {})
  await new WebsiteClient(gateway).signIn('other@example.com')
  const owner = new WebsiteClient(gateway)
  await owner.signIn('member@example.com')
  for (const [name, value] of owner.cookies) browser.cookies.set(name, value)
  const { url } = gateway
  const foreign = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: url },
    { 'sec-fetch-site': 'nonsense' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `${url}.evil.example` },
    { origin: url.replace('http:', 'https:') },
    { referer: 'https://evil.example/' },
    { referer: `https://evil.example/?${url}` },
    { referer: 'nonsense' },
    {},
  ]
  const writes = cookieEndpoints.filter(([method]) => method !== 'GET')
  for (const [method, path] of [...writes, ['POST', 'boost'] as const, ['POST', 'auth/sign-out'] as const]) {
    for (const headers of foreign) {
      const answer = await browser.send(method, path, bodyFor(method), headers)
      t.match(
        answer,
        { status: 403, body: { code: 'forbidden_origin', stage: 'auth' } },
        `${method} ${path} ${JSON.stringify(headers)}`,
      )
    }
  }
  for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: url }, { referer: `${url}/keys` }]) {
    t.equal((await browser.post('auth/api-keys', { name: 'mine' }, headers)).status, 201, JSON.stringify(headers))
  }
  t.equal((await owner.get('auth/sessions')).body.data.length, 1, 'the session is still there')
})

t.test('refuses mail and sign-in requests from pages of other sites', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway, {})
  const paths = ['auth/otp/start', 'auth/otp/verify', 'auth/sign-up', 'auth/sign-in', 'auth/device/start', 'auth/device/poll']
  for (const path of paths) {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
      t.match(
        await browser.post(path, { email: 'a@example.com' }, headers),
        { status: 403, body: { code: 'forbidden_origin' } },
        path,
      )
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      t.equal((await browser.post(path, '{"email":"a@example.com"}', { 'content-type': type })).status, 415, `${path} ${type}`)
    }
  }
})

t.test('hides objects of other accounts', async (t) => {
  const gateway = await startGateway(t)
  const owner = new WebsiteClient(gateway)
  const stranger = new WebsiteClient(gateway)
  await owner.signIn('owner@example.com')
  await stranger.signIn('stranger@example.com')
  const key = (await owner.post('auth/api-keys', { name: 'mine' })).body
  const [session] = (await owner.get('auth/sessions')).body.data
  t.match(await stranger.delete(`auth/api-keys/${key.id}`), { status: 404, body: { code: 'not_found' } })
  t.match(await stranger.delete(`auth/sessions/${session.id}`), { status: 404, body: { code: 'not_found' } })
  t.equal((await gateway.chat(key.token)).status, 200)
  t.equal((await owner.get('auth/session')).status, 200)
  t.same((await stranger.get('auth/api-keys')).body.data, [])
  t.equal((await stranger.get('auth/sessions')).body.data.length, 1)
  const strangersId = (await stranger.get('auth/session')).body.account.id
  const body = { name: 'theirs', account: strangersId, account_id: strangersId, id: 'key_mine', plan: 'max' }
  await owner.post('auth/api-keys', body)
  t.same((await stranger.get('auth/api-keys')).body.data, [], 'an account id in the query is ignored')
})

t.test('names the field of an invalid body', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  for (const [path, body, param] of [
    ['auth/api-keys', {}, 'name'],
    ['auth/api-keys', { name: '' }, 'name'],
    ['auth/api-keys', { name: '   ' }, 'name'],
    ['auth/api-keys', { name: 'x'.repeat(65) }, 'name'],
    ['auth/api-keys', { name: 'a\u0000b' }, 'name'],
    ['auth/api-keys', { name: 5 }, 'name'],
    ['auth/api-keys', { name: 'x', expires_in_days: 0 }, 'expires_in_days'],
    ['auth/api-keys', { name: 'x', expires_in_days: 366 }, 'expires_in_days'],
    ['auth/api-keys', { name: 'x', expires_in_days: '30' }, 'expires_in_days'],
    ['auth/api-keys', { name: 'x', expires_in_days: 1.5 }, 'expires_in_days'],
    ['boost', {}, 'action'],
    ['boost', { action: 'invite' }, 'action'],
    ['boost', { action: ['checkin'] }, 'action'],
    ['auth/device/approve', {}, 'user_code'],
    ['auth/password', {}, 'password'],
    ['auth/otp/start', {}, 'email'],
    ['auth/otp/verify', { email: 'a@example.com' }, 'code'],
    ['auth/otp/verify', { email: 'a@example.com', code: 123456 }, 'code'],
    ['auth/sign-in', { email: 'a@example.com' }, 'password'],
  ] as const) {
    const answer = await browser.post(path, body)
    t.match(
      answer,
      { status: 400, body: { code: 'invalid_request', stage: 'validation', error: { param } } },
      `${path} ${JSON.stringify(body)}`,
    )
    t.ok(answer.body.messageZh)
  }
  for (const body of ['', '[]', '"x"', 'null', '{', '{"name":}']) {
    t.match(await browser.post('auth/api-keys', body), { status: 400, body: { code: 'invalid_request' } }, body)
  }
  t.equal((await browser.get('audit?limit=0')).status, 400)
  t.equal((await browser.send('PUT', 'auth/api-keys', {})).status, 405)
})

t.test('allows twenty live keys per account, however many are requested at once', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => browser.post('auth/api-keys', { name: `key ${i}` })))
  t.equal(answers.filter(({ status }) => status === 201).length, 20)
  const [first] = (await browser.get('auth/api-keys')).body.data
  await browser.delete(`auth/api-keys/${first.id}`)
  t.equal((await browser.post('auth/api-keys', { name: 'in its place' })).status, 201)
})

t.test('refuses an expired key', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  const { token } = (await browser.post('auth/api-keys', { name: 'short', expires_in_days: 1 })).body
  t.equal((await gateway.chat(token)).status, 200)
  now += 86_400_000
  t.equal((await gateway.chat(token)).status, 401)
})

t.test('counts limits by network, not by header, across restarts', async (t) => {
  const attempts = { 'device-start': { times: 3, withinMs: 600_000 } }
  const start = (gateway: TestGateway, from: string) =>
    new WebsiteClient(gateway, {}).post('auth/device/start', { client: 'svc-cli' }, { 'x-forwarded-for': from })
  const open = await startGateway(t, { limits: { attempts } })
  for (let i = 0; i < 3; i++) t.equal((await start(open, `198.51.100.${i}`)).status, 200)
  t.equal((await start(open, '198.51.100.9')).status, 429, 'a header from an untrusted peer is ignored')
  await open.close()
  const second = await startGateway(t, { limits: { attempts }, store: { dataDir: open.config.store.dataDir } })
  t.equal((await start(second, '198.51.100.9')).status, 429, 'the next process continues counting')

  const proxied = await startGateway(t, { limits: { attempts }, listen: { trustedProxies: ['127.0.0.1'] } })
  for (let i = 0; i < 3; i++) t.equal((await start(proxied, `2001:db8:1:2::${i}`)).status, 200)
  t.equal((await start(proxied, '2001:DB8:1:2:ffff::9')).status, 429, 'one /64 is one customer')
  t.equal((await start(proxied, '2001:db8:1:3::1')).status, 200, 'another one is another')
  t.equal((await start(proxied, '6.6.6.6, 2001:db8:1:2::77')).status, 429, 'the first hop from the right that is not ours')
})

t.test('reports when a key was last used', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  const { token } = (await browser.post('auth/api-keys', { name: 'used' })).body
  await browser.post('auth/api-keys', { name: 'unused' })
  await gateway.chat(token)
  await gateway.services.credentials.flushLastUsed()
  const [used, unused] = (await browser.get('auth/api-keys')).body.data
  t.ok(Math.abs(Date.parse(used.last_used_at) - Date.now()) < 60_000)
  t.equal(unused.last_used_at, null)
})

t.test('never looks malformed tokens up in the store', async (t) => {
  const gateway = await startGateway(t)
  const { store } = gateway.services
  let looks = 0
  for (const repository of [store.apiKeys, store.sessions]) {
    const find = repository.findByHash.bind(repository)
    Object.assign(repository, { findByHash: (hash: Uint8Array) => ((looks += 1), find(hash)) })
  }
  const malformed = [
    "' or '1'='1",
    '%',
    '_'.repeat(42),
    'svc_live_',
    `svc_live_${'A'.repeat(38)}`,
    `svc_live_${'A'.repeat(37)}`,
    `svc_sess_${'x'.repeat(42)}`,
    `svc_sess_${'x'.repeat(44)}`,
    `svc_sess_${'.'.repeat(43)}`,
    'x'.repeat(8_000),
    'null',
    'undefined',
    '../../etc/passwd',
    '${jndi:ldap://x}',
    '\u00e9\u00e8',
    'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.',
  ]
  for (const token of malformed) {
    const bearer = await new WebsiteClient(gateway, {}).get('usage', { authorization: `Bearer ${token}` })
    t.match(bearer, { status: 401, body: { code: 'sign_in_required' } }, `bearer ${token.slice(0, 30)}`)
    const cookie = await new WebsiteClient(gateway).get('usage', { cookie: `svc_membership_session=${token}` })
    t.match(cookie, { status: 401, body: { code: 'sign_in_required' } }, `cookie ${token.slice(0, 30)}`)
    t.equal((await gateway.chat(token)).status, 401)
  }
  t.equal(looks, 0)
  await gateway.chat(`svc_sess_${'x'.repeat(43)}`)
  t.ok(looks > 0, 'an unknown one is looked up')
})
