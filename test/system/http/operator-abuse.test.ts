/** What an operator, a leaked key or a stranger tries with the console and its API beyond its rules. */
import { request } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import { pages } from '../../../src/pages/pages.ts'
import { consoleCookie, createOperator, createOperatorKey, openConsole, operatorApi } from '../../support/gateway/operators.ts'
import { startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../support/gateway/website-client.ts'
import { providePostgres } from '../../support/servers/postgres/postgres.ts'
import { readFormFields, sendForm } from '../../support/website/page-form.ts'

async function open(t: Test) {
  const gateway = await startGateway(t, { limits: { addressRpm: 1_000_000 } })
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const operator = await createOperator(gateway, 'bob@example.com', 'operator')
  const member = await createOperator(gateway, 'mei@example.com', null)
  let count = 0
  const post = (client: WebsiteClient, path: string, body: object, key = `k${(count += 1)}`) =>
    client.post(operatorApi(gateway, path), { reason: 'test', ...body }, { 'idempotency-key': key })
  return { gateway, store: gateway.services.store, owner, operator, member, post }
}

/** Sends the head and half of a body; `finish` sends the rest. */
function sendSlowly(url: string, client: WebsiteClient, body: string, headers: Readonly<Record<string, string>>) {
  const sent = request(url, {
    method: 'POST',
    headers: { ...headers, cookie: client.cookieHeader(), 'sec-fetch-site': 'same-origin', 'content-length': body.length },
  })
  const status = new Promise<number>((resolve, reject) => {
    sent.once('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.once('error', reject)
  })
  sent.write(body.slice(0, 5))
  return {
    finish: async () => {
      sent.end(body.slice(5))
      return status
    },
  }
}

t.test('a role that is taken while a request is being sent does nothing more', async (t) => {
  const { gateway, store, operator, member } = await open(t)
  const console = await openConsole(gateway, operator)
  const { consoleSessions } = gateway.services.membership
  const resolve = consoleSessions.resolve.bind(consoleSessions)
  let resolved = 0
  consoleSessions.resolve = async (token) => {
    const actor = await resolve(token)
    resolved += 1
    return actor
  }
  const page = `${gateway.url}/operator/members/${member.account}`
  const form = readFormFields((await console.get(page)).body, { action: 'end_sessions' })
  form.set('reason', 'test')
  const slow = [
    sendSlowly(operatorApi(gateway, `members/${member.account}/status`), console, '{"status":"disabled","reason":"x"}', {
      'content-type': 'application/json',
      'idempotency-key': 'slow',
    }),
    sendSlowly(page, console, form.toString(), { 'content-type': 'application/x-www-form-urlencoded' }),
  ]
  const before = resolved
  await waitUntil(() => resolved >= before + slow.length, 'both requests to be admitted')
  await store.operators.setRole(operator.account, null, gateway.services.clock.now())
  t.equal(await slow[0]?.finish(), 401)
  t.equal(await slow[1]?.finish(), 401)
  t.match(await store.accounts.find(member.account), { status: 'active' })
  t.equal((await store.sessions.list(member.account)).length, 1)
})

t.test('an operator without roles:write takes no other operator’s place', async (t) => {
  const { gateway, store, owner, operator, post } = await open(t)
  const console = await openConsole(gateway, operator)
  const ownerConsole = await openConsole(gateway, owner)
  const second = await createOperator(gateway, 'second@example.com', 'owner')
  const path = `members/${second.account}`
  const refused = { status: 403, body: { code: 'permission_denied' } }
  t.match(await post(console, `${path}/status`, { status: 'disabled' }), refused)
  t.match(await post(ownerConsole, `${path}/status`, { status: 'disabled' }), { status: 200 })
  t.match(await post(console, `${path}/email`, { email: 'mine@example.com' }), refused, 'also where the role has no effect now')
  t.match(await post(console, `${path}/status`, { status: 'active' }), refused)
  const { program } = await createOperatorKey(gateway, owner, ['members:write'])
  t.match(await post(program, `${path}/status`, { status: 'active' }), refused, 'nor an owner’s key')
  t.match(await store.accounts.find(second.account), { status: 'disabled', email: 'second@example.com' })
  const lapsed = await createOperator(gateway, 'lapsed@example.com', null)
  await store.operators.applyGroupRole(lapsed.account, 'acme', 'support', 0)
  t.match(await post(console, `members/${lapsed.account}/email`, { email: 'mine@example.com' }), refused)
})

t.test('an Idempotency-Key belongs to one operator, one endpoint and one body', async (t) => {
  const { gateway, owner, operator, member, post } = await open(t)
  const [one, two] = [await openConsole(gateway, owner), await openConsole(gateway, operator)]
  const { program } = await createOperatorKey(gateway, owner, ['sessions:write', 'members:write'])
  const path = `members/${member.account}`
  for (const client of [one, two, program])
    t.notOk((await post(client, `${path}/sessions/end`, {}, 'same')).headers.has('idempotent-replayed'), 'of another operator')
  t.ok((await post(one, `${path}/sessions/end`, {}, 'same')).headers.has('idempotent-replayed'))
  const conflict = { status: 409, body: { code: 'conflict' } }
  t.match(await post(one, `${path}/sessions/end`, { reason: 'other' }, 'same'), conflict)
  t.match(await post(one, `${path}/status`, { status: 'disabled' }, 'same'), conflict)
  t.match(await post(one, `members/${owner.account}/sessions/end`, {}, 'same'), conflict)
})

t.test('an operator has a bounded number of requests at a time, all keys together, and delays no other', async (t) => {
  const { gateway, owner, operator } = await open(t)
  const { turnHistory } = gateway.services.membership
  const list = turnHistory.listTurns.bind(turnHistory)
  let finish: () => void = () => undefined
  const held = new Promise<void>((resolve) => (finish = resolve))
  let running = 0
  turnHistory.listTurns = async (...query) => {
    running += 1
    await held
    return list(...query)
  }
  const keys = [await createOperatorKey(gateway, owner, ['turns:read']), await createOperatorKey(gateway, owner, ['turns:read'])]
  const ask = (program: WebsiteClient | undefined) => program?.get(operatorApi(gateway, 'turns'))
  const waiting = Array.from({ length: 8 }, (_, index) => ask(keys[index % 2]?.program))
  await waitUntil(() => running === 8, 'eight requests to run')
  t.match(await ask(keys[0]?.program), { status: 429, body: { code: 'rate_limited' } })
  t.match(await keys[1]?.program.get(operatorApi(gateway, 'me')), { status: 429 })
  const other = await createOperatorKey(gateway, operator, ['members:read'])
  t.match(await other.program.get(operatorApi(gateway, 'members')), { status: 200 })
  finish()
  for (const answer of await Promise.all(waiting)) t.equal(answer?.status, 200)
  t.equal((await ask(keys[0]?.program))?.status, 200)
})

t.test('two reports run at a time, and one that is left frees its place', async (t) => {
  const { gateway, owner } = await open(t)
  const { ledger } = gateway.services.store
  let finish: () => void = () => undefined
  const held = new Promise<void>((resolve) => (finish = resolve))
  let running = 0
  const { report } = ledger
  ledger.report = async function* (query) {
    running += 1
    await held
    yield* report(query)
  }
  const console = await openConsole(gateway, owner)
  const ask = (signal?: AbortSignal) =>
    fetch(operatorApi(gateway, 'reports/usage.csv?by=day'), {
      headers: { cookie: console.cookieHeader() },
      ...(signal === undefined ? {} : { signal }),
    })
  const leave = new AbortController()
  const left = await ask(leave.signal)
  const kept = await ask()
  await waitUntil(() => running === 2, 'two reports to run')
  t.equal((await ask()).status, 503)
  leave.abort()
  finish()
  t.match(await kept.text(), /^day,/)
  await left.text().catch(() => undefined)
  await waitUntil(async () => {
    const next = await ask()
    await next.text()
    return next.status === 200
  }, 'a free place')
})

t.test('an answer of the console is in no cache, no frame and no other site, and leads to none', async (t) => {
  const { gateway, owner, member } = await open(t)
  const console = await openConsole(gateway, owner)
  const paths = [
    '/operator',
    ...pages.filter(({ audience, path }) => audience === 'operators' && !path.includes(':')).map(({ path }) => path),
    `/operator/members/${member.account}`,
    '/operator/members/none',
    '/operator/link?token=none',
  ]
  for (const path of paths) {
    const { headers } = await console.get(gateway.url + path)
    t.match(headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/, path)
    t.equal(headers.get('x-frame-options'), 'DENY', path)
    t.match(headers.get('cache-control'), /no-store/, path)
    t.equal(headers.get('cross-origin-resource-policy'), 'same-origin', path)
    t.equal(headers.get('x-content-type-options'), 'nosniff', path)
  }
  for (const path of ['me', 'turns', 'turns.csv', 'reports/usage.csv', 'members/none']) {
    const { headers } = await console.get(operatorApi(gateway, path))
    t.match(headers.get('cache-control'), /no-store/, path)
    t.equal(headers.get('cross-origin-resource-policy'), 'same-origin', path)
    t.equal(headers.get('access-control-allow-origin'), null, path)
  }
  for (const next of [
    '//evil.example',
    'https://evil.example',
    '/operator/..//evil.example',
    '/operator\\evil',
    '/operator/%0d%0ax',
    '/用户',
  ])
    for (const client of [owner.browser, console, new WebsiteClient(gateway)]) {
      const { status, headers, body } = await client.get(`${gateway.url}/operator?${new URLSearchParams({ next })}`)
      t.equal(status, 200, next)
      t.notOk(headers.has('location'), next)
      t.notMatch(body, /(?:href|action)="(?:https?:)?\/\/evil/, next)
    }
})

t.test('markup that a member chose is text on every page of the console', async (t) => {
  const { gateway, store, owner, post } = await open(t)
  const markup = '<img src=x onerror=alert(1)>"\'=1+1'
  const console = await openConsole(gateway, owner)
  const browser = new WebsiteClient(gateway, { 'sec-fetch-site': 'same-origin', 'user-agent': markup })
  const { id } = (await browser.signIn('markup@example.com')).body.account
  await gateway.services.membership.apiKeys.createUnaudited(id, markup, null)
  await post(console, `members/${id}/plan`, { plan: 'pro', reason: markup })
  const { token } = await gateway.createMember()
  await gateway.chat(token, {}, { headers: { 'x-request-id': markup, 'user-agent': markup } })
  await gateway.waitUntilSettled()
  const paths = pages.filter(({ path }) => path.startsWith('/operator')).map(({ path }) => path)
  for (const path of [...paths.filter((each) => !each.includes(':')), `/operator/members/${id}`])
    for (const query of [
      '',
      `?${new URLSearchParams({ q: markup, account: markup, member: markup, key: markup, from: markup, done: markup })}`,
    ])
      t.notMatch((await console.get(`${gateway.url}${path}${query}`)).body, /<img src=x|onerror=alert\(1\)>"/, path + query)
  t.ok((await store.audit.list({ limit: 50 })).some(({ reason }) => reason === markup))
})

const hostileValues = [
  "' or 1=1 --",
  '%',
  '_'.repeat(64),
  '(a+)+$',
  '\u0000',
  'a\u0000b',
  '\u202e\ufeff\ud83d\ude00',
  '\ud800',
  'x'.repeat(3000),
  '-1',
  '9'.repeat(15),
  '9'.repeat(400),
  '1e309',
  'NaN',
  `${'9'.repeat(15)}.${'9'.repeat(15)}`,
  'aud_00000000000000000000000000',
  'acc_zzzzzzzzzzzzzzzzzzzzzzzzzz',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '2026-02-31',
  '2026-13-45',
  '2026-11-29 25:61 Europe/Nowhere',
  '2026-03-29 02:30 Europe/Berlin',
  '9999-12-31 23:59 Pacific/Kiritimati',
  '0000-01-01 00:00 +14:00',
  '__proto__',
]

const searchParameters = ['member', 'key', 'product', 'target', 'ending', 'plan', 'from', 'to', 'request']
/** What each page of the console reads of its address. */
const parametersOfPage: Readonly<Record<string, readonly string[]>> = {
  '/operator/members': ['q', 'after'],
  '/operator/members/:id': ['turns', 'log'],
  '/operator/turns': [...searchParameters, 'cursor'],
  '/operator/failures': searchParameters,
  '/operator/orders': ['state', 'when', 'from', 'to', 'plan', 'before'],
  '/operator/money': ['from', 'to', 'by', 'plan', 'product'],
  '/operator/money/packs': ['show', 'before'],
  '/operator/money/codes': ['state', 'before'],
  '/operator/money/subscribers': ['terms', 'state', 'before'],
  '/operator/routing': ['span'],
  '/operator/audit': ['account', 'event', 'since', 'before'],
}

/** What PostgreSQL reads otherwise than SQLite. */
const hostileToPostgres = hostileValues.filter((value) => /^[\p{C}a_x]|^9{15}|^[09]{4}-/u.test(value))

async function fuzz(t: Test, gateway: TestGateway, values: readonly string[]): Promise<void> {
  // By a shell link, because a shared store sends its emails to a mail server.
  const console = await openConsole(gateway, null)
  const { id, token } = await gateway.createMember()
  await gateway.chat(token)
  const addresses: string[] = []
  for (const { endpoint } of endpointsByArea['Operator API']) {
    if (endpoint.method !== 'get') continue
    const path = `${gateway.url}${endpoint.path}`
    for (const value of values) {
      const text = encodeURIComponent(value.toWellFormed())
      if (path.includes('{')) addresses.push(path.replaceAll(/\{\w+\}/g, text))
      for (const name of Object.keys(endpoint.query?.shape ?? {}))
        addresses.push(`${path.replaceAll(/\{\w+\}/g, id)}?${name}=${text}`)
    }
  }
  for (const { path } of pages.filter(({ audience }) => audience === 'operators'))
    for (const value of values) {
      const text = encodeURIComponent(value.toWellFormed())
      if (path.includes(':')) addresses.push(gateway.url + path.replaceAll(/:\w+/g, text))
      for (const name of parametersOfPage[path] ?? ['q', 'before', 'cursor'])
        addresses.push(`${gateway.url}${path.replaceAll(/:\w+/g, id)}?${name}=${text}`)
    }
  const faults: string[] = []
  for (const address of addresses) {
    const { status } = await console.get(address)
    if (status >= 500) faults.push(`${status} ${address.slice(gateway.url.length, 200)}`)
  }
  t.same(faults, [])
  t.ok(addresses.length > 500, String(addresses.length))
}

t.test('no filter, cursor, time or id is a fault of the server', async (t) => {
  await t.test('on SQLite', async (t) => fuzz(t, await startGateway(t, { limits: { addressRpm: 1_000_000 } }), hostileValues))
  const postgres = await providePostgres(t, async () => {})
  if (postgres === undefined) return
  await t.test('on PostgreSQL', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const limits = { addressRpm: 1_000_000 }
    await fuzz(
      t,
      await startGateway(t, { store: { url }, mail: { smtpUrl: 'smtp://127.0.0.1:9' }, limits }, { verify: false }),
      hostileToPostgres,
    )
  })
})

t.test('streams of live figures are bounded for each operator, and a HEAD leaves none behind', async (t) => {
  const { gateway, owner, operator } = await open(t)
  const leave = new AbortController()
  const stream = (client: WebsiteClient, method = 'GET') =>
    fetch(`${gateway.url}/operator/live`, {
      method,
      headers: { cookie: `${consoleCookie}=${client.cookies.get(consoleCookie)}` },
      signal: leave.signal,
    })
  const [one, two] = [await openConsole(gateway, owner), await openConsole(gateway, operator)]
  for (let count = 0; count < 30; count += 1) t.equal((await stream(one, 'HEAD')).status, 200)
  for (let count = 0; count < 5; count += 1) t.equal((await stream(one)).status, 200)
  t.equal((await stream(await openConsole(gateway, owner))).status, 503, 'in another browser, too')
  t.equal((await stream(two)).status, 200)
  leave.abort()
})

t.test('a form of one operator’s page is none of another’s', async (t) => {
  const { gateway, owner, operator, member } = await open(t)
  const [one, two] = [await openConsole(gateway, owner), await openConsole(gateway, operator)]
  for (const [client, { browser }] of [
    [one, owner],
    [two, operator],
  ] as const)
    for (const [name, value] of browser.cookies) client.cookies.set(name, value)
  const page = `${gateway.url}/operator/members/${member.account}`
  const fields = readFormFields((await one.get(page)).body, { action: 'end_sessions' })
  t.match(await sendForm(two, page, fields, { reason: 'x' }), { status: 400, body: /another account has signed in/ })
  t.match(await sendForm(one, page, fields, { reason: 'x' }), { status: 303 })
})
