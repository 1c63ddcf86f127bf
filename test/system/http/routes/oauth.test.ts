/** OAuth of programs for the MCP server: every step by its requests. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { Client } from 'undici'
import { WebsiteClient, readEmailsTo } from '../../../support/gateway/website-client.ts'
import { OAuthTestClient, redirectUri } from '../../../support/gateway/oauth-client.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { startGatewayProcess } from '../../../support/processes/gateway-process.ts'
import type { Overrides, TestGateway } from '../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../src/system/clock.ts'

/** A gateway, a member's browser, and a registered client. */
async function startScene(
  t: Test,
  overrides: Overrides = {},
): Promise<{ gateway: TestGateway; member: WebsiteClient; program: OAuthTestClient }> {
  const gateway = await startGateway(t, overrides)
  const member = new WebsiteClient(gateway)
  await member.signIn('mei@example.com')
  const program = new OAuthTestClient(gateway)
  await program.register()
  return { gateway, member, program }
}

t.test('tells a client without a token where to sign in', async (t) => {
  const gateway = await startGateway(t, {
    brand: { slug: 'acme' },
    listen: { siteUrl: 'https://acme.example' },
    oauth: { clientIdDocuments: 'on' },
  })
  const response = await fetch(`${gateway.url}/v1/mcp`, { method: 'POST', body: '{}', headers: { host: 'evil.example' } })
  t.equal(response.status, 401)
  const challenge = response.headers.get('www-authenticate') ?? ''
  t.match(
    challenge,
    /^Bearer realm="acme", resource_metadata="https:\/\/acme\.example\/\.well-known\/oauth-protected-resource\/v1\/mcp", scope="tools"$/,
  )
  const elsewhere = await fetch(`${gateway.url}/v1/models`)
  t.notMatch(elsewhere.headers.get('www-authenticate') ?? '', /resource_metadata/, 'endpoints without OAuth do not offer it')

  for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/v1/mcp']) {
    const document = await fetch(gateway.url + path)
    t.equal(document.headers.get('access-control-allow-origin'), '*')
    t.match(await document.json(), {
      resource: 'https://acme.example/v1/mcp',
      authorization_servers: ['https://acme.example'],
      scopes_supported: ['tools'],
    })
  }
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
    t.match(await (await fetch(gateway.url + path)).json(), {
      issuer: 'https://acme.example',
      authorization_endpoint: 'https://acme.example/oauth/authorize',
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    })
  }
  t.equal((await fetch(`${gateway.url}/.well-known/oauth-authorization-server/v1/mcp`)).status, 404, 'there is no other issuer')
})

t.test('issues a token for the tools alone when a member approves a client', async (t) => {
  const { gateway, member, program } = await startScene(t)
  const back = await program.authorize(member)
  t.equal(`${back.origin}${back.pathname}`, redirectUri)
  t.equal(back.searchParams.get('state'), 'of the program')
  t.equal(back.searchParams.get('iss'), gateway.services.origins.site, 'the response names the issuer')
  const { status, body: tokens } = await program.exchangeCode(back.searchParams.get('code'))
  t.equal(status, 200)
  t.match(tokens, {
    access_token: /^svc_mcp_[\w-]{43}$/,
    refresh_token: /^svc_mcpr_[\w-]{43}$/,
    token_type: 'Bearer',
    scope: 'tools',
  })
  t.notOk('id_token' in tokens)

  t.equal(await program.requestWithToken(tokens.access_token), 200)
  t.equal(await program.requestWithToken(tokens.access_token, '/v1/models'), 401, 'not for other endpoints')
  t.equal((await gateway.chat(tokens.access_token)).status, 401)
  t.equal(await program.requestWithToken(tokens.access_token, '/api/membership/usage'), 401)
  t.equal(await program.requestWithToken(tokens.refresh_token), 401)
  const called = await fetch(`${gateway.url}/v1/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'web_search', arguments: { query: 'tides' } }),
  })
  t.equal(called.status, 200, 'it can search')

  const listed = (await member.get('auth/sessions')).body.data
  t.match(listed[0], { kind: 'app', method: 'consent', client: 'Probe', address: '127.0.0.x', current: false })
  t.equal(listed.length, 2)
  t.match((await member.get('audit')).body.data[0], { event: 'app_approved', detail: { client: 'Probe' } })
  await waitUntil(() => readEmailsTo(gateway, 'mei@example.com').length === 2, 'an email about it')

  await gateway.services.store.backup(join(gateway.config.store.dataDir, 'copy.db'))
  const file = readFileSync(join(gateway.config.store.dataDir, 'copy.db')).toString('latin1')
  for (const word of [tokens.access_token, tokens.refresh_token, back.searchParams.get('code') ?? ''])
    t.notOk(file.includes(word) || file.includes(word.slice(9)), 'no token is stored in plain text')

  t.equal((await member.delete(`auth/sessions/${listed[0].id}`)).status, 200)
  t.equal(await program.requestWithToken(tokens.access_token), 401, 'ended under Sessions, refused at once')
  t.match(await program.refresh(tokens.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
})

t.test('gives a client no access without the member', async (t) => {
  const { gateway, member, program } = await startScene(t)
  const denied = await program.authorize(member, 'deny')
  t.equal(denied.searchParams.get('error'), 'access_denied')
  t.equal(denied.searchParams.get('iss'), gateway.services.origins.site)
  t.equal(denied.searchParams.get('code'), null)
  t.match((await member.get('audit')).body.data[0], { event: 'app_denied' })

  const page = await program.openConsentPage(member)
  t.match((await member.get(`${page}/request`)).body, {
    app: { name: 'Probe', address: null },
    redirect: { place: '127.0.0.1:3334', local: true },
    account: 'mei@example.com',
  })
  const foreign = await member.send('POST', page, { decision: 'approve' }, { 'sec-fetch-site': 'cross-site' })
  t.match(foreign, { status: 403, body: { code: 'forbidden_origin' } }, 'no other page can approve')
  const shown = await member.get(page, { accept: 'text/html' })
  t.match(shown.headers.get('content-security-policy'), "frame-ancestors 'none'", 'and none can frame the page')
  t.equal(shown.headers.get('x-frame-options'), 'DENY')

  const other = new WebsiteClient(gateway)
  await other.signIn('lee@example.com')
  t.equal((await other.get(`${page}/request`)).status, 400, 'a link sent by another person reveals nothing')
  t.equal((await other.send('POST', page, { decision: 'approve' })).status, 400, 'and cannot be approved for them')
  const stranger = new WebsiteClient(gateway)
  const signedOut = await stranger.get(page, { accept: 'text/html' })
  t.match(signedOut.headers.get('location'), /^\/sign-in\?next=%2Fconnect%2F/, 'a signed-out browser signs in first')
  t.equal((await member.get('auth/sessions')).body.data.length, 1)

  const again = await program.openConsentPage(member)
  const { body } = await member.send('POST', again, { decision: 'approve' })
  t.equal((await member.send('POST', again, { decision: 'approve' })).status, 400, 'a decision is made once')
  const elsewhere = await new WebsiteClient(gateway).get(body.location, { accept: 'text/html' })
  t.equal(elsewhere.status, 400, 'and is valid only in the browser that made it')
})

t.test('refuses an approval when another account has signed in since the page was shown', async (t) => {
  const { member, program } = await startScene(t)
  const page = await program.openConsentPage(member)
  const { account } = (await member.get(`${page}/request`)).body
  await member.signIn('lee@example.com')
  const refused = await member.send('POST', page, { decision: 'approve', account })
  t.match(refused, { status: 400, body: { error: { param: 'account' } } })
  const anew = (await member.get(`${page}/request`)).body
  t.equal(anew.account, 'lee@example.com')
  t.equal((await member.send('POST', page, { decision: 'approve', account: anew.account })).status, 200)
})

t.test('accepts a code once, from the client that requested it, with its PKCE verifier', async (t) => {
  const { member, program } = await startScene(t)
  const code = async (): Promise<string | null> => (await program.authorize(member)).searchParams.get('code')
  const refused = { status: 400, body: { error: 'invalid_grant' } }
  const first = await code()
  t.match(await program.exchangeCode(first, { code_verifier: 'v'.repeat(43) }), refused, 'another verifier')
  t.match(await program.exchangeCode(first, { redirect_uri: 'http://127.0.0.1:1/callback' }), refused, 'another address')
  const { body: tokens } = await program.exchangeCode(first)
  t.equal(await program.requestWithToken(tokens.access_token), 200)
  t.match(await program.exchangeCode(first), refused, 'a second time')
  t.equal(await program.requestWithToken(tokens.access_token), 401, 'which revokes the tokens of the first')
  t.match(await program.refresh(tokens.refresh_token), refused)

  const other = new OAuthTestClient(program.gateway)
  await other.register()
  const second = await code()
  t.match(await other.exchangeCode(second, { code_verifier: program.verifier }), refused, 'another program')

  const third = await code()
  const all = await Promise.all([program.exchangeCode(third), program.exchangeCode(third), program.exchangeCode(third)])
  t.ok(all.filter(({ status }) => status === 200).length <= 1, 'of several at once at most one')
  const won = all.find(({ status }) => status === 200)
  if (won !== undefined) t.equal(await program.requestWithToken(won.body.access_token), 401, 'and its token is revoked')
})

t.test('rotates refresh tokens, and ends the session when one is used twice', async (t) => {
  const { gateway, member, program } = await startScene(t)
  const { body: first } = await program.exchangeCode((await program.authorize(member)).searchParams.get('code'))
  const { status, body: second } = await program.refresh(first.refresh_token)
  t.equal(status, 200)
  t.not(second.refresh_token, first.refresh_token)
  t.equal(await program.requestWithToken(second.access_token), 200)
  t.equal(await program.requestWithToken(first.access_token), 401, 'the previous token is revoked')
  t.equal((await member.get('auth/sessions')).body.data.length, 2, 'it is the same session')
  t.equal((await program.refresh(second.refresh_token)).status, 200)
  t.match(await program.refresh(first.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
  t.equal(await program.requestWithToken(second.access_token), 401)
  t.equal((await member.get('auth/sessions')).body.data.length, 1)

  const { body: third } = await program.exchangeCode((await program.authorize(member)).searchParams.get('code'))
  t.equal((await program.revoke(third.refresh_token)).status, 200, 'a program may end it itself')
  t.equal(await program.requestWithToken(third.access_token), 401)
  const { body: fourth } = await program.exchangeCode((await program.authorize(member)).searchParams.get('code'))
  const { id } = (await member.get('auth/session')).body.account
  await gateway.services.store.accounts.setStatus(id, 'disabled')
  gateway.services.credentials.invalidateEverywhere(id)
  t.equal(await program.requestWithToken(fourth.access_token), 401, 'a deleted account has no clients')
  t.match(await program.refresh(fourth.refresh_token), { status: 400 })
})

t.test('accepts a refresh token again within 30 seconds if the client has not received its new tokens', async (t) => {
  let now = Date.now()
  const clock = createClock({ now: () => now })
  const gateway = await startGateway(t, {}, { clock })
  const member = new WebsiteClient(gateway)
  await member.signIn('mei@example.com')
  const program = new OAuthTestClient(gateway)
  await program.register()
  const start = async () => (await program.exchangeCode((await program.authorize(member)).searchParams.get('code'))).body
  const refused = { status: 400, body: { error: 'invalid_grant' } }

  const first = await start()
  const { body: lost } = await program.refresh(first.refresh_token)
  now += 29_000
  const { status, body: second } = await program.refresh(first.refresh_token)
  t.equal(status, 200)
  t.equal(await program.requestWithToken(second.access_token), 200)
  const { body: third } = await program.refresh(second.refresh_token)
  t.equal(await program.requestWithToken(third.access_token), 200)
  t.match(await program.refresh(lost.refresh_token), refused, 'the lost token is used although its sibling was: one was stolen')
  t.equal(await program.requestWithToken(third.access_token), 401)

  const fourth = await start()
  await program.refresh(fourth.refresh_token)
  now += 31_000
  t.match(await program.refresh(fourth.refresh_token), refused, 'too late')
  const fifth = await start()
  const answers = await Promise.all(Array.from({ length: 4 }, () => program.refresh(fifth.refresh_token)))
  t.same(
    answers.map((answer) => answer.status),
    [200, 200, 200, 200],
    'parallel requests of one client',
  )
})

t.test('says which description of a program could not be read, and announces descriptions only where they can be', async (t) => {
  for (const [clientIdDocuments, announced, sentence] of [
    ['auto', false, /could not read the address by which the program describes itself: https:\/\/127\.0\.0\.1\/client\.json/],
    ['off', false, /does not read the addresses by which programs describe themselves \(https:\/\/127\.0\.0\.1\/client\.json\)/],
    ['on', true, /Ask the operator of this service whether it can reach that address/],
  ] as const) {
    const { gateway, member, program } = await startScene(t, {
      oauth: { clientIdDocuments, internetProbeUrl: 'https://127.0.0.1:1/' },
    })
    const metadata = (await (await fetch(`${gateway.url}/.well-known/oauth-authorization-server`)).json()) as Record<
      string,
      unknown
    >
    t.equal(metadata['client_id_metadata_document_supported'], announced, clientIdDocuments)
    const path = program.authorizePath({ client_id: 'https://127.0.0.1/client.json' })
    const { status, body } = await member.get(gateway.url + path, { accept: 'text/html' })
    t.equal(status, 400)
    t.match(body, sentence, clientIdDocuments)
  }
})

t.test('redirects no error to a client that the member has not approved', async (t) => {
  const { gateway, member } = await startScene(t)
  const evil = new OAuthTestClient(gateway)
  const redirect = 'https://evil.example/callback'
  await evil.register({ redirect_uris: [redirect] })
  for (const browser of [new WebsiteClient(gateway), member])
    for (const changes of [
      { code_challenge: undefined },
      { prompt: 'none' },
      { response_type: 'token' },
      { resource: 'https://elsewhere.example/v1/mcp' },
    ]) {
      const path = evil.authorizePath({ redirect_uri: redirect, ...changes })
      const { status, headers, body } = await browser.get(gateway.url + path, { accept: 'text/html' })
      t.equal(status, 400, JSON.stringify(changes))
      t.equal(headers.get('location'), null)
      t.match(body, 'Start it again in the program')
    }
  const denied = await evil.authorize(member, 'deny', { redirect_uri: redirect })
  t.equal(denied.searchParams.get('error'), 'access_denied', 'the member’s own decision is answered to the client')
})

t.test('an account’s clients do not keep others from registering', async (t) => {
  const { gateway, member } = await startScene(t, {
    limits: {
      attempts: {
        'app-decision-by-account': { times: 1_000, withinMs: 60_000 },
        'app-register': { times: 1_000, withinMs: 60_000 },
        'app-start': { times: 1_000, withinMs: 60_000 },
      },
    },
  })
  for (let i = 0; i < 51; i++) {
    const program = new OAuthTestClient(gateway)
    await program.register()
    await program.authorize(member)
  }
  const apps = (await gateway.services.store.sessions.list((await member.get('auth/session')).body.account.id)).filter(
    ({ kind }) => kind === 'app',
  )
  t.equal(apps.length, 50, 'the oldest of fifty-one consents has ended')
  const { oauthClients } = gateway.services.store
  const register = (id: string) => oauthClients.register({ id, metadata: {}, createdAt: Date.now() }, 52)
  t.equal(await register('app_new1'), true, 'the client that was never approved makes room')
  t.equal(await register('app_new2'), true, 'then the one without a live consent')
  t.equal(await register('app_new3'), true, 'then the one that was just registered')
})

t.test('bounds the metadata of a registration', async (t) => {
  const { gateway } = await startScene(t)
  const program = new OAuthTestClient(gateway)
  t.notOk('client_uri' in (await program.register({ client_uri: `https://example.com/${'x'.repeat(200_000)}` })).body)
  t.equal((await program.register({ redirect_uris: [`https://example.com/${'x'.repeat(500)}`] })).status, 400)
  const many = Array.from({ length: 16 }, (_, i) => `https://example.com/${i}/${'x'.repeat(400)}`)
  t.match(await program.register({ redirect_uris: many }), { status: 400, body: { error: 'invalid_client_metadata' } })
  for (const address of ['a.b:alert(1)', 'ms-settings.x:foo', 'com.example.app:alert(1)', 'cursor:x'])
    t.equal((await program.register({ redirect_uris: [address] })).status, 400, address)
})

t.test('refuses invalid requests: to an approved client whose redirect is known, else on a page', async (t) => {
  const { gateway, member, program } = await startScene(t)
  await program.authorize(member)
  for (const [changes, error] of [
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ resource: 'https://elsewhere.example/v1/mcp' }, 'invalid_target'],
    [{ prompt: 'none' }, 'login_required'],
  ] as const) {
    const { status, headers } = await member.get(gateway.url + program.authorizePath(changes))
    t.equal(status, 303)
    const to = new URL(headers.get('location') ?? '')
    // A request without interaction is answered at the token endpoint.
    t.equal(to.searchParams.get('error') ?? new URLSearchParams(to.hash.slice(1)).get('error'), error, JSON.stringify(changes))
    t.equal(to.host, '127.0.0.1:3334')
  }
  for (const changes of [
    { redirect_uri: 'https://evil.example/callback' },
    { redirect_uri: 'http://127.0.0.1:3334/other' },
    { redirect_uri: 'http://127.0.0.1.evil.example:3334/callback' },
    { redirect_uri: 'http://evil@127.0.0.1:3334/callback' },
    { client_id: 'app_unknown' },
    { client_id: 'https://127.0.0.1/client.json' },
  ]) {
    const { status, headers, body } = await member.get(gateway.url + program.authorizePath(changes), { accept: 'text/html' })
    t.equal(status, 400, JSON.stringify(changes))
    t.equal(headers.get('location'), null)
    t.match(body, /Start it again in the program|could not read the address/)
    t.match(headers.get('content-security-policy'), "default-src 'none'")
  }
  const other = await program.openConsentPage(member, { redirect_uri: 'http://127.0.0.1:51000/callback' })
  t.match(other, '/connect/', 'the port of a loopback redirect is ignored')
  t.match(
    await program.openConsentPage(member, { scope: 'openid email', resource: undefined }),
    '/connect/',
    'other scopes are left out',
  )
})

t.test('registers clients within limits', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'app-register': { times: 12, withinMs: 60_000 } } } })
  const program = new OAuthTestClient(gateway)
  t.match(
    await program.register({
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
    }),
    {
      status: 201,
      body: { client_id: /^app_/, token_endpoint_auth_method: 'none', application_type: 'native', scope: 'tools' },
    },
  )
  for (const [redirectUri, taken] of [
    ['cursor://anysphere.cursor-mcp/oauth/callback', true],
    ['com.example.app:/callback', true],
    ['https://claude.ai/api/mcp/auth_callback', true],
    ['http://[::1]/callback', true],
    ['http://intranet.example/callback', false],
    ['javascript:alert(1)//', false],
    ['ms-msdt:/id', false],
    ['https://localhost/callback', false],
    ['https://a.example/#x', false],
  ] as const) {
    const { status, body } = await program.register({ redirect_uris: [redirectUri] })
    t.equal(status, taken ? 201 : 400, redirectUri)
    if (!taken) t.equal(body['error'], 'invalid_redirect_uri')
  }
  t.match(await program.register({ redirect_uris: [] }), { status: 400 })
  t.match(await program.register({ grant_types: ['client_credentials'] }), {
    status: 400,
    body: { error: 'invalid_client_metadata' },
  })
  t.match(await program.register(), { status: 429 }, 'registrations are limited')
})

t.test('writes only JSON lines to the log when the OAuth library is loaded', async (t) => {
  const gateway = await startGatewayProcess({ command: [process.execPath, 'src/operator/start.ts'], dataDir: t.testdir() })
  t.teardown(() => gateway.stop())
  const answer = await fetch(`${gateway.origin}/oauth/authorize?client_id=app_unknown&response_type=code`)
  t.equal(answer.status, 400, 'the library has answered')
  await gateway.stop()
  t.same(
    gateway.output.split('\n').filter((line) => line.includes('oidc-provider')),
    [],
  )
})

t.test(
  'recovers when the first sign-in found no free file descriptor',
  { skip: process.platform !== 'linux' && 'open files are limited by prlimit' },
  async (t) => {
    const gateway = await startGatewayProcess({ command: [process.execPath, 'src/operator/start.ts'], dataDir: t.testdir() })
    t.teardown(() => gateway.stop())
    const limit = (files: string) => t.equal(spawnSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${files}`]).status, 0)
    const [, usual = ''] = /Max open files +(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/limits`, 'utf8')) ?? []
    // One connection for all requests, opened while descriptors are free.
    const client = new Client(gateway.origin)
    t.teardown(() => client.close())
    // This loads the website, but not yet the OAuth library.
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ redirect_uris: [redirectUri] })
    const registered = await client.request({ path: '/oauth/register', method: 'POST', headers, body })
    const { client_id: id } = (await registered.body.json()) as { client_id: string }
    const authorize = async () => {
      const query = new URLSearchParams({
        client_id: id,
        response_type: 'code',
        redirect_uri: redirectUri,
        code_challenge: 'a'.repeat(43),
        code_challenge_method: 'S256',
      })
      const answer = await client.request({ path: `/oauth/authorize?${query}`, method: 'GET' })
      return { status: answer.statusCode, text: await answer.body.text() }
    }
    // Open files stay open; the lowest free descriptor is beyond the limit.
    const open = new Set(readdirSync(`/proc/${gateway.pid}/fd`).map(Number))
    let free = 0
    while (open.has(free)) free += 1
    limit(`${free}:`)
    const failed = await authorize()
    t.equal(failed.status, 500)
    t.match(failed.text, '<h1>', 'a browser gets a page')
    limit(`${usual}:`)
    t.match(await authorize(), { status: 303 })
  },
)
