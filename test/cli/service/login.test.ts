/** Signing in and out against a scripted service: the protocol of waiting, and what is kept of it. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Route } from '../../support/contract-server.ts'
import { fail, json, startContractServer } from '../../support/contract-server.ts'
import { runProgram, svc } from '../../support/run-svc.ts'

const account = { id: 'acc_1', email_masked: 'a***@example.org', plan: 'pro' }
const approved = {
  status: 'approved',
  sessionToken: 'svc_sess_secret',
  token_type: 'Bearer',
  expires_at: '2027-01-01T00:00:00Z',
  account,
}

/** Device login at a pace for tests; `polls` are the answers in order, the last one again and again. */
async function loginServer(t: Test, polls: readonly Route[], start: Record<string, unknown> = {}) {
  const server = await startContractServer()
  t.teardown(() => server.close())
  let asked = 0
  server.routes['POST /api/membership/auth/device/start'] = (_, response) =>
    json(response, {
      device_code: 'device-code',
      user_code: 'BCDF-GHJK',
      verification_uri: `${server.origin}/device`,
      verification_uri_complete: `${server.origin}/device?user_code=BCDF-GHJK`,
      expires_in: 600,
      interval: 0.01,
      ...start,
    })
  server.routes['POST /api/membership/auth/device/poll'] = (received, response, request) => {
    const poll = polls[Math.min(asked, polls.length - 1)]
    asked += 1
    return poll?.(received, response, request)
  }
  return server
}

const pending: Route = (_, response) =>
  json(response, { status: 'pending', error: 'authorization_pending', interval: 0.01, expires_in: 500 })

t.test('login learns what the names of the service begin with, for all later commands', async (t) => {
  const server = await loginServer(t, [(_, response) => json(response, approved)])
  server.routes['GET /api/membership/plans'] = (_, response) => json(response, { brand: { slug: 'acme' }, data: [] })
  const home = t.testdir()
  t.equal((await svc(['login'], { home, site: server.origin })).code, 0)
  const start = server.received.find(({ path }) => path.endsWith('/device/start'))
  t.match(start?.body, { client: 'acme-cli' })
  t.match(start?.headers['x-acme-request-id'], /^mbr_/)
  t.match(JSON.parse(readFileSync(join(home, 'svc', 'config.json'), 'utf8')), { brand: 'acme' })
})

t.test('login prints the address and the code, waits for the approval, and keeps the session in a private file', async (t) => {
  const server = await loginServer(t, [pending, pending, (_, response) => json(response, approved)])
  const home = t.testdir()
  const ended = await runProgram(['login'], { home, site: server.origin })
  t.equal(ended.code, 0)
  t.match(ended.stderr, `${server.origin}/device?user_code=BCDF-GHJK`)
  t.match(ended.stderr, 'BCDF-GHJK')
  t.equal(ended.stdout, `Signed in at ${server.origin} · a***@example.org · pro.\n`)
  t.notMatch(ended.stdout + ended.stderr, 'svc_sess_secret', 'the token is shown nowhere')
  const [plans, start, ...polls] = server.received
  t.equal(plans?.path, '/api/membership/plans')
  t.match(start?.body, { client: 'svc-cli' })
  t.equal(polls.length, 3)
  t.match(polls[0]?.body, { device_code: 'device-code' })
  const file = join(home, 'svc', 'credentials.json')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.match(JSON.parse(readFileSync(file, 'utf8')), {
    sites: { [server.origin]: { token: 'svc_sess_secret', apiOrigin: server.origin } },
  })
})

t.test('where a session cannot be kept, nothing is asked for; one that turns out not to be kept is ended', async (t) => {
  const home = t.testdir()
  const routes: Route[] = [(_, response) => json(response, approved)]
  const server = await loginServer(t, routes)
  server.routes['POST /api/membership/auth/sign-out'] = (_, response) => json(response, { ok: true })
  // Nobody makes a folder there, whoever it is.
  const refused = await svc(['login'], { home, site: server.origin, env: { XDG_CONFIG_HOME: '/sys' } })
  t.equal(refused.code, 1)
  t.match(refused.stderr, 'Cannot write /sys/svc/credentials.json')
  t.notOk(server.received.some(({ path }) => path.endsWith('/device/start')))

  routes[0] = (_, response) => {
    writeFileSync(join(home, 'svc', 'credentials.json'), '{ broken')
    return json(response, approved)
  }
  t.equal((await svc(['login'], { home, site: server.origin })).code, 4)
  t.match(server.received.at(-1), { path: '/api/membership/auth/sign-out', headers: { authorization: 'Bearer svc_sess_secret' } })
})

t.test('with --json the code comes as one line and the result as another, without the token', async (t) => {
  const server = await loginServer(t, [(_, response) => json(response, approved)])
  const ended = await svc(['login', '--json'], { home: t.testdir(), site: server.origin })
  const lines = ended.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(lines, [
    { event: 'device_code', user_code: 'BCDF-GHJK' },
    { ok: true, result: { site: server.origin, account } },
  ])
  t.equal(lines.length, 2)
  t.notMatch(ended.stdout, 'svc_sess_secret')
})

t.test('slow_down is obeyed: the next poll comes after the longer interval', async (t) => {
  const times: number[] = []
  const stamp =
    (route: Route): Route =>
    (received, response, request) => {
      times.push(performance.now())
      return route(received, response, request)
    }
  const slowDown: Route = (_, response) =>
    json(response, { status: 'slow_down', error: 'slow_down', interval: 0.4, expires_in: 500 })
  const server = await loginServer(t, [stamp(slowDown), stamp((_, response) => json(response, approved))])
  t.equal((await svc(['login'], { home: t.testdir(), site: server.origin })).code, 0)
  t.ok((times[1] ?? 0) - (times[0] ?? 0) >= 395)
})

t.test('signing in again ends the earlier session at the service', async (t) => {
  const home = t.testdir()
  let count = 0
  const server = await loginServer(t, [
    (_, response) => json(response, { ...approved, sessionToken: `svc_sess_${(count += 1)}` }),
  ])
  server.routes['POST /api/membership/auth/sign-out'] = (_, response) => json(response, { ok: true })
  await svc(['login'], { home, site: server.origin })
  await svc(['login'], { home, site: server.origin })
  const ended = server.received.filter(({ path }) => path.endsWith('/sign-out')).map(({ headers }) => headers.authorization)
  t.strictSame(ended, ['Bearer svc_sess_1'])
  t.match(readFileSync(join(home, 'svc', 'credentials.json'), 'utf8'), 'svc_sess_2')
})

t.test('a denied, an expired and a used code end the login with exit 4 and the Ref line', async (t) => {
  for (const code of ['access_denied', 'expired_token', 'invalid_grant'] as const) {
    const server = await loginServer(t, [pending, (received, response) => fail(response, received, code)])
    const ended = await svc(['login'], { home: t.testdir(), site: server.origin })
    t.equal(ended.code, 4, code)
    t.match(ended.stderr, new RegExp(`run: svc login\nRef: mbr_\\w+ · ${code} · stage=auth · HTTP 400\n$`))
  }
})

t.test('a poll that fails for a moment does not end the login', async (t) => {
  const server = await loginServer(t, [
    (_, response) => void response.destroy(),
    (received, response) => fail(response, received, 'internal_error'),
    (_, response) => json(response, approved),
  ])
  t.equal((await svc(['login'], { home: t.testdir(), site: server.origin })).code, 0)
})

t.test('a code that nobody approves in its time ends the login', async (t) => {
  const server = await loginServer(t, [pending], { expires_in: 0.1 })
  const ended = await svc(['login'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 4)
  t.match(ended.stderr, 'expired before it was approved')
})

t.test('too many starts: the limit is told', async (t) => {
  const server = await startContractServer({
    'POST /api/membership/auth/device/start': (received, response) =>
      fail(response, received, 'rate_limited', undefined, { 'retry-after': '60' }),
  })
  t.teardown(() => server.close())
  const ended = await svc(['login'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 7)
  t.match(ended.stderr, 'try again in 60 s')
})

t.test('the kept session is used for its own site and never sent to another', async (t) => {
  const home = t.testdir()
  const ours = await loginServer(t, [(_, response) => json(response, approved)])
  ours.routes['GET /v1/models'] = (_, response) => json(response, { object: 'list', data: [] })
  const theirs = await startContractServer({ 'GET /v1/models': (_, response) => json(response, { object: 'list', data: [] }) })
  t.teardown(() => theirs.close())
  await svc(['login'], { home, site: ours.origin })

  t.equal((await svc(['models'], { home, site: ours.origin })).code, 0)
  t.equal(ours.received.at(-1)?.headers.authorization, 'Bearer svc_sess_secret')

  const otherSite = await svc(['models'], { home, site: theirs.origin })
  t.equal(otherSite.code, 4)
  t.match(otherSite.stderr, `not signed in at ${theirs.origin}`)

  const otherApi = await svc(['models'], { home, site: ours.origin, env: { SVC_BASE_URL: `${theirs.origin}/v1` } })
  t.equal(otherApi.code, 4)
  t.match(otherApi.stderr, `it is not sent to ${theirs.origin}`)
  t.strictSame(theirs.received, [], 'nothing reached the other server')
})

t.test('environment variables go before the kept session: first the key, then the token', async (t) => {
  const home = t.testdir()
  const server = await loginServer(t, [(_, response) => json(response, approved)])
  server.routes['GET /v1/models'] = (_, response) => json(response, { object: 'list', data: [] })
  await svc(['login'], { home, site: server.origin })
  await svc(['models'], { home, site: server.origin, env: { SVC_TOKEN: 'svc_sess_env' } })
  t.equal(server.received.at(-1)?.headers.authorization, 'Bearer svc_sess_env')
  await svc(['models'], { home, site: server.origin, env: { SVC_TOKEN: 'svc_sess_env', SVC_API_KEY: 'svc_live_env' } })
  t.equal(server.received.at(-1)?.headers.authorization, 'Bearer svc_live_env')
})

t.test('logout ends the session at the service, then forgets it here', async (t) => {
  const home = t.testdir()
  const server = await loginServer(t, [(_, response) => json(response, approved)])
  server.routes['POST /api/membership/auth/sign-out'] = (_, response) => json(response, { ok: true })
  await svc(['login'], { home, site: server.origin })
  const ended = await svc(['logout'], { home, site: server.origin })
  t.equal(ended.code, 0)
  t.match(server.received.at(-1), { path: '/api/membership/auth/sign-out', headers: { authorization: 'Bearer svc_sess_secret' } })
  t.equal((await svc(['models'], { home, site: server.origin })).code, 4)
  t.match((await svc(['logout'], { home, site: server.origin })).stdout, 'There is no session')
})

t.test(
  'logout of a session that the service has ended already is a logout; while the service is away nothing changes',
  async (t) => {
    const home = t.testdir()
    const server = await loginServer(t, [(_, response) => json(response, approved)])
    await svc(['login'], { home, site: server.origin })
    server.routes['POST /api/membership/auth/sign-out'] = (received, response) => fail(response, received, 'internal_error')
    const away = await svc(['logout'], { home, site: server.origin })
    t.equal(away.code, 7)
    t.match(away.stderr, 'svc logout --local')
    server.routes['POST /api/membership/auth/sign-out'] = (received, response) => fail(response, received, 'sign_in_required')
    t.equal((await svc(['logout'], { home, site: server.origin })).stdout, `Signed out of ${server.origin}.\n`)
  },
)

t.test('whoami asks the service; with a key it says honestly that a key does not tell', async (t) => {
  const home = t.testdir()
  const server = await startContractServer({
    'GET /api/membership/usage': (_, response) => json(response, { account, plan: 'pro', pools: [] }),
    'GET /v1/models': (_, response) => json(response, { object: 'list', data: [{ id: 'auto' }, { id: 'svc' }] }),
  })
  t.teardown(() => server.close())
  const session = await svc(['whoami'], { home, site: server.origin, env: { SVC_TOKEN: 'svc_sess_x' } })
  t.equal(session.stdout, `a***@example.org · pro · ${server.origin} (session from SVC_TOKEN)\n`)
  const key = await svc(['whoami'], { home, site: server.origin, env: { SVC_API_KEY: 'svc_live_x' } })
  t.match(key.stdout, /The API key in SVC_API_KEY works .*\(2 models\)\. A key does not tell whose account it is\./)
  const none = await svc(['whoami', '--json'], { home, site: server.origin })
  t.equal(none.code, 4)
  t.match(JSON.parse(none.stdout), { ok: false, error: { code: 'sign_in_required' } })
  t.match(none.stderr, 'run: svc login')
})

t.test('an unreadable file of sessions is named, never a stack trace', async (t) => {
  const home = t.testdir({ svc: { 'credentials.json': '{ broken' } })
  writeFileSync(join(home, 'svc', 'credentials.json'), '{ broken')
  const ended = await svc(['models'], { home })
  t.equal(ended.code, 4)
  t.match(ended.stderr, join(home, 'svc', 'credentials.json'))
  t.notMatch(ended.stderr, /\n\s+at /)
})
