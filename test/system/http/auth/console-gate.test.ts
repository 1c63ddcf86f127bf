/** The console on an origin of its own and within networks, by two host names of one server; proxies are the test's own headers. */
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import type { Test } from 'tap'
import { unknownReader } from '../../../../src/domain/identity/reader.ts'
import { createOperator, createOperatorKey, openConsole } from '../../../support/gateway/operators.ts'
import { readEmailsTo, waitForEmailCode } from '../../../support/gateway/website-client.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { SoftwareAuthenticator } from '../../../support/passkeys/software-authenticator.ts'
import { readFormFields } from '../../../support/website/page-form.ts'

const members = 'members.test:8080'
const own = 'console.test:8080'
const listen = { siteUrl: `http://${members}` }

interface Request {
  readonly host?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** `fetch` chooses the Host itself. */
async function ask(gateway: TestGateway, path: string, { host = own, method = 'GET', headers = {}, body }: Request = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof read>>>()
  const read = async (response: IncomingMessage) => ({
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: await text(response),
  })
  const sent = request(new URL(path, gateway.url), { method, headers: { accept: 'text/html', host, ...headers } })
  sent.once('response', (response) => void read(response).then(resolve, reject)).once('error', reject)
  sent.end(body)
  return promise
}

const openOwn = (t: Test, console: object = {}, more: object = {}) =>
  startGateway(t, { listen: { ...listen, ...more }, console: { origin: `http://${own}`, ...console } })

t.test('the members’ origin has no console, and the console’s has nothing of members', async (t) => {
  const gateway = await openOwn(t)
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const { program } = await createOperatorKey(gateway, owner, ['members:read'])
  const cookie = (await openConsole(gateway, owner)).cookieHeader()
  for (const host of [members, '127.0.0.1', 'localhost:1', 'evil.test', `${own}.evil.test`, 'console.test'])
    for (const path of ['/operator', '/operator/members', '/operator/link?token=x', '/api/operator/v1/me'])
      for (const method of ['GET', 'POST', 'DELETE'])
        t.equal((await ask(gateway, path, { host, method, headers: { cookie } })).status, 404, `${method} ${host} ${path}`)
  t.equal((await program.get(`${gateway.url}/api/operator/v1/me`)).status, 404)

  t.match(await ask(gateway, '/operator/members', { headers: { cookie } }), { status: 200, body: /owner@example\.com/ })
  t.match(await ask(gateway, '/api/operator/v1/me', { host: own.toUpperCase(), headers: { cookie } }), { status: 200 })
  t.equal((await ask(gateway, '/v1/models/none', { host: members })).status, 401)
  for (const path of ['/plans', '/keys', '/account/orders', '/v1/models/none', '/docs', '/robots.txt', '/operatorx'])
    t.equal((await ask(gateway, path)).status, 404, path)
  const member = { cookie: owner.browser.cookieHeader() }
  for (const path of ['session', 'sessions', 'api-keys', 'device/lookup', 'delete-account', 'oauthx']) {
    for (const base of ['/api/membership/auth', '/api/membership/v1/auth'])
      t.equal((await ask(gateway, `${base}/${path}`, { method: 'HEAD', headers: member })).status, 404, `${base}/${path}`)
  }
  for (const path of ['passkeys/options', 'sign-out'])
    t.not((await ask(gateway, `/api/membership/auth/${path}`, { method: 'POST', headers: member })).status, 404, path)
  for (const path of ['/', '/account', '/chat'])
    t.match(await ask(gateway, path), { status: 302, headers: { location: '/operator' } })
  for (const path of ['/plans', '/v1/notices']) t.equal((await ask(gateway, path, { host: members })).status, 200, path)
  for (const path of ['/healthz', '/readyz'])
    t.equal((await ask(gateway, path)).status, (await ask(gateway, path, { host: members })).status, path)
})

t.test('an operator signs in on the console’s origin, whose links, cookies and forms are its own', async (t) => {
  const gateway = await openOwn(t)
  // A second code to an address that has just received one would wait.
  const { membership, store, clock } = gateway.services
  const actor = { kind: 'command', systemUser: 'root' } as const
  const created = { email: 'owner@example.com', plan: 'free', passwordHash: null }
  const account = await membership.memberAdmin.createAccount(created, { actor, client: null, reason: null })
  await store.operators.setRole(account?.id ?? '', { name: 'owner', provider: null }, clock.now())
  const origin = `http://${own}`
  const jar = new Map<string, string>()
  const send = async (path: string, { body, from = origin }: { body?: string; from?: string } = {}) => {
    const headers = {
      cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(body === undefined ? {} : { origin: from, 'content-type': 'application/x-www-form-urlencoded' }),
    }
    const answer = await ask(gateway, path, { headers, ...(body === undefined ? {} : { body, method: 'POST' }) })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(name, value)
      t.notMatch(line, /domain=/i)
    }
    return answer
  }
  t.match((await send('/operator')).body, 'href="/sign-in?next=%2Foperator"')
  const page = (await send('/sign-in?next=%2Foperator')).body
  t.match(page, `href="http://${members}/plans"`)
  const known = readEmailsTo(gateway, 'owner@example.com').length
  const fields = readFormFields(page, { action: 'code' })
  fields.set('email', 'owner@example.com')
  for (const from of [`http://${members}`, 'http://evil.test', 'null'])
    t.equal((await send('/sign-in?next=%2Foperator', { body: fields.toString(), from })).status, 403, from)
  await send('/sign-in?next=%2Foperator', { body: fields.toString() })
  const code = await waitForEmailCode(gateway, 'owner@example.com', known + 1)
  const email = readEmailsTo(gateway, 'owner@example.com').at(-1) ?? ''
  t.match(email.replaceAll(/=\r?\n/g, ''), `http://${members}/sign-in/link`)
  const next = (await send('/sign-in?next=%2Foperator')).body
  const verify = readFormFields(next, { action: 'verify', subject: 'owner@example.com' })
  verify.set('code', code)
  t.match(await send('/sign-in?next=%2Foperator', { body: verify.toString() }), {
    status: 303,
    headers: { location: '/operator' },
  })
  t.match(await send('/operator'), { status: 200, body: /name="action" value="begin"/ })
})

t.test('outside of its networks there is no console, by the address that trusted proxies forward', async (t) => {
  const networks = ['10.0.0.0/8', '2001:db8::/32']
  const behindProxy = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] }, console: { networks } })
  const owner = await createOperator(behindProxy, 'owner@example.com', 'owner')
  const cookie = (await openConsole(behindProxy, owner)).cookieHeader()
  const askFrom = (gateway: TestGateway, from: string | null, path = '/operator/members') =>
    ask(gateway, path, { headers: { cookie, ...(from === null ? {} : { 'x-forwarded-for': from }) } })
  for (const [from, status] of [
    ['10.1.2.3', 200],
    ['::ffff:10.1.2.3', 200],
    ['[2001:db8::1]', 200],
    ['2001:DB8:1::1', 200],
    ['203.0.113.9, 10.1.2.3', 200],
    ['10.1.2.3, 203.0.113.9', 404],
    ['192.168.0.1', 404],
    ['::ffff:192.168.0.1', 404],
    ['2001:db9::1', 404],
    ['::1', 404],
    ['10.1.2.3, unknown', 404],
    [null, 404],
  ] as const)
    for (const path of ['/operator/members', '/api/operator/v1/me'])
      t.equal((await askFrom(behindProxy, from, path)).status, status, `${from} ${path}`)
  t.equal((await askFrom(behindProxy, '203.0.113.9', '/plans')).status, 200)
  const outside = await askFrom(behindProxy, '203.0.113.9', '/api/operator/v1/me')
  const unknown = await askFrom(behindProxy, '203.0.113.9', '/api/operator/v1/none')
  t.equal(outside.status, unknown.status)

  const direct = await startGateway(t, { console: { networks } })
  await createOperator(direct, 'owner@example.com', 'owner')
  t.equal((await askFrom(direct, '10.1.2.3', '/operator')).status, 404, 'a client that is no proxy does not choose its address')
  const local = await startGateway(t, { console: { networks: ['127.0.0.0/8', '::1'] } })
  await createOperator(local, 'owner@example.com', 'owner')
  t.equal((await askFrom(local, '203.0.113.9', '/operator')).status, 200)
})

t.test('networks bound the whole origin of the console', async (t) => {
  const gateway = await openOwn(t, { networks: ['10.0.0.0/8'] })
  await createOperator(gateway, 'owner@example.com', 'owner')
  for (const path of ['/operator', '/sign-in', '/', '/api/operator/v1/me']) t.equal((await ask(gateway, path)).status, 404, path)
})

t.test('passkeys belong to the console’s origin', async (t) => {
  const host = 'console.localhost:8080'
  const gateway = await openOwn(t, { origin: `http://${host}` })
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const { membership, clock } = gateway.services
  const key = (await membership.secondFactors.begin(owner.account, 'owner@example.com'))?.key ?? ''
  const code = new TOTP({ secret: Secret.fromBase32(key) }).generate({ timestamp: clock.now() })
  const client = { ip: '::1', network: '::1', requestId: 'mbr_x', name: null, deviceTokens: null, reader: unknownReader }
  await membership.secondFactors.confirm(owner.account, code, client)
  const cookie = `${owner.browser.cookieHeader()}; ${(await openConsole(gateway, owner)).cookieHeader()}`
  const send = (path: string, type: string, body: string) =>
    ask(gateway, path, { host, method: 'POST', headers: { cookie, origin: `http://${host}`, 'content-type': type }, body })
  const add = async (site: string) => {
    const asked = await send('/api/membership/auth/passkeys/options', 'application/json', '{"purpose":"register"}')
    const { options } = JSON.parse(asked.body)
    t.equal(options.rp.id, 'console.localhost')
    const page = (await ask(gateway, '/operator/session', { host, headers: { cookie } })).body
    const fields = readFormFields(page, { action: 'add_passkey', subject: '' })
    fields.set('name', 'phone')
    fields.set('passkey', new SoftwareAuthenticator(site).register(options))
    return send('/operator/session', 'application/x-www-form-urlencoded', fields.toString())
  }
  t.equal((await add(`http://${members}`)).status, 400)
  t.equal((await add(`http://${host}`)).status, 303)
  t.match(await membership.passkeys.list(owner.account), [{ name: 'phone' }])
})
