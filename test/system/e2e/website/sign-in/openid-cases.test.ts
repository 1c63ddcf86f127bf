/**
 * Sign-ins with Dex, and with a scripted provider for what Dex does not send: what the person reads, and what the operator finds. The table
 * of `docs/openid-sign-in.md` is made here; UPDATE_DOCUMENTS=1 writes it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { checkSignInProviders } from '../../../../../src/operator/commands/doctor/check-sign-in.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startDex } from '../../../../support/servers/dex.ts'
import type { DexUser } from '../../../../support/servers/dex.ts'
import { startScriptedOpenIdProvider } from '../../../../support/servers/scripted-openid-provider.ts'

const document = join(import.meta.dirname, '../../../../../docs/openid-sign-in.md')
const [tableStart, tableEnd] = [
  '<!-- cases: made by test/system/e2e/website/sign-in/openid-cases.test.ts -->\n\n',
  '\n<!-- end of cases -->',
]
const clientId = 'gateway'
const secret = 'secret-of-tests'

interface Case {
  readonly what: string
  readonly reads: string
  readonly finds: string
}

const users: readonly DexUser[] = [
  { email: 'anna@example.com', userId: 'anna' },
  { email: 'carl@example.com', userId: 'carl' },
  { email: 'dan@example.com', userId: 'dan' },
  { email: 'fay@example.com', userId: 'fay' },
  { email: 'unverified@example.com', userId: 'una', emailVerified: false },
  { email: 'unproven@example.com', userId: 'uma' },
]

t.test('each sign-in ends as the table of the document says', async (t) => {
  // The providers need our addresses before we know theirs.
  const [port, closedPort] = [await findFreePort(), await findFreePort()]
  const ports = [port, closedPort]
  const redirectUris = ports.flatMap((each) =>
    ['dex', 'wrong'].map((id) => `http://127.0.0.1:${each}/api/membership/auth/oauth/${id}/callback`),
  )
  const postLogoutRedirectUris = ports.map((each) => `http://127.0.0.1:${each}/`)
  const dex = await startDex(t, { id: clientId, secret, redirectUris, postLogoutRedirectUris }, users)
  if (dex === undefined) return
  const scripted = await startScriptedOpenIdProvider(t, clientId)
  const provider = (issuer: string, clientSecret = secret) => ({ name: 'Acme', issuer, clientId, clientSecret })
  const providers = {
    dex: { ...provider(dex.issuer), endSession: true },
    wrong: provider(dex.issuer, 'another secret'),
    scripted: provider(scripted.issuer),
    dead: provider(`http://127.0.0.1:${await findFreePort()}`),
  }
  const overrides: Overrides = { listen: { port, trustedProxies: ['127.0.0.1'] }, signIn: { providers } }
  const gateway = await startGateway(t, overrides)
  const { store, ids, clock } = gateway.services
  const cases: Case[] = []
  let address = 0

  const createClient = (g: TestGateway): WebsiteClient =>
    new WebsiteClient(g, { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': `203.0.113.${++address}` })

  /** Signs in, and notes what the person reads and the operator finds. */
  async function signIn(
    what: string,
    id: keyof typeof providers,
    person: string | ((state: URLSearchParams) => string),
    { g = gateway, client = createClient(g) }: { readonly g?: TestGateway; readonly client?: WebsiteClient } = {},
  ): Promise<WebsiteClient> {
    const logged = g.log.length
    const before = new Set((await g.services.store.audit.list({ limit: 100 })).map((record) => record.id))
    const started = await client.get(`auth/oauth/${id}/start`)
    let location = started.headers.get('location') ?? ''
    if (!location.startsWith('/')) {
      const query = new URL(location).searchParams
      scripted.nonce = query.get('nonce') ?? ''
      const back =
        typeof person === 'string'
          ? await dex?.signIn(location, person)
          : `${g.url}/api/membership/auth/oauth/${id}/callback?${person(query)}`
      location = (await client.get(back ?? '')).headers.get('location') ?? ''
    }
    cases.push({ what, reads: await readOutcome(client, g, location), finds: await listFindings(g, logged, before) })
    return client
  }

  /** Signs in with the scripted provider and these claims. */
  async function signInWith(what: string, claims: Readonly<Record<string, unknown>>): Promise<void> {
    scripted.claims = claims
    await signIn(what, 'scripted', comeBack)
  }

  const comeBack = (query: URLSearchParams): string => `state=${query.get('state')}&code=a-code`
  const findAccount = async (client: WebsiteClient): Promise<string> => (await client.get('auth/session')).body.account.id
  const setUp = async (email: string, emailVerified = true): Promise<string> => {
    const at = clock.now()
    const id = ids.next('acc_', at)
    await store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified, at })
    return id
  }

  // Subjects.
  const anna = await findAccount(await signIn('A new person', 'dex', 'anna@example.com'))
  t.equal(await findAccount(await signIn('The same person again', 'dex', 'anna@example.com')), anna)
  const carl = await setUp('carl@example.com')
  t.equal(await findAccount(await signIn('A person who has an account with this address', 'dex', 'carl@example.com')), carl)
  await setUp('unproven@example.com', false)
  await signIn('The address of the account was never proven', 'dex', 'unproven@example.com')
  const out = await signIn('A person who then signs out', 'dex', 'fay@example.com')
  const url = new URL((await out.post('auth/sign-out')).body.provider_sign_out_url)
  t.match(
    [url.origin + url.pathname, url.searchParams.get('post_logout_redirect_uri')],
    [`${dex.issuer}/logout`, `${gateway.url}/`],
  )
  t.equal(new URL(await dex.signIn(url.href, '')).href, `${gateway.url}/`, 'Dex sends the browser back')

  await dex.restart([
    { email: 'anna@example.com', userId: 'anna-the-second' },
    { email: 'carl@new.example', userId: 'carl' },
    { email: 'taken@example.com', userId: 'fay' },
    { email: 'unverified@example.com', userId: 'dan', emailVerified: false },
  ])
  await signIn('The address was given to another person', 'dex', 'anna@example.com')
  const moved = await signIn('The address of the person has changed', 'dex', 'carl@new.example')
  t.equal(await findAccount(moved), carl)
  await signIn('The same, at the next sign-in in this browser', 'dex', 'carl@new.example', { client: moved })
  await setUp('taken@example.com')
  await signIn('The address has changed to that of another account', 'dex', 'taken@example.com')
  await dex.restart(users.map((user) => ({ ...user, userId: `rebuilt-${user.userId}` })))
  await signIn('The provider was rebuilt, and all its subjects changed', 'dex', 'anna@example.com')
  const run = createOperatorCli(t, gateway.config.store.dataDir)
  t.match(await run('account', 'unlink-provider', 'dex', '--all'), { code: 0, stdout: /^3 accounts unlinked/ })
  t.equal(await findAccount(await signIn('The same, after `account unlink-provider dex --all`', 'dex', 'anna@example.com')), anna)

  // Addresses.
  await signIn('The provider has not verified the address', 'dex', 'unverified@example.com')
  await signInWith('No address', {})
  await signInWith('An address with a line end', { email: 'eve@example.com\r\nBcc: all@example.com', email_verified: true })
  await signInWith('An address with direction marks', { email: '\u202Eeve\u202C@example.com', email_verified: true })
  await signInWith('An address of 300 letters', { email: `${'e'.repeat(300)}@example.com`, email_verified: true })
  await signInWith('A list instead of an address', { email: ['eve@example.com'], email_verified: true })
  await signInWith('`email_verified` is a text', { email: 'eve@example.com', email_verified: 'true' })

  // Refusals.
  const closed = await startGateway(t, { ...overrides, listen: { port: closedPort }, signIn: { providers, signUp: 'closed' } })
  await signIn('Sign-up is closed', 'dex', 'dan@example.com', { g: closed })
  const limited = await startGateway(t, { signIn: { providers, allowedDomains: ['example.org'] } })
  scripted.claims = { email: 'eve@example.com', email_verified: true }
  await signIn('The domain may not sign up', 'scripted', comeBack, { g: limited })
  await store.accounts.setStatus(anna, 'disabled')
  await signIn('The account is disabled', 'dex', 'anna@example.com')
  await signIn('The person declines at the provider', 'scripted', (query) => `state=${query.get('state')}&error=access_denied`)
  await signIn('The answer of an older tab', 'scripted', () => `state=${'x'.repeat(43)}&code=a-code`)
  const busy = createClient(gateway)
  for (let times = 0; times < 60; times++) await busy.get('auth/oauth/scripted/start')
  await signIn('The 61st sign-in of a network in ten minutes', 'scripted', comeBack, { client: busy })
  const foreign = await signIn('A signed-in member whom a page of another site sends', 'scripted', comeBack, {
    client: await signedInFromElsewhere(gateway),
  })
  t.equal((await foreign.get('auth/session')).status, 200, 'the session stays')

  // Secrets and clocks.
  await signIn('The client’s secret is wrong', 'wrong', 'fay@example.com')
  const send = (status: number, type: string, body: string) => (_: unknown, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': type }).end(body)
  const failing = async (what: string, path: string, answer: (_: unknown, response: ServerResponse) => void): Promise<void> => {
    scripted.claims = { email: 'eve@example.com', email_verified: true }
    scripted.answers.set(path, answer)
    await signIn(what, 'scripted', comeBack)
    scripted.answers.clear()
  }
  await failing('The provider refuses the code', '/token', send(400, 'application/json', '{"error":"invalid_grant"}'))
  const now = Math.floor(Date.now() / 1000)
  await signInWith('The provider’s clock is ten minutes slow', { iat: now - 900, exp: now - 600 })
  await signInWith('The provider’s clock is ten minutes fast', { iat: now + 600, nbf: now + 600, exp: now + 900 })
  await signInWith('A token for another client', { aud: 'another' })

  // Dead providers.
  await signIn('The provider cannot be reached', 'dead', comeBack)
  const metadata = '/.well-known/openid-configuration'
  await failing('The provider answers HTML', metadata, send(200, 'text/html', '<h1>Welcome</h1>'))
  await failing('The provider answers nothing', metadata, (_, response) => void response.destroy())
  await failing('The token endpoint answers HTML', '/token', send(502, 'text/html', '<h1>Bad gateway</h1>'))
  await failing('The token endpoint answers rubbish', '/token', send(200, 'application/json', '{"access_token":7'))
  await failing('The token endpoint answers nothing', '/token', (_, response) => void response.destroy())
  scripted.claims = { email: 'hal@example.com', email_verified: true, sub: 'hal' }
  await signIn('The same provider, once it works again', 'scripted', comeBack)

  scripted.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
  const posting = await startGateway(t, { signIn: { providers } })
  await signIn('The provider accepts the secret in the body alone', 'scripted', comeBack, { g: posting })
  t.match(scripted.tokenRequests.at(-1), { authorization: null, body: new RegExp(`client_secret=${secret}`) })

  const doctor = await checkSignInProviders(gateway.config)
  const findDoctor = (id: string): string => normalise(doctor.find(({ what }) => what === `sign-in ${id}`)?.detail ?? '')
  t.match(doctor, [{ what: 'sign-in dex', ok: true }, { ok: false }, { ok: true }, { ok: false }])
  t.match(findDoctor('wrong'), 'refuses client gateway: invalid_client')
  t.match(findDoctor('dead'), /cannot be used: .*ECONNREFUSED/)

  t.ok(cases.length >= 30, `${cases.length} cases`)
  t.notMatch(gateway.log.join(''), '[object Object]')
  t.notMatch(gateway.log.join(''), secret)
  const table = [
    '| Case | The person reads | The log and the audit have |',
    '|---|---|---|',
    ...cases.map(({ what, reads, finds }) => `| ${what} | ${reads} | ${finds} |`),
  ].join('\n')
  const committed = readFileSync(document, 'utf8')
  const [head = '', tail = ''] = [committed.split(tableStart)[0], committed.split(tableEnd)[1]]
  if (process.env['UPDATE_DOCUMENTS'] === '1') writeFileSync(document, `${head}${tableStart}${table}\n${tableEnd}${tail}`)
  t.equal(
    table,
    committed.slice(head.length + tableStart.length, committed.indexOf(`\n${tableEnd}`)),
    'docs/openid-sign-in.md is current',
  )

  async function signedInFromElsewhere(g: TestGateway): Promise<WebsiteClient> {
    const member = new WebsiteClient(g)
    await member.signIn('mei@example.com')
    const client = new WebsiteClient(g, { 'sec-fetch-site': 'cross-site' })
    for (const [name, value] of member.cookies) client.cookies.set(name, value)
    return client
  }
})

/** The page's words, or where a signed-in person is. */
async function readOutcome(client: WebsiteClient, g: TestGateway, location: string): Promise<string> {
  if (location === '/account') return 'The account page.'
  const page = (await client.get(g.url + location)).body as string
  if (location.startsWith('/account/security?offer=')) return quote(/class="notice">([^<]*)/.exec(page)?.[1] ?? '')
  if (location.startsWith('/sign-in/switch')) return quote(/class="sub">([^<]*)/.exec(page)?.[1] ?? '')
  return quote(/role="alert">([^<]*)/.exec(page)?.[1] ?? '')
}

async function listFindings(g: TestGateway, logged: number, before: ReadonlySet<string>): Promise<string> {
  const lines = g.log
    .slice(logged)
    .map((line) => JSON.parse(line) as { readonly level: string; readonly msg: string; readonly reason?: string })
    .filter(({ level, msg }) => level === 'warn' && msg.includes('sign-in'))
    .map(({ msg, reason }) => `${msg}: \`${normalise(reason ?? '')}\``)
  const records = (await g.services.store.audit.list({ limit: 100 }))
    .filter(({ id }) => !before.has(id))
    .map(({ event, detail }) =>
      detail?.['reason'] === undefined ? `\`${event}\`` : `\`${event}\` (${String(detail['reason'])})`,
    )
    .toReversed()
  return [...lines, ...records].join('; ') || '–'
}

/** Without what differs between runs. */
function normalise(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1')
    .replaceAll(/other side closed \(UND_ERR_SOCKET\)|read ECONNRESET/g, 'the connection was closed')
    .replaceAll('|', '\\|')
    .trim()
}

function quote(html: string): string {
  return normalise(html.replaceAll('&#39;', "'").replaceAll(/\s+/g, ' '))
}
