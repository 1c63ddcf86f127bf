/** Sign-in with a real OpenID provider. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { Browser } from '../../../support/browser.ts'
import { startGateway } from '../../../support/gateway.ts'
import type { Overrides, TestGateway } from '../../../support/gateway.ts'
import { freePort } from '../../../support/free-port.ts'
import { client, startProvider } from '../../../support/openid-provider.ts'
import type { OpenIdProvider, Person } from '../../../support/openid-provider.ts'

const people: Readonly<Record<string, Person>> = {
  anna: { email: 'anna@example.com', email_verified: true },
  ben: { email: 'ben@example.com', email_verified: false },
  cleo: {},
  mallory: { email: 'anna@example.com', email_verified: false },
}

async function start(
  t: Test,
  overrides: Overrides = {},
): Promise<{ readonly gateway: TestGateway; readonly provider: OpenIdProvider }> {
  // The provider must know our address before we are told its own: the port is chosen first.
  const port = await freePort()
  const provider = await startProvider(t, people, () => `http://127.0.0.1:${port}/api/membership/auth/oauth/acme/callback`)
  const gateway = await startGateway(t, {
    ...overrides,
    listen: { port },
    signIn: {
      providers: { acme: { name: 'Acme', issuer: provider.issuer, clientId: client.id, clientSecret: client.secret } },
    },
  })
  return { gateway, provider }
}

/** From our start to our callback and its answer. */
async function through(browser: Browser, provider: OpenIdProvider, subject: string, query = ''): Promise<string | null> {
  const started = await browser.get(`auth/oauth/acme/start${query}`)
  const back = await provider.signIn(started.headers.get('location') ?? '', subject)
  return (await browser.get(back)).headers.get('location')
}

t.test('a person the provider vouches for signs in, the second time into the same account', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new Browser(gateway)
  const listed = await browser.get('auth/providers')
  t.match(listed.body.data, [{ id: 'acme', name: 'Acme', start_url: `${gateway.url}/api/membership/auth/oauth/acme/start` }])
  t.equal(await through(browser, provider, 'anna', '?next=/keys'), '/keys')
  const first = await browser.get('auth/session')
  t.match(first.body, {
    account: { email: 'anna@example.com', has_password: false },
    session: { method: 'provider', kind: 'web' },
  })

  const other = new Browser(gateway)
  t.equal(await through(other, provider, 'anna'), '/account')
  const second = await other.get('auth/session')
  t.equal(second.body.account.id, first.body.account.id)

  const byMail = new Browser(gateway)
  await byMail.signIn('anna@example.com')
  t.equal((await byMail.get('auth/session')).body.account.id, first.body.account.id, 'by mail code it is the same account too')
})

t.test('an address that the provider does not vouch for opens and makes nothing', async (t) => {
  const { gateway, provider } = await start(t)
  const owner = new Browser(gateway)
  await owner.signIn('anna@example.com')
  for (const subject of ['ben', 'cleo', 'mallory']) {
    const browser = new Browser(gateway)
    t.equal(await through(browser, provider, subject), '/sign-in?error=email_unverified', subject)
    t.equal((await browser.get('auth/session')).status, 401, subject)
  }
  t.equal(await gateway.services.store.accounts.count(), 1)
})

t.test('an account whose own address was never proven is not linked', async (t) => {
  const { gateway, provider } = await start(t)
  const { store, ids, clock } = gateway.services
  const at = clock.now()
  await store.accounts.create({
    id: ids.next('acc_', at),
    email: 'anna@example.com',
    plan: 'free',
    passwordHash: null,
    emailVerified: false,
    at,
  })
  t.equal(await through(new Browser(gateway), provider, 'anna'), '/sign-in?error=link_refused')
})

t.test('an answer is good only in the browser that asked, and once', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new Browser(gateway)
  const started = await browser.get('auth/oauth/acme/start')
  const word = browser.cookies.get('svc_membership_provider') ?? ''
  const back = await provider.signIn(started.headers.get('location') ?? '', 'anna')
  const stranger = new Browser(gateway)
  t.equal((await stranger.get(back)).headers.get('location'), '/sign-in?error=provider_failed')
  t.equal((await browser.get(back)).headers.get('location'), '/account')
  browser.cookies.set('svc_membership_provider', word)
  t.equal((await browser.get(back)).headers.get('location'), '/sign-in?error=provider_failed', 'the same answer again')
  const forged = await new Browser(gateway).get(`auth/oauth/acme/callback?state=${'x'.repeat(43)}&code=y`)
  t.equal(forged.headers.get('location'), '/sign-in?error=provider_failed')
  t.equal((await browser.get('auth/oauth/nobody/start')).status, 404)
})

t.test('of two tabs the one that began last signs in, also where the other comes back first', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new Browser(gateway)
  const [first, last] = [await browser.get('auth/oauth/acme/start'), await browser.get('auth/oauth/acme/start')]
  const back = async ({ headers }: typeof first) => provider.signIn(headers.get('location') ?? '', 'anna')
  t.equal((await browser.get(await back(first))).headers.get('location'), '/sign-in?error=provider_failed')
  t.equal((await browser.get(await back(last))).headers.get('location'), '/account')
  t.notOk(browser.cookies.has('svc_membership_provider'))
})

t.test('whoever has to take another way in keeps where they wanted to go, and the invitation', async (t) => {
  const { gateway, provider } = await start(t)
  const query = '?next=%2Fdevice%3Fuser_code%3DBCDF-GHJK&invite=AB1'
  const to = await through(new Browser(gateway), provider, 'ben', query)
  t.equal(to, '/sign-in?error=email_unverified&next=%2Fdevice%3Fuser_code%3DBCDF-GHJK&invite=AB1')
  const browser = new Browser(gateway)
  const { headers } = await browser.get(`auth/oauth/acme/start${query}`)
  const state = new URL(headers.get('location') ?? '').searchParams.get('state')
  const denied = await browser.get(`auth/oauth/acme/callback?state=${state}&error=access_denied`)
  t.match(denied.headers.get('location'), '&next=%2Fdevice%3Fuser_code%3DBCDF-GHJK')
})

t.test('too many sign-ins from one network are told of on a page', async (t) => {
  const { gateway } = await start(t, { limits: { attempts: { 'provider-by-network': { times: 1, withinMs: 600_000 } } } })
  const browser = new Browser(gateway)
  await browser.get('auth/oauth/acme/start')
  for (const step of ['start?next=/keys', 'callback']) {
    const { status, headers } = await browser.get(`auth/oauth/acme/${step}`)
    t.equal(status, 302)
    t.match((await browser.get(gateway.url + headers.get('location'))).body, 'Too many sign-ins from your network')
  }
})

t.test('afterwards only an own path is gone to', async (t) => {
  const { gateway, provider } = await start(t)
  for (const next of ['https://evil.example/', '//evil.example', '/\\evil.example', '/.//evil.example', 'javascript:alert(1)']) {
    t.equal(await through(new Browser(gateway), provider, 'anna', `?next=${encodeURIComponent(next)}`), '/account', next)
  }
})

t.test('a provider is found by its name with a slash at its end or without, however it calls itself', async (t) => {
  for (const own of ['/application/app/', '/realms/app', '/', ''])
    for (const configured of [own, own.endsWith('/') ? own.slice(0, -1) : `${own}/`]) {
      const site = createServer(({ url }, response) => {
        const isAsked = url === `${own.replace(/\/$/, '')}/.well-known/openid-configuration`
        response.statusCode = isAsked ? 200 : 404
        response.setHeader('content-type', 'application/json')
        const named = {
          issuer: `${origin}${own}`,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
        }
        response.end(JSON.stringify({ ...named, jwks_uri: `${origin}/jwks`, response_types_supported: ['code'] }))
      })
      site.listen(0, '127.0.0.1')
      await once(site, 'listening')
      t.teardown(() => site.close())
      const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
      const providers = { acme: { name: 'Acme', issuer: `${origin}${configured}`, clientId: 'c', clientSecret: 's' } }
      const gateway = await startGateway(t, { signIn: { providers } })
      const { headers } = await new Browser(gateway).get('auth/oauth/acme/start')
      t.match(headers.get('location'), new RegExp(`^${origin}/authorize`), `${own}, written ${configured}`)
    }
})
