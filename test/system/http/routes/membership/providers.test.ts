/** Sign-in with a real OpenID provider. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { providerClient, startOpenIdProvider } from '../../../../support/servers/openid-provider.ts'
import type { OpenIdProvider, ProviderUser } from '../../../../support/servers/openid-provider.ts'

const people: Readonly<Record<string, ProviderUser>> = {
  anna: { email: 'anna@example.com', email_verified: true },
  ben: { email: 'ben@example.com', email_verified: false },
  cleo: {},
  mallory: { email: 'anna@example.com', email_verified: false },
  'anna-the-second': { email: 'anna@example.com', email_verified: true },
  dan: { email: 'dan@example.com', email_verified: true },
  lines: { email: 'eve@example.com\r\nBcc: all@example.com', email_verified: true },
  marks: { email: '\u202Emoc.elpmaxe@eve\u202C@example.com', email_verified: true },
  long: { email: `${'e'.repeat(300)}@example.com`, email_verified: true },
  blocked: { email: 'eve@blocked.example', email_verified: true },
  typed: { email: ['anna@example.com'], email_verified: 'true' },
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
      ...overrides.signIn,
      providers: {
        acme: {
          name: 'Acme',
          issuer: provider.issuer,
          clientId: providerClient.id,
          clientSecret: providerClient.secret,
          groups: { roles: { staff: 'support', books: 'finance' }, plans: { 'team-max': 'max', team: 'pro' } },
        },
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
    const error = subject === 'cleo' ? 'email_missing' : 'email_unverified'
    t.equal(await signInThrough(browser, provider, subject), `/sign-in?error=${error}`, subject)
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
  const { status, headers } = await browser.get('auth/oauth/acme/start?next=/keys')
  t.equal(status, 302)
  t.match((await browser.get(gateway.url + headers.get('location'))).body, 'Too many sign-ins from your network')
})

t.test('counts a sign-in once', async (t) => {
  const { gateway, provider } = await start(t, {
    limits: { attempts: { 'provider-by-network': { times: 3, withinMs: 600_000 } } },
  })
  for (let times = 0; times < 3; times++)
    t.equal(await signInThrough(new WebsiteClient(gateway), provider, 'anna'), '/account', `sign-in ${times + 1}`)
})

t.test('refuses a second subject of a provider at an account that is linked to another', async (t) => {
  const { gateway, provider } = await start(t)
  const anna = new WebsiteClient(gateway)
  await signInThrough(anna, provider, 'anna')
  const { id } = (await anna.get('auth/session')).body.account
  const next = new WebsiteClient(gateway)
  const to = await signInThrough(next, provider, 'anna-the-second')
  t.equal(to, '/sign-in?error=linked_elsewhere')
  const page = (await next.get(gateway.url + to)).body
  t.match(page, 'ask the operator to unlink the provider')
  t.notMatch(/role="alert">[^<]*/.exec(page)?.[0], 'email code', 'a code would open the account of the other person')
  t.equal((await next.get('auth/session')).status, 401)
  const [refused] = await gateway.services.store.audit.list({ account: id, event: 'provider_refused', limit: 1 })
  t.match(refused?.detail, { provider: 'acme', reason: 'linked_elsewhere' })
  const line = gateway.log.map((each) => JSON.parse(each)).find(({ msg }) => msg === 'a sign-in by provider was refused')
  t.match(line, { provider: 'acme', reason: 'linked_elsewhere', account: id, email: 'a***@example.com' })

  t.same(await gateway.services.store.providerIdentities.unlink('acme', id), [id])
  t.equal(await signInThrough(next, provider, 'anna-the-second'), '/account', 'after the operator has unlinked the provider')
  t.equal((await next.get('auth/session')).body.account.id, id)
  t.equal(await signInThrough(new WebsiteClient(gateway), provider, 'anna'), '/sign-in?error=linked_elsewhere')
})

t.test('links one of several subjects with one address that sign in at the same time', async (t) => {
  const { gateway } = await start(t)
  const { id } = await gateway.createAccount()
  const { providerIdentities } = gateway.services.store
  const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((subject) => providerIdentities.link('acme', subject, id, 1)))
  t.same(outcomes.toSorted(), ['linked', 'other_subject', 'other_subject', 'other_subject'])
  t.equal(await providerIdentities.link('other', 'a', id, 1), 'linked', 'another provider may be linked too')
  t.equal(await providerIdentities.link('other', 'a', (await gateway.createAccount()).id, 1), 'known')
})

t.test('records a refused sign-in in the log and the audit', async (t) => {
  const { gateway, provider } = await start(t, { signIn: { blockedDomains: ['blocked.example'] } })
  const { store } = gateway.services
  await signInThrough(new WebsiteClient(gateway), provider, 'dan')
  const dan = await store.accounts.find('dan@example.com')
  await store.accounts.setStatus(dan?.id ?? '', 'disabled')
  for (const [subject, reason, account] of [
    ['ben', 'email_unverified', null],
    ['cleo', 'email_missing', null],
    ['lines', 'email_unusable', null],
    ['marks', 'email_unusable', null],
    ['long', 'email_unusable', null],
    ['blocked', 'email_unusable', null],
    ['typed', 'email_missing', null],
    ['dan', 'account_unavailable', dan?.id],
  ] as const) {
    t.equal(await signInThrough(new WebsiteClient(gateway), provider, subject), `/sign-in?error=${reason}`, subject)
    const [record] = await store.audit.list({ event: 'provider_refused', limit: 1 })
    t.match(record, { account, detail: { provider: 'acme', reason } }, subject)
    const line = gateway.log.findLast((each) => each.includes('a sign-in by provider was refused')) ?? ''
    t.match(JSON.parse(line), { level: 'warn', provider: 'acme', reason, account }, subject)
    t.ok(line.length < 500 && !/\u202e/.test(line), line)
  }
})

t.test('asks a signed-in member whom a page of another site sends to a provider', async (t) => {
  const { gateway, provider } = await start(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('mei@example.com')
  const foreign = [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { referer: 'http://evil.example/' }, {}]
  for (const headers of foreign) {
    const client = new WebsiteClient(gateway, {})
    for (const [name, value] of browser.cookies) client.cookies.set(name, value)
    const { headers: answer } = await client.get('auth/oauth/acme/start?next=/keys', headers)
    t.equal(answer.get('location'), '/sign-in/switch?provider=acme&next=%2Fkeys', JSON.stringify(headers))
    t.notOk(client.cookies.has('svc_membership_provider'), 'nothing has begun')
    const page = (await client.get(gateway.url + answer.get('location'))).body
    t.match(page, 'You are signed in as mei@example.com.')
    t.match(page, 'href="/api/membership/auth/oauth/acme/start?next=%2Fkeys"')
  }
  for (const headers of [{ 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-origin' }]) {
    const { headers: answer } = await browser.get('auth/oauth/acme/start', headers)
    t.match(answer.get('location'), provider.issuer, JSON.stringify(headers))
  }
  const byReferer = new WebsiteClient(gateway, { referer: `${gateway.url}/sign-in/switch` })
  for (const [name, value] of browser.cookies) byReferer.cookies.set(name, value)
  t.match((await byReferer.get('auth/oauth/acme/start')).headers.get('location'), provider.issuer, 'over plain http')
  const guest = new WebsiteClient(gateway, { 'sec-fetch-site': 'cross-site' })
  t.match((await guest.get('auth/oauth/acme/start')).headers.get('location'), provider.issuer, 'a guest has nothing to lose')
  guest.cookies.set('svc_membership_session', 'x'.repeat(43))
  t.match((await guest.get('auth/oauth/acme/start')).headers.get('location'), provider.issuer, 'nor has an ended session')
  t.equal((await guest.get(`${gateway.url}/sign-in/switch?provider=none`)).status, 404)
})

t.test('the providers are the only way in where the operator says so', async (t) => {
  const { gateway, provider } = await start(t, { signIn: { providersOnly: true } })
  const browser = new WebsiteClient(gateway)
  const page = (await browser.get(`${gateway.url}/sign-in?error=email_unverified`)).body
  t.match(page, 'Continue with Acme')
  t.notMatch(page, /<main[^]*<form|email code/)
  const email = 'anna@example.com'
  for (const [path, body] of [
    ['otp/start', { email }],
    ['otp/verify', { email, code: '123456' }],
    ['sign-up', { email, password: 'a long enough password' }],
    ['sign-in', { email, password: 'a long enough password' }],
    ['magic-link/inspect', { link: 'x'.repeat(43) }],
    ['magic-link/verify', { link: 'x'.repeat(43) }],
  ] as const)
    t.match(await browser.post(`auth/${path}`, body), { status: 403, body: { code: 'sign_in_method_disabled' } }, path)
  t.equal(await signInThrough(browser, provider, 'anna'), '/account')
  t.equal((await browser.post('auth/password', { password: 'a long enough password' })).status, 403)
  const security = (await browser.get(`${gateway.url}/account/security`)).body
  const fields = readFormFields(security, { action: 'delete' })
  t.throws(() => readFormFields(security, { action: 'password' }))
  const typed = { action: 'password', password: 'a long enough password' }
  t.equal((await sendForm(browser, `${gateway.url}/account/security`, fields, typed)).status, 403)
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

t.test('groups of the provider make a member an operator, and take the role at the next sign-in', async (t) => {
  const { gateway, provider } = await start(t)
  const { store, clock } = gateway.services
  const rejoin = async (groups: unknown): Promise<string | null> => {
    Object.assign(people['dan'] ?? {}, { groups })
    await signInThrough(new WebsiteClient(gateway), provider, 'dan')
    const account = await store.accounts.find('dan@example.com')
    return (await store.operators.find(account?.id ?? '', clock.now()))?.role ?? null
  }
  for (const groups of [undefined, [], ['none'], 'nothing', [{ staff: true }], { staff: 'support' }])
    t.equal(await rejoin(groups), null, JSON.stringify(groups))
  t.equal(await rejoin(['none', 'staff']), 'support')
  t.equal(await rejoin('books'), 'finance', 'a single name')
  t.equal(await rejoin(['books', 'staff']), 'support', 'the first role of the configuration')
  const many = Array.from({ length: 10_000 }, (_, index) => `<b>${index}</b>`)
  t.equal(await rejoin([...many, 'staff']), 'support', 'however many groups stand before it')
  t.equal(await rejoin([]), null)
  const account = await store.accounts.find('dan@example.com')
  const changes = await store.audit.list({ account: account?.id ?? '', event: 'role_changed', limit: 9 })
  t.same(
    changes.map(({ detail }) => detail?.['after']),
    [null, 'support', 'finance', 'support'],
  )
})

t.test('groups of the provider give a plan for twelve hours, and the member reads why', async (t) => {
  const { gateway, provider } = await start(t)
  const { store, clock } = gateway.services
  const rejoin = async (groups: unknown): Promise<WebsiteClient> => {
    Object.assign(people['dan'] ?? {}, { groups })
    const browser = new WebsiteClient(gateway)
    await signInThrough(browser, provider, 'dan')
    return browser
  }
  const readPlan = async () => (await store.accounts.find('dan@example.com'))?.plan
  await rejoin([{ team: true }])
  t.equal(await readPlan(), 'free')
  const before = clock.now()
  const browser = await rejoin(['team'])
  const { body } = await browser.get('usage')
  t.equal(body.plan, 'pro')
  const lasts = Date.parse(body.plan_until) - before
  t.ok(lasts >= 12 * 3_600_000 && lasts <= 12 * 3_600_000 + (clock.now() - before))
  t.match((await browser.get(`${gateway.url}/account`)).body, /groups at Acme: sign in there at least every 12 hours/)
  t.match((await browser.get(`${gateway.url}/account`, { 'accept-language': 'zh' })).body, /至少每 12 小时/)
  await rejoin(['team'])
  await rejoin(['team', 'team-max'])
  t.equal(await readPlan(), 'max', 'the first plan of the configuration')
  const last = await rejoin([])
  t.equal(await readPlan(), 'free')
  t.notMatch((await last.get(`${gateway.url}/account`)).body, /groups at Acme/)
  const account = await store.accounts.find('dan@example.com')
  const changes = await store.audit.list({ account: account?.id ?? '', event: 'plan_changed', limit: 9 })
  t.match(
    changes.map(({ detail }) => [detail?.['by'], detail?.['before'], detail?.['plan']]),
    [
      ['acme', 'max', 'free'],
      ['acme', 'pro', 'max'],
      ['acme', 'free', 'pro'],
    ],
    'a sign-in that only moves the end is not recorded',
  )
})
