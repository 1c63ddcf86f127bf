/** Sessions end when they must, at once here and soon on other processes; security events are recorded. */
import t from 'tap'
import { openStore } from '../../../../../src/server/installation/open-store.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { maxImmediateMs, startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const dayMs = 86_400_000

t.test('ends a session after seven unused days, and after thirty in any case', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const { credentials } = gateway.services
  const idle = new WebsiteClient(gateway)
  await idle.signIn('idle@example.com')
  now += 7 * dayMs
  t.equal((await idle.get('auth/session')).status, 401, 'unused for seven days')

  const busy = new WebsiteClient(gateway)
  await busy.signIn('busy@example.com')
  for (let day = 6; day < 30; day += 6) {
    now += 6 * dayMs
    t.equal((await busy.get('auth/session')).status, 200, `day ${day}`)
    await credentials.flushLastUsed()
    credentials.invalidateAll()
  }
  now += 6 * dayMs
  t.equal((await busy.get('auth/session')).status, 401, 'day 30')
})

t.test('creates a new token at each sign-in and ends the previous session', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  const planted = 'p'.repeat(43)
  browser.cookies.set('svc_membership_session', planted)
  await browser.signIn('member@example.com')
  const first = browser.cookies.get('svc_membership_session')
  t.not(first, planted, 'a planted value is not adopted')
  now += 61_000
  await browser.signIn('member@example.com')
  t.not(browser.cookies.get('svc_membership_session'), first)
  const old = new WebsiteClient(gateway)
  old.cookies.set('svc_membership_session', first ?? '')
  t.equal((await old.get('auth/session')).status, 401)
  t.equal((await browser.get('auth/sessions')).body.data.length, 1)
})

t.test('lists sessions and ends one, or all others', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browsers: WebsiteClient[] = []
  for (const agent of ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'curl/8', 'x']) {
    const browser = new WebsiteClient(gateway, { 'sec-fetch-site': 'same-origin', 'user-agent': agent })
    await browser.signIn('member@example.com')
    browsers.push(browser)
    now += 61_000
  }
  const [first, second, third] = browsers as [WebsiteClient, WebsiteClient, WebsiteClient]
  const { data } = (await first.get('auth/sessions')).body
  t.same(
    data.map(({ client, current }: Record<string, unknown>) => [client, current]),
    [
      ['x', false],
      ['curl 8', false],
      ['Firefox on Linux', true],
    ],
  )
  t.match(data[0], { id: /^ses_/, kind: 'web', method: 'code', address: '127.0.0.x' })
  t.equal((await first.delete(`auth/sessions/${data[1].id}`)).status, 200)
  t.equal((await second.get('auth/session')).status, 401)
  t.equal((await first.delete(`auth/sessions/${data[1].id}`)).status, 404)
  t.match((await first.post('auth/sessions/end-others')).body, { ended_sessions: 1 })
  t.equal((await third.get('auth/session')).status, 401)
  t.equal((await first.get('auth/session')).status, 200)
})

t.test('shows no name for a browser with an unreadable user agent', async (t) => {
  const gateway = await startGateway(t)
  const userAgent = Buffer.from('浏览器').toString('latin1')
  const browser = new WebsiteClient(gateway, { 'sec-fetch-site': 'same-origin', 'user-agent': userAgent })
  await browser.signIn('mei@example.com')
  t.match((await browser.get('auth/sessions')).body.data, [{ client: null }])
})

t.test('refuses within five seconds what another process revoked', async (t) => {
  const gateway = await startGateway(t)
  // Opened as an operator's command opens it, beside the server.
  const beside = await openStore(gateway.config)
  t.teardown(() => beside.close())
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  await beside.accounts.setPlan(account.id, 'max')
  const { id, token } = (await browser.post('auth/api-keys', { name: 'shared' })).body
  const listModels = async (token: string): Promise<number> =>
    (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status
  t.equal(await listModels(token), 200)
  t.equal((await browser.get('auth/session')).status, 200)
  // The server must have begun to poll changes before there is one.
  await gateway.services.credentials.pollChanges()

  const within = async (what: string, gone: () => Promise<boolean>): Promise<void> => {
    const started = performance.now()
    await waitUntil(gone, what)
    t.ok(performance.now() - started < maxImmediateMs, `${what}: ${Math.round(performance.now() - started)} ms`)
  }
  t.equal(await listModels(token), 200)
  await beside.apiKeys.revoke(account.id, id, Date.now())
  await within('the key to be refused', async () => (await listModels(token)) === 401)

  const second = (await browser.post('auth/api-keys', { name: 'second' })).body.token
  t.equal(await listModels(second), 200)
  await beside.accounts.setPlan(account.id, 'pro')
  await within('the plan to change', async () => (await browser.get('usage')).body.plan === 'pro')

  await beside.accounts.setStatus(account.id, 'disabled')
  await within('the account to be refused', async () => (await listModels(second)) === 401)
  await beside.accounts.setStatus(account.id, 'active')
  await within('the account to be let in again', async () => (await listModels(second)) === 200)

  await beside.sessions.endOthers(account.id, null)
  await within('the session to be refused', async () => (await browser.get('auth/session')).status === 401)
})

t.test('records each security event once, with the request id and without secrets', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  const password = 'violet teapot orbit'
  await browser.post('auth/password', { password })
  await new WebsiteClient(gateway).post('auth/sign-in', { email: 'member@example.com', password: 'a wrong word' })
  const key = (await browser.post('auth/api-keys', { name: 'secret project' }, { 'x-svc-request-id': 'mine-1' })).body
  await browser.delete(`auth/api-keys/${key.id}`)
  const program = new WebsiteClient(gateway, {})
  const { device_code, user_code } = (await program.post('auth/device/start', { client: 'svc-cli' })).body
  await browser.post('auth/device/approve', { user_code })
  const { sessionToken } = (await program.post('auth/device/poll', { device_code })).body
  const answer = await browser.get('audit')
  t.same(
    answer.body.data.map(({ event }: { event: string }) => event),
    [
      'device_signed_in',
      'device_approved',
      'key_revoked',
      'key_made',
      'sign_in_failed',
      'password_changed',
      'signed_in',
      'account_created',
    ],
  )
  t.equal(answer.body.has_more, false)
  t.match(
    answer.body.data.find(({ event }: { event: string }) => event === 'key_made'),
    { id: /^aud_/, request_id: 'mbr_mine-1', address: '127.0.0.x', detail: { key: key.id } },
  )
  const everything = JSON.stringify(await gateway.services.store.audit.list({ limit: 100 }))
  for (const secret of [password, 'a wrong word', key.token, sessionToken, device_code, 'member@example.com', '127.0.0.1']) {
    t.notOk(everything.includes(secret), `no ${secret.slice(0, 12)}…`)
    t.notOk(secret !== '127.0.0.1' && gateway.log.join('').includes(secret), 'nor in the log')
  }
  const page = (await browser.get('audit?limit=3')).body
  t.equal(page.data.length, 3)
  t.equal(page.has_more, true)
  t.equal((await browser.get(`audit?limit=3&before=${page.data[2].id}`)).body.data[0].event, 'key_made')

  const stranger = new WebsiteClient(gateway)
  await stranger.signIn('stranger@example.com')
  t.same(
    (await stranger.get('audit')).body.data.map(({ event }: { event: string }) => event),
    ['signed_in', 'account_created'],
  )
  t.equal((await gateway.services.store.audit.list({ account: account.id, event: 'key_made', limit: 10 })).length, 1)
})
