/** Signs in and out against a scripted service: the polling protocol and the stored session. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Route } from '../../../../support/cli/stub-gateway.ts'
import { sendError, sendJson, startStubGateway } from '../../../../support/cli/stub-gateway.ts'
import { runSvcProcess, runSvc } from '../../../../support/cli/run-svc.ts'

const account = { id: 'acc_1', email_masked: 'a***@example.org', plan: 'pro' }
const approved = {
  status: 'approved',
  sessionToken: 'svc_sess_secret',
  token_type: 'Bearer',
  expires_at: '2027-01-01T00:00:00Z',
  account,
}

/** Device login with short intervals; `polls` are the answers in order, the last one repeated. */
async function loginServer(t: Test, polls: readonly Route[], start: Record<string, unknown> = {}) {
  const server = await startStubGateway()
  t.teardown(() => server.close())
  let asked = 0
  server.routes['POST /api/membership/auth/device/start'] = (_, response) =>
    sendJson(response, {
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
  sendJson(response, { status: 'pending', error: 'authorization_pending', interval: 0.01, expires_in: 500 })

t.test('login stores the brand of the service for all later commands', async (t) => {
  const server = await loginServer(t, [(_, response) => sendJson(response, approved)])
  server.routes['GET /api/membership/plans'] = (_, response) => sendJson(response, { brand: { slug: 'acme' }, data: [] })
  const home = t.testdir()
  t.equal((await runSvc(['login'], { home, site: server.origin })).code, 0)
  const start = server.requests.find(({ path }) => path.endsWith('/device/start'))
  t.match(start?.body, { client: 'acme-cli' })
  t.match(start?.headers['x-acme-request-id'], /^mbr_/)
  t.match(JSON.parse(readFileSync(join(home, 'svc', 'config.json'), 'utf8')), { brand: 'acme' })
})

t.test('login prints the address and the code, waits for the approval, and stores the session in a private file', async (t) => {
  const server = await loginServer(t, [pending, pending, (_, response) => sendJson(response, approved)])
  const home = t.testdir()
  const ended = await runSvcProcess(['login'], { home, site: server.origin })
  t.equal(ended.code, 0)
  t.match(ended.stderr, `${server.origin}/device?user_code=BCDF-GHJK`)
  t.match(ended.stderr, 'BCDF-GHJK')
  t.equal(ended.stdout, `Signed in at ${server.origin} · a***@example.org · pro.\n`)
  t.notMatch(ended.stdout + ended.stderr, 'svc_sess_secret', 'the token is shown nowhere')
  const [plans, start, ...polls] = server.requests
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

t.test('sends no request where a session cannot be stored, and ends a session that could not be stored afterwards', async (t) => {
  const home = t.testdir()
  const routes: Route[] = [(_, response) => sendJson(response, approved)]
  const server = await loginServer(t, routes)
  server.routes['POST /api/membership/auth/sign-out'] = (_, response) => sendJson(response, { ok: true })
  // No user, not even root, can create a folder there.
  const refused = await runSvc(['login'], { home, site: server.origin, env: { XDG_CONFIG_HOME: '/sys' } })
  t.equal(refused.code, 1)
  t.match(refused.stderr, 'Cannot write /sys/svc/credentials.json')
  t.notOk(server.requests.some(({ path }) => path.endsWith('/device/start')))

  routes[0] = (_, response) => {
    writeFileSync(join(home, 'svc', 'credentials.json'), '{ broken')
    return sendJson(response, approved)
  }
  t.equal((await runSvc(['login'], { home, site: server.origin })).code, 4)
  t.match(server.requests.at(-1), { path: '/api/membership/auth/sign-out', headers: { authorization: 'Bearer svc_sess_secret' } })
})

t.test('with --json the code is one line and the result another, without the token', async (t) => {
  const server = await loginServer(t, [(_, response) => sendJson(response, approved)])
  const ended = await runSvc(['login', '--json'], { home: t.testdir(), site: server.origin })
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

t.test('slow_down lengthens the interval before the next poll', async (t) => {
  const times: number[] = []
  const stamp =
    (route: Route): Route =>
    (received, response, request) => {
      times.push(performance.now())
      return route(received, response, request)
    }
  const slowDown: Route = (_, response) =>
    sendJson(response, { status: 'slow_down', error: 'slow_down', interval: 0.4, expires_in: 500 })
  const server = await loginServer(t, [stamp(slowDown), stamp((_, response) => sendJson(response, approved))])
  t.equal((await runSvc(['login'], { home: t.testdir(), site: server.origin })).code, 0)
  t.ok((times[1] ?? 0) - (times[0] ?? 0) >= 395)
})

t.test('signing in again ends the earlier session at the service', async (t) => {
  const home = t.testdir()
  let count = 0
  const server = await loginServer(t, [
    (_, response) => sendJson(response, { ...approved, sessionToken: `svc_sess_${(count += 1)}` }),
  ])
  server.routes['POST /api/membership/auth/sign-out'] = (_, response) => sendJson(response, { ok: true })
  await runSvc(['login'], { home, site: server.origin })
  await runSvc(['login'], { home, site: server.origin })
  const ended = server.requests.filter(({ path }) => path.endsWith('/sign-out')).map(({ headers }) => headers.authorization)
  t.strictSame(ended, ['Bearer svc_sess_1'])
  t.match(readFileSync(join(home, 'svc', 'credentials.json'), 'utf8'), 'svc_sess_2')
})

t.test('a denied, an expired and a used code end the login with exit 4 and the Ref line', async (t) => {
  for (const code of ['access_denied', 'expired_token', 'invalid_grant'] as const) {
    const server = await loginServer(t, [pending, (received, response) => sendError(response, received, code)])
    const ended = await runSvc(['login'], { home: t.testdir(), site: server.origin })
    t.equal(ended.code, 4, code)
    t.match(ended.stderr, new RegExp(`run: svc login\nRef: mbr_\\w+ · ${code} · stage=auth · HTTP 400\n$`))
  }
})

t.test('a poll that fails temporarily does not end the login', async (t) => {
  const server = await loginServer(t, [
    (_, response) => void response.destroy(),
    (received, response) => sendError(response, received, 'internal_error'),
    (_, response) => sendJson(response, approved),
  ])
  t.equal((await runSvc(['login'], { home: t.testdir(), site: server.origin })).code, 0)
})

t.test('a code that is not approved in time ends the login', async (t) => {
  const server = await loginServer(t, [pending], { expires_in: 0.1 })
  const ended = await runSvc(['login'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 4)
  t.match(ended.stderr, 'expired before it was approved')
})

t.test('too many starts report the limit', async (t) => {
  const server = await startStubGateway({
    'POST /api/membership/auth/device/start': (received, response) =>
      sendError(response, received, 'rate_limited', undefined, { 'retry-after': '60' }),
  })
  t.teardown(() => server.close())
  const ended = await runSvc(['login'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 7)
  t.match(ended.stderr, 'try again in 60 s')
})

t.test('the stored session is used for its own site and never sent to another', async (t) => {
  const home = t.testdir()
  const ours = await loginServer(t, [(_, response) => sendJson(response, approved)])
  ours.routes['GET /v1/models'] = (_, response) => sendJson(response, { object: 'list', data: [] })
  const theirs = await startStubGateway({ 'GET /v1/models': (_, response) => sendJson(response, { object: 'list', data: [] }) })
  t.teardown(() => theirs.close())
  await runSvc(['login'], { home, site: ours.origin })

  t.equal((await runSvc(['models'], { home, site: ours.origin })).code, 0)
  t.equal(ours.requests.at(-1)?.headers.authorization, 'Bearer svc_sess_secret')

  const otherSite = await runSvc(['models'], { home, site: theirs.origin })
  t.equal(otherSite.code, 4)
  t.match(otherSite.stderr, `not signed in at ${theirs.origin}`)

  const otherApi = await runSvc(['models'], { home, site: ours.origin, env: { SVC_BASE_URL: `${theirs.origin}/v1` } })
  t.equal(otherApi.code, 4)
  t.match(otherApi.stderr, `it is not sent to ${theirs.origin}`)
  t.strictSame(theirs.requests, [], 'nothing reached the other server')
})

t.test('environment variables take precedence over the stored session: first the key, then the token', async (t) => {
  const home = t.testdir()
  const server = await loginServer(t, [(_, response) => sendJson(response, approved)])
  server.routes['GET /v1/models'] = (_, response) => sendJson(response, { object: 'list', data: [] })
  await runSvc(['login'], { home, site: server.origin })
  await runSvc(['models'], { home, site: server.origin, env: { SVC_TOKEN: 'svc_sess_env' } })
  t.equal(server.requests.at(-1)?.headers.authorization, 'Bearer svc_sess_env')
  await runSvc(['models'], { home, site: server.origin, env: { SVC_TOKEN: 'svc_sess_env', SVC_API_KEY: 'svc_live_env' } })
  t.equal(server.requests.at(-1)?.headers.authorization, 'Bearer svc_live_env')
})

t.test('logout ends the session at the service, then deletes it here', async (t) => {
  const home = t.testdir()
  const server = await loginServer(t, [(_, response) => sendJson(response, approved)])
  server.routes['POST /api/membership/auth/sign-out'] = (_, response) => sendJson(response, { ok: true })
  await runSvc(['login'], { home, site: server.origin })
  const ended = await runSvc(['logout'], { home, site: server.origin })
  t.equal(ended.code, 0)
  t.match(server.requests.at(-1), { path: '/api/membership/auth/sign-out', headers: { authorization: 'Bearer svc_sess_secret' } })
  t.equal((await runSvc(['models'], { home, site: server.origin })).code, 4)
  t.match((await runSvc(['logout'], { home, site: server.origin })).stdout, 'There is no session')
})

t.test(
  'logout succeeds for a session that the service has already ended, and changes nothing while the service is unreachable',
  async (t) => {
    const home = t.testdir()
    const server = await loginServer(t, [(_, response) => sendJson(response, approved)])
    await runSvc(['login'], { home, site: server.origin })
    server.routes['POST /api/membership/auth/sign-out'] = (received, response) => sendError(response, received, 'internal_error')
    const away = await runSvc(['logout'], { home, site: server.origin })
    t.equal(away.code, 7)
    t.match(away.stderr, 'svc logout --local')
    server.routes['POST /api/membership/auth/sign-out'] = (received, response) =>
      sendError(response, received, 'sign_in_required')
    t.equal((await runSvc(['logout'], { home, site: server.origin })).stdout, `Signed out of ${server.origin}.\n`)
  },
)

t.test('whoami shows the account of a session, and of a key only that it works', async (t) => {
  const home = t.testdir()
  const server = await startStubGateway({
    'GET /api/membership/usage': (_, response) => sendJson(response, { account, plan: 'pro', pools: [] }),
    'GET /v1/models': (_, response) => sendJson(response, { object: 'list', data: [{ id: 'auto' }, { id: 'svc' }] }),
  })
  t.teardown(() => server.close())
  const session = await runSvc(['whoami'], { home, site: server.origin, env: { SVC_TOKEN: 'svc_sess_x' } })
  t.equal(session.stdout, `a***@example.org · pro · ${server.origin} (session from SVC_TOKEN)\n`)
  const key = await runSvc(['whoami'], { home, site: server.origin, env: { SVC_API_KEY: 'svc_live_x' } })
  t.match(key.stdout, /The API key in SVC_API_KEY works .*\(2 models\)\. The account of a key is not shown\./)
  const none = await runSvc(['whoami', '--json'], { home, site: server.origin })
  t.equal(none.code, 4)
  t.match(JSON.parse(none.stdout), { ok: false, error: { code: 'sign_in_required' } })
  t.match(none.stderr, 'run: svc login')
})

t.test('names an unreadable file of sessions without a stack trace', async (t) => {
  const home = t.testdir({ svc: { 'credentials.json': '{ broken' } })
  writeFileSync(join(home, 'svc', 'credentials.json'), '{ broken')
  const ended = await runSvc(['models'], { home })
  t.equal(ended.code, 4)
  t.match(ended.stderr, join(home, 'svc', 'credentials.json'))
  t.notMatch(ended.stderr, /\n\s+at /)
})
