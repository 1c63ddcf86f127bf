/** Programs that sign in to the tool server for a member: every step by its requests. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { Client } from 'undici'
import { Browser, lettersTo } from '../../support/browser.ts'
import { Program, redirect } from '../../support/connecting.ts'
import { startGateway, until } from '../../support/gateway.ts'
import { startGatewayProcess } from '../../support/gateway-process.ts'
import type { Overrides, TestGateway } from '../../support/gateway.ts'

/** A gateway, a member with a browser, and a program that has registered. */
async function scene(t: Test, overrides: Overrides = {}): Promise<{ gateway: TestGateway; member: Browser; program: Program }> {
  const gateway = await startGateway(t, overrides)
  const member = new Browser(gateway)
  await member.signIn('mei@example.com')
  const program = new Program(gateway)
  await program.register()
  return { gateway, member, program }
}

t.test('whoever comes without a token learns where to sign in', async (t) => {
  const gateway = await startGateway(t, { brand: { slug: 'acme' }, listen: { siteUrl: 'https://acme.example' } })
  const response = await fetch(`${gateway.url}/v1/mcp`, { method: 'POST', body: '{}', headers: { host: 'evil.example' } })
  t.equal(response.status, 401)
  const challenge = response.headers.get('www-authenticate') ?? ''
  t.match(
    challenge,
    /^Bearer realm="acme", resource_metadata="https:\/\/acme\.example\/\.well-known\/oauth-protected-resource\/v1\/mcp", scope="tools"$/,
  )
  const elsewhere = await fetch(`${gateway.url}/v1/models`)
  t.notMatch(
    elsewhere.headers.get('www-authenticate') ?? '',
    /resource_metadata/,
    'what takes no such tokens does not offer them',
  )

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
  t.equal(
    (await fetch(`${gateway.url}/.well-known/oauth-authorization-server/v1/mcp`)).status,
    404,
    'no other issuer stands here',
  )
})

t.test('a member approves a program: its token is a session of theirs, for the tools alone', async (t) => {
  const { gateway, member, program } = await scene(t)
  const back = await program.ask(member)
  t.equal(`${back.origin}${back.pathname}`, redirect)
  t.equal(back.searchParams.get('state'), 'of the program')
  t.equal(back.searchParams.get('iss'), gateway.services.origins.site, 'the answer names who gives it')
  const { status, body: tokens } = await program.redeem(back.searchParams.get('code'))
  t.equal(status, 200)
  t.match(tokens, {
    access_token: /^svc_mcp_[\w-]{43}$/,
    refresh_token: /^svc_mcpr_[\w-]{43}$/,
    token_type: 'Bearer',
    scope: 'tools',
  })
  t.notOk('id_token' in tokens)

  t.equal(await program.use(tokens.access_token), 200)
  t.equal(await program.use(tokens.access_token, '/v1/models'), 401, 'not for anything else')
  t.equal((await gateway.chat(tokens.access_token)).status, 401)
  t.equal(await program.use(tokens.access_token, '/api/membership/usage'), 401)
  t.equal(await program.use(tokens.refresh_token), 401)
  const called = await fetch(`${gateway.url}/v1/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'web_search', arguments: { query: 'tides' } }),
  })
  t.equal(called.status, 200, 'and it buys a search')

  const listed = (await member.get('auth/sessions')).body.data
  t.match(listed[0], { kind: 'app', method: 'consent', client: 'Probe', address: '127.0.0.x', current: false })
  t.equal(listed.length, 2)
  t.match((await member.get('audit')).body.data[0], { event: 'app_approved', detail: { client: 'Probe' } })
  await until(() => lettersTo(gateway, 'mei@example.com').length === 2, 'a letter about it')

  await gateway.services.store.backup(join(gateway.config.store.dataDir, 'copy.db'))
  const file = readFileSync(join(gateway.config.store.dataDir, 'copy.db')).toString('latin1')
  for (const word of [tokens.access_token, tokens.refresh_token, back.searchParams.get('code') ?? ''])
    t.notOk(file.includes(word) || file.includes(word.slice(9)), 'no word is kept as it is')

  t.equal((await member.delete(`auth/sessions/${listed[0].id}`)).status, 200)
  t.equal(await program.use(tokens.access_token), 401, 'ended under Sessions, over at once')
  t.match(await program.refresh(tokens.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
})

t.test('a program is not let in without the member', async (t) => {
  const { gateway, member, program } = await scene(t)
  const denied = await program.ask(member, 'deny')
  t.equal(denied.searchParams.get('error'), 'access_denied')
  t.equal(denied.searchParams.get('iss'), gateway.services.origins.site)
  t.equal(denied.searchParams.get('code'), null)
  t.match((await member.get('audit')).body.data[0], { event: 'app_denied' })

  const page = await program.arrive(member)
  t.match((await member.get(`${page}/request`)).body, {
    app: { name: 'Probe', address: null },
    redirect: { place: '127.0.0.1:3334', local: true },
    account: 'mei@example.com',
  })
  const foreign = await member.send('POST', page, { decision: 'approve' }, { 'sec-fetch-site': 'cross-site' })
  t.match(foreign, { status: 403, body: { code: 'forbidden_origin' } }, 'no other page can press the button')
  const shown = await member.get(page, { accept: 'text/html' })
  t.match(shown.headers.get('content-security-policy'), "frame-ancestors 'none'", 'nor lay itself over it')
  t.equal(shown.headers.get('x-frame-options'), 'DENY')

  const other = new Browser(gateway)
  await other.signIn('lee@example.com')
  t.equal((await other.get(`${page}/request`)).status, 400, 'whoever is sent the link by another learns nothing')
  t.equal((await other.send('POST', page, { decision: 'approve' })).status, 400, 'and cannot approve it for them')
  const stranger = new Browser(gateway)
  const nobody = await stranger.get(page, { accept: 'text/html' })
  t.match(nobody.headers.get('location'), /^\/sign-in\?next=%2Fconnect%2F/, 'who is not signed in signs in first')
  t.equal((await member.get('auth/sessions')).body.data.length, 1)

  const again = await program.arrive(member)
  const { body } = await member.send('POST', again, { decision: 'approve' })
  t.equal((await member.send('POST', again, { decision: 'approve' })).status, 400, 'a decision is made once')
  const elsewhere = await new Browser(gateway).get(body.location, { accept: 'text/html' })
  t.equal(elsewhere.status, 400, 'and its answer goes to the browser it was made in')
})

t.test('who is another by now than the page has said approves nothing by it', async (t) => {
  const { member, program } = await scene(t)
  const page = await program.arrive(member)
  const { account } = (await member.get(`${page}/request`)).body
  await member.signIn('lee@example.com')
  const refused = await member.send('POST', page, { decision: 'approve', account })
  t.match(refused, { status: 400, body: { error: { param: 'account' } } })
  const anew = (await member.get(`${page}/request`)).body
  t.equal(anew.account, 'lee@example.com')
  t.equal((await member.send('POST', page, { decision: 'approve', account: anew.account })).status, 200)
})

t.test('a code is good once, for the program that asked, with the proof that it did', async (t) => {
  const { member, program } = await scene(t)
  const code = async (): Promise<string | null> => (await program.ask(member)).searchParams.get('code')
  const refused = { status: 400, body: { error: 'invalid_grant' } }
  const first = await code()
  t.match(await program.redeem(first, { code_verifier: 'v'.repeat(43) }), refused, 'another verifier')
  t.match(await program.redeem(first, { redirect_uri: 'http://127.0.0.1:1/callback' }), refused, 'another address')
  const { body: tokens } = await program.redeem(first)
  t.equal(await program.use(tokens.access_token), 200)
  t.match(await program.redeem(first), refused, 'a second time')
  t.equal(await program.use(tokens.access_token), 401, 'which ends what came of the first')
  t.match(await program.refresh(tokens.refresh_token), refused)

  const other = new Program(program.gateway)
  await other.register()
  const second = await code()
  t.match(await other.redeem(second, { code_verifier: program.verifier }), refused, 'another program')

  const third = await code()
  const all = await Promise.all([program.redeem(third), program.redeem(third), program.redeem(third)])
  t.ok(all.filter(({ status }) => status === 200).length <= 1, 'of several at once at most one')
  const won = all.find(({ status }) => status === 200)
  if (won !== undefined) t.equal(await program.use(won.body.access_token), 401, 'and what it got is over')
})

t.test('refresh tokens turn, and one that comes twice ends the session', async (t) => {
  const { gateway, member, program } = await scene(t)
  const { body: first } = await program.redeem((await program.ask(member)).searchParams.get('code'))
  const { status, body: second } = await program.refresh(first.refresh_token)
  t.equal(status, 200)
  t.not(second.refresh_token, first.refresh_token)
  t.equal(await program.use(second.access_token), 200)
  t.equal(await program.use(first.access_token), 401, 'the token before it is over')
  t.equal((await member.get('auth/sessions')).body.data.length, 2, 'it is the same session')
  t.match(await program.refresh(first.refresh_token), { status: 400, body: { error: 'invalid_grant' } })
  t.equal(await program.use(second.access_token), 401)
  t.equal((await member.get('auth/sessions')).body.data.length, 1)

  const { body: third } = await program.redeem((await program.ask(member)).searchParams.get('code'))
  t.equal((await program.revoke(third.refresh_token)).status, 200, 'a program may end it itself')
  t.equal(await program.use(third.access_token), 401)
  const { body: fourth } = await program.redeem((await program.ask(member)).searchParams.get('code'))
  const { id } = (await member.get('auth/session')).body.account
  await gateway.services.store.accounts.setStatus(id, 'disabled')
  gateway.services.credentials.forgetAccount(id)
  t.equal(await program.use(fourth.access_token), 401, 'an account that is closed has no programs')
  t.match(await program.refresh(fourth.refresh_token), { status: 400 })
})

t.test('what is not asked as it must be is refused: to the program where it may be told, else on a page', async (t) => {
  const { gateway, member, program } = await scene(t)
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
    // What asks for a token at once is answered where such answers stand.
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
    t.match(body, 'Start it again in the program')
    t.match(headers.get('content-security-policy'), "default-src 'none'")
  }
  const other = await program.arrive(member, { redirect_uri: 'http://127.0.0.1:51000/callback' })
  t.match(other, '/connect/', 'the port of a program on this machine does not count')
  t.match(await program.arrive(member, { scope: 'openid email', resource: undefined }), '/connect/', 'other scopes are left out')
})

t.test('programs register themselves, within limits', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'app-register': { times: 12, withinMs: 60_000 } } } })
  const program = new Program(gateway)
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
  t.match(await program.register(), { status: 429 }, 'strangers may not fill the book')
})

t.test(
  'the first sign-in that found no file to spare is not the last',
  { skip: process.platform !== 'linux' && 'open files are limited by prlimit' },
  async (t) => {
    const gateway = await startGatewayProcess({ command: [process.execPath, 'src/main.ts'], dataDir: t.testdir() })
    t.teardown(() => gateway.stop())
    const limit = (files: string) => t.equal(spawnSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${files}`]).status, 0)
    const [, usual = ''] = /Max open files +(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/limits`, 'utf8')) ?? []
    // One connection for all, whose file is open before there are none to spare.
    const client = new Client(gateway.origin)
    t.teardown(() => client.close())
    // By this the site is loaded, and what the library is loaded for is not asked yet.
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ redirect_uris: [redirect] })
    const registered = await client.request({ path: '/oauth/register', method: 'POST', headers, body })
    const { client_id: id } = (await registered.body.json()) as { client_id: string }
    const authorize = async () => {
      const query = new URLSearchParams({
        client_id: id,
        response_type: 'code',
        redirect_uri: redirect,
        code_challenge: 'a'.repeat(43),
        code_challenge_method: 'S256',
      })
      const answer = await client.request({ path: `/oauth/authorize?${query}`, method: 'GET' })
      return { status: answer.statusCode, text: await answer.body.text() }
    }
    // What is open stays so, and the lowest number that is free is beyond the limit.
    const open = new Set(readdirSync(`/proc/${gateway.pid}/fd`).map(Number))
    let free = 0
    while (open.has(free)) free += 1
    limit(`${free}:`)
    const failed = await authorize()
    t.equal(failed.status, 500)
    t.match(failed.text, '<h1>', 'a browser is told so on a page')
    limit(`${usual}:`)
    t.match(await authorize(), { status: 303 })
  },
)
