/** Sign-in with a real OpenID provider. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../support/gateway/test-gateway.ts'
import { findFreePort } from '../../../support/free-port.ts'
import { providerClient, startOpenIdProvider } from '../../../support/servers/openid-provider.ts'
import type { OpenIdProvider, ProviderUser } from '../../../support/servers/openid-provider.ts'

const people: Readonly<Record<string, ProviderUser>> = {
  anna: { email: 'anna@example.com', email_verified: true },
  ben: { email: 'ben@example.com', email_verified: false },
  cleo: {},
  mallory: { email: 'anna@example.com', email_verified: false },
}

async function start(
  t: Test,
  overrides: Overrides = {},
): Promise<{ readonly gateway: TestGateway; readonly provider: OpenIdProvider }> {
  // The provider needs our address before it starts, so our port is chosen first.
  const port = await findFreePort()
  const provider = await startOpenIdProvider(t, people, () => `http://127.0.0.1:${port}/api/membership/auth/oauth/acme/callback`)
  const gateway = await startGateway(t, {
    ...overrides,
    listen: { port },
    signIn: {
      providers: {
        acme: { name: 'Acme', issuer: provider.issuer, clientId: providerClient.id, clientSecret: providerClient.secret },
      },
    },
  })
  return { gateway, provider }
}

/** Follows the redirects from our start to our callback and its response. */
async function signInThrough(
  browser: WebsiteClient,
  provider: OpenIdProvider,
  subject: string,
  query = '',
): Promise<string | null> {
  const started = await browser.get(`auth/oauth/acme/start${query}`)
  const back = await provider.signIn(started.headers.get('location') ?? '', subject)
  return (await browser.get(back)).headers.get('location')
}

t.test('signs in a person whom the provider verifies, the second time into the same account', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new WebsiteClient(gateway)
  const listed = await browser.get('auth/providers')
  t.match(listed.body.data, [{ id: 'acme', name: 'Acme', start_url: `${gateway.url}/api/membership/auth/oauth/acme/start` }])
  t.equal(await signInThrough(browser, provider, 'anna', '?next=/keys'), '/keys')
  const first = await browser.get('auth/session')
  t.match(first.body, {
    account: { email: 'anna@example.com', has_password: false },
    session: { method: 'provider', kind: 'web' },
  })

  const other = new WebsiteClient(gateway)
  t.equal(await signInThrough(other, provider, 'anna'), '/account')
  const second = await other.get('auth/session')
  t.equal(second.body.account.id, first.body.account.id)

  const byMail = new WebsiteClient(gateway)
  await byMail.signIn('anna@example.com')
  t.equal((await byMail.get('auth/session')).body.account.id, first.body.account.id, 'the email code leads to the same account')
})

t.test('refuses an address that the provider has not verified', async (t) => {
  const { gateway, provider } = await start(t)
  const owner = new WebsiteClient(gateway)
  await owner.signIn('anna@example.com')
  for (const subject of ['ben', 'cleo', 'mallory']) {
    const browser = new WebsiteClient(gateway)
    t.equal(await signInThrough(browser, provider, subject), '/sign-in?error=email_unverified', subject)
    t.equal((await browser.get('auth/session')).status, 401, subject)
  }
  t.equal(await gateway.services.store.accounts.count(), 1)
})

t.test('does not link an account whose own address was never verified', async (t) => {
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
  t.equal(await signInThrough(new WebsiteClient(gateway), provider, 'anna'), '/sign-in?error=link_refused')
})

t.test('accepts a provider’s response once, in the browser that started', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new WebsiteClient(gateway)
  const started = await browser.get('auth/oauth/acme/start')
  const word = browser.cookies.get('svc_membership_provider') ?? ''
  const back = await provider.signIn(started.headers.get('location') ?? '', 'anna')
  const stranger = new WebsiteClient(gateway)
  t.equal((await stranger.get(back)).headers.get('location'), '/sign-in?error=provider_failed')
  t.equal((await browser.get(back)).headers.get('location'), '/account')
  browser.cookies.set('svc_membership_provider', word)
  t.equal((await browser.get(back)).headers.get('location'), '/sign-in?error=provider_failed', 'the same response again')
  const forged = await new WebsiteClient(gateway).get(`auth/oauth/acme/callback?state=${'x'.repeat(43)}&code=y`)
  t.equal(forged.headers.get('location'), '/sign-in?error=provider_failed')
  t.equal((await browser.get('auth/oauth/nobody/start')).status, 404)
})

t.test('completes the newer sign-in of two tabs, in either order', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new WebsiteClient(gateway)
  const [first, last] = [await browser.get('auth/oauth/acme/start'), await browser.get('auth/oauth/acme/start')]
  const back = async ({ headers }: typeof first) => provider.signIn(headers.get('location') ?? '', 'anna')
  t.equal((await browser.get(await back(first))).headers.get('location'), '/sign-in?error=provider_failed')
  t.equal((await browser.get(await back(last))).headers.get('location'), '/account')
  t.notOk(browser.cookies.has('svc_membership_provider'))
})

t.test('keeps the return path and the invitation on the error page', async (t) => {
  const { gateway, provider } = await start(t)
  const query = '?next=%2Fdevice%3Fuser_code%3DBCDF-GHJK&invite=AB1'
  const to = await signInThrough(new WebsiteClient(gateway), provider, 'ben', query)
  t.equal(to, '/sign-in?error=email_unverified&next=%2Fdevice%3Fuser_code%3DBCDF-GHJK&invite=AB1')
  const browser = new WebsiteClient(gateway)
  const { headers } = await browser.get(`auth/oauth/acme/start${query}`)
  const state = new URL(headers.get('location') ?? '').searchParams.get('state')
  const denied = await browser.get(`auth/oauth/acme/callback?state=${state}&error=access_denied`)
  t.match(denied.headers.get('location'), '&next=%2Fdevice%3Fuser_code%3DBCDF-GHJK')
})

t.test('shows a page for too many sign-ins from one network', async (t) => {
  const { gateway } = await start(t, { limits: { attempts: { 'provider-by-network': { times: 1, withinMs: 600_000 } } } })
  const browser = new WebsiteClient(gateway)
  await browser.get('auth/oauth/acme/start')
  for (const step of ['start?next=/keys', 'callback']) {
    const { status, headers } = await browser.get(`auth/oauth/acme/${step}`)
    t.equal(status, 302)
    t.match((await browser.get(gateway.url + headers.get('location'))).body, 'Too many sign-ins from your network')
  }
})

t.test('redirects only to own paths afterwards', async (t) => {
  const { gateway, provider } = await start(t)
  for (const next of ['https://evil.example/', '//evil.example', '/\\evil.example', '/.//evil.example', 'javascript:alert(1)']) {
    t.equal(
      await signInThrough(new WebsiteClient(gateway), provider, 'anna', `?next=${encodeURIComponent(next)}`),
      '/account',
      next,
    )
  }
})

t.test('finds a provider by its issuer with or without a trailing slash', async (t) => {
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
      const { headers } = await new WebsiteClient(gateway).get('auth/oauth/acme/start')
      t.match(headers.get('location'), new RegExp(`^${origin}/authorize`), `${own}, written ${configured}`)
    }
})
