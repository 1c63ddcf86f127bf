/** The doctor tests what it reports: each thing that would fail a member later fails here, with its remedy. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import type { Test } from 'tap'
import { openSharedStore } from '../../../../../src/server/installation/postgres-installation.ts'
import { systemClock } from '../../../../../src/system/clock.ts'
import { checkSharedStore } from '../../../../../src/operator/commands/doctor/check-shared-store.ts'
import { getTemplateDatabase } from '../../../../runner/template-database.ts'
import { createSelfSignedCertificate } from '../../../../support/servers/tls-certificate.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { responsesKey, startResponsesServer } from '../../../../support/upstream/responses-server.ts'
import { anthropicKey, startAnthropicServer } from '../../../../support/upstream/anthropic-server.ts'
import { createTemporaryFolder, testConfig } from '../../../../support/gateway/test-gateway.ts'
import { readLayout } from '../../../../../src/store/sqlite/maintenance/migration-copy.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { startValkey } from '../../../../support/servers/valkey.ts'

interface Finding {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

/** Runs it with the shipped configuration and these overrides. */
async function runDoctor(t: Test, folder: string, parts: object, words: readonly string[] = []) {
  // The shipped aliases name shipped products.
  const config = {
    ...('products' in parts && { apiFormats: { responses: { aliases: {} }, messages: { aliases: {} } } }),
    ...parts,
  }
  const { code, stdout, stderr } = await createOperatorCli(t, join(folder, 'data'), config)('doctor', '--json', ...words)
  const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] }
  return { code, complaint: stderr, finding: (what: string) => findings.find((one) => one.what === what) }
}

async function serve(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
}

const json =
  (body: unknown, status = 200): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** An SMTP server that accepts the user `gate` with the password `open`. */
async function smtp(t: Test): Promise<{ readonly port: number; readonly letters: string[] }> {
  const letters: string[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _, done) =>
      username === 'gate' && password === 'open'
        ? done(null, { user: username })
        : done(new Error('Invalid username or password')),
    onData(stream, { envelope }, done) {
      stream.resume().on('end', () => {
        letters.push(...envelope.rcptTo.map(({ address }) => address))
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: server.server.address().port, letters }
}

const products = (model: string | null) => ({
  svc: { name: 'Svc', tier: 'flagship', contextLength: 8192, maxOutputTokens: 2048, targets: [{ upstream: 'main', model }] },
  paint: {
    name: 'Paint',
    tier: 'flagship',
    capabilities: ['image'],
    contextLength: 8192,
    maxOutputTokens: 2048,
    targets: [{ upstream: 'main', model: null }],
  },
})

t.test('reports the number of serving threads', async (t) => {
  const { finding } = await runDoctor(t, createTemporaryFolder(t), { workers: 3 })
  t.match(finding('workers'), { ok: true, detail: /^3 threads serve; this machine has \d+ cores? and \d+ MiB$/ })
})

t.test('reports each fault that would fail later', async (t) => {
  const folder = createTemporaryFolder(t)
  const { port, letters } = await smtp(t)
  const model = await serve(t, json({ data: [{ id: 'small' }, { id: 'large' }] }))
  const refusing = await serve(t, json({ error: 'no' }, 401))
  const provider = await serve(t, json({ issuer: 'https://another.example' }))
  const engine = await serve(t, (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'))
  const { cert } = createSelfSignedCertificate(folder)
  const { code, complaint, finding } = await runDoctor(
    t,
    folder,
    {
      listen: { host: '0.0.0.0', port: 8787, tls: { cert, key: cert } },
      upstreams: {
        main: { baseUrl: `${model}/v1` },
        second: { baseUrl: `${refusing}/v1`, apiKey: 'sk-secret-0123' },
        third: { baseUrl: 'http://nobody.localhost:1/v1' },
      },
      products: products('huge'),
      mail: { smtpUrl: `smtp://gate:wrong-password-0123@127.0.0.1:${port}`, from: 'gate@example.com' },
      signIn: { providers: { acme: { name: 'Acme', issuer: provider, clientId: 'x' } } },
      search: { backend: 'searxng', searxngUrl: engine },
    },
    ['--send-test-mail', 'me@example.com'],
  )
  t.equal(code, 1)
  t.equal(complaint, '')
  t.match(finding('address'), { ok: false, detail: /set SITE_URL/ })
  t.match(finding('certificate'), { ok: false, detail: /cannot be used/ })
  t.match(finding('upstream main'), { ok: false, detail: /does not list 'huge'; it lists small, large/ })
  t.match(finding('upstream second'), { ok: false, detail: /refuses the key \(HTTP 401\)/ })
  t.match(finding('upstream third'), { ok: false, detail: /cannot be reached \(.*(ECONNREFUSED|ENOTFOUND)/ })
  t.match(finding('products'), { ok: true, detail: /not sold .*: paint \(UPSTREAM_MODEL_IMAGE\)/ })
  t.match(finding('mail'), { ok: false, detail: /127\.0\.0\.1:\d+: .*Invalid username or password.*check SMTP_URL/ })
  t.match(finding('sign-in acme'), { ok: false, detail: /the provider names another issuer than the configuration/ })
  t.match(finding('search'), { ok: false, detail: /set formats: \[html, json\]/ })
  t.same(letters, [])
  for (const secret of ['sk-secret-0123', 'wrong-password-0123'])
    for (const what of ['mail', 'upstream second']) t.notMatch(finding(what)?.detail, secret)
})

t.test('reports a secret that other users can read', async (t) => {
  const folder = createTemporaryFolder(t)
  const secret = join(folder, 'data', 'secret.key')
  mkdirSync(dirname(secret), { mode: 0o700 })
  writeFileSync(secret, Buffer.alloc(32, 1), { mode: 0o600 })
  t.match((await runDoctor(t, folder, {})).finding('secret'), { ok: true })
  chmodSync(secret, 0o644)
  t.match((await runDoctor(t, folder, {})).finding('secret'), { ok: false, detail: /\(mode 644\); run: chmod 600 \// })
})

t.test('leaves a database of an older version as it is', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'data', 'gateway.db')
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  copyFileSync(await getTemplateDatabase(), file)
  const database = new Database(file)
  database.exec("delete from migration where name = '0003-invite-person'; drop index invite_person")
  database.close()
  const before = readLayout(file)
  t.match((await runDoctor(t, folder, {})).finding('ledger'), { ok: true, detail: /older version; the next start keeps a copy/ })
  t.same(readLayout(file), before)
})

t.test('names the accounts that an older version linked to several identities of a provider', async (t) => {
  const folder = createTemporaryFolder(t)
  const runCommand = createOperatorCli(t, join(folder, 'data'))
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  copyFileSync(await getTemplateDatabase(), join(folder, 'data', 'gateway.db'))
  for (const name of ['ada', 'grace']) await runCommand('account', 'create', '--email', `${name}@example.com`)
  const database = new Database(join(folder, 'data', 'gateway.db'))
  const insert = database.prepare('insert into identity select ?, ?, id, 1 from account where email = ?')
  for (const [provider, subject, email] of [
    ['acme', '1', 'ada@example.com'],
    ['acme', '2', 'ada@example.com'],
    ['acme', '3', 'grace@example.com'],
    ['other', '1', 'grace@example.com'],
  ])
    insert.run(provider, subject, email)
  database.close()
  const command = 'account unlink-provider --account ada@example.com acme'
  const detail = `ada@example.com is linked to several identities of acme, which may be different people; run: svc-gateway ${command}`
  t.same((await runDoctor(t, folder, {})).finding('identities'), { what: 'identities', ok: false, detail })
  t.equal((await runCommand(...command.split(' '))).code, 0)
  t.equal((await runDoctor(t, folder, {})).finding('identities'), undefined)
})

t.test('reports an upstream that cannot list its models', async (t) => {
  const loading = await serve(t, json({ error: 'loading' }, 503))
  const run = (model: string | null) =>
    runDoctor(t, createTemporaryFolder(t), {
      upstreams: { main: { baseUrl: `${loading}/v1` } },
      products: { svc: products(model).svc },
    })
  t.same((await run(null)).finding('upstream main'), {
    what: 'upstream main',
    ok: false,
    detail: `${loading}/v1 cannot list its models (HTTP 503); turns fail until it can, because a target names no model for it`,
  })
  t.match((await run('small')).finding('upstream main'), { ok: false, detail: /\(HTTP 503\); its turns may fail too$/ })
})

t.test('suggests the address of an upstream whose API is on another path', async (t) => {
  const folder = createTemporaryFolder(t)
  const origin = await serve(t, (request, response) =>
    json({ data: [{ id: 'big' }] }, request.url === '/v1/models' ? 200 : 404)(request, response),
  )
  for (const wrong of [origin, `${origin}/v1/chat/completions`]) {
    const { finding } = await runDoctor(t, folder, { upstreams: { main: { baseUrl: wrong } }, products: products('big') })
    t.match(finding('upstream main'), { ok: false, detail: `its API is at ${origin}/v1, not at ${wrong}; set UPSTREAM_BASE_URL` })
  }
})

t.test('tries one chat of each model on request, with the headers that turns have', async (t) => {
  const folder = createTemporaryFolder(t)
  const seen: { readonly id: string | string[] | undefined; readonly body: unknown }[] = []
  const url = await serve(t, (incoming, response) => {
    if (incoming.url === '/v1/models') return json({ data: [{ id: 'good' }, { id: 'bad' }] })(incoming, response)
    let body = ''
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()))
    incoming.on('end', () => {
      const { model } = JSON.parse(body) as { model: string }
      seen.push({ id: incoming.headers['x-client-request-id'], body: JSON.parse(body) })
      if (model === 'bad') response.writeHead(400).end()
      else json({ choices: [] })(incoming, response)
    })
  })
  const { svc } = products('bad')
  const parts = {
    upstreams: { main: { baseUrl: `${url}/v1`, headers: { 'X-Client-Request-ID': 'own' } } },
    products: { svc, small: { ...svc, targets: [{ upstream: 'main', model: 'good' }] } },
  }
  t.equal((await runDoctor(t, folder, parts)).finding('chat main/good'), undefined, 'not unasked')
  const { code, finding } = await runDoctor(t, folder, parts, ['--deep'])
  t.match(finding('chat main/good'), { ok: true })
  t.match(finding('chat main/bad'), { ok: false, detail: /HTTP 400 without a word/ })
  t.equal(code, 1)
  t.match(seen[0], { id: 'own', body: { messages: [{ role: 'user' }], max_tokens: 1 } }, 'a configured header wins')
})

t.test('sends each product with vision a picture of one pixel on request', async (t) => {
  const folder = createTemporaryFolder(t)
  const pictures: unknown[] = []
  const url = await serve(t, (incoming, response) => {
    if (incoming.url === '/v1/models')
      return json({ data: [{ id: 'seeing' }, { id: 'blind' }, { id: 'large' }] })(incoming, response)
    let body = ''
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()))
    incoming.on('end', () => {
      const { model, messages } = JSON.parse(body) as { model: string; messages: [{ content: unknown }] }
      const hasPicture = Array.isArray(messages[0].content)
      if (hasPicture) pictures.push(messages[0].content)
      const refuse = (message: string, status: number): void => json({ error: { message } }, status)(incoming, response)
      if (hasPicture && model === 'blind') refuse('image input is not supported by this server', 500)
      else if (hasPicture && model === 'large') refuse('height:1 or width:1 must be larger than factor:28', 400)
      else json({ choices: [] })(incoming, response)
    })
  })
  const { svc } = products(null)
  const sold = { ...svc, capabilities: ['chat', 'vision'] }
  const to = (model: string | null) => ({ targets: [{ upstream: 'main', model }] })
  const parts = {
    upstreams: { main: { baseUrl: `${url}/v1` } },
    products: {
      first: { ...sold, ...to(null) },
      second: { ...sold, ...to('blind') },
      third: { ...sold, ...to('large') },
      text: { ...svc, ...to('blind') },
    },
  }
  await runDoctor(t, folder, parts)
  t.same(pictures, [], 'not unasked')
  const { code, finding } = await runDoctor(t, folder, parts, ['--deep'])
  t.match(finding('pictures first (main/seeing)'), { ok: true })
  t.match(finding('pictures second (main/blind)'), { ok: false, detail: /HTTP 500: .*image input is not supported/ })
  t.match(finding('pictures third (main/large)'), { ok: true, detail: /not one of one pixel/ })
  t.match(finding('chat main/blind'), { ok: true })
  t.equal(code, 1)
  t.equal(pictures.length, 3)
  t.match(pictures[0], [{ type: 'text' }, { type: 'image_url', image_url: { url: /^data:image\/png;base64,/ } }])
})

t.test('lists and tries the models of an upstream of Anthropic’s API', async (t) => {
  const { url, requests } = await startAnthropicServer(t, ({ model }) =>
    model === 'claude-two' ? { failure: { status: 404, type: 'not_found_error', message: 'model: claude-two' } } : {},
  )
  const { svc } = products('claude-one')
  const parts = (apiKey: string) => ({
    upstreams: { main: { baseUrl: url, apiKey, kind: 'anthropic' as const } },
    products: { svc, two: { ...svc, targets: [{ upstream: 'main', model: 'claude-two' }] } },
  })
  const { finding } = await runDoctor(t, createTemporaryFolder(t), parts(anthropicKey), ['--deep'])
  t.match(finding('upstream main'), { ok: true, detail: /lists claude-one, claude-two$/ })
  t.match(finding('chat main/claude-one'), { ok: true, detail: 'answered one token' })
  t.match(finding('chat main/claude-two'), { ok: false, detail: /HTTP 404: .*not_found_error/ })
  t.match(requests[0], { max_tokens: 1 })
  const wrong = await runDoctor(t, createTemporaryFolder(t), parts('sk-ant-wrong'))
  t.match(wrong.finding('upstream main'), { ok: false, detail: /refuses the key \(HTTP 401\)/ })
})

t.test('lists and tries the models of an upstream with the Responses API', async (t) => {
  const { url, requests } = await startResponsesServer(t, ({ model }) =>
    model === 'gpt-two' ? { failure: { status: 404, code: 'model_not_found', message: 'no such model' } } : {},
  )
  const { svc } = products('gpt-one')
  const parts = (apiKey: string) => ({
    upstreams: { main: { baseUrl: url, apiKey, responses: true } },
    products: { svc, two: { ...svc, targets: [{ upstream: 'main', model: 'gpt-two' }] } },
  })
  const { finding } = await runDoctor(t, createTemporaryFolder(t), parts(responsesKey), ['--deep'])
  t.match(finding('upstream main'), { ok: true, detail: /lists gpt-one, gpt-two$/ })
  t.match(finding('chat main/gpt-one'), { ok: true, detail: 'answered one token' })
  t.match(finding('chat main/gpt-two'), { ok: false, detail: /HTTP 404: .*model_not_found/ })
  t.match(requests[0], { store: false, max_output_tokens: 16 })
  const place = { upstreams: { main: { ...parts(responsesKey).upstreams.main, baseUrl: `${url}/responses` } } }
  const mistaken = await runDoctor(t, createTemporaryFolder(t), { ...parts(responsesKey), ...place })
  t.match(mistaken.finding('upstream main'), { ok: false, detail: `its API is at ${url}, not at` })
})

t.test('reports working parts, and the test email arrives', async (t) => {
  const folder = createTemporaryFolder(t)
  const { port, letters } = await smtp(t)
  const model = await serve(t, json({ data: [{ id: 'small' }, { id: 'large' }] }))
  const engine = await serve(t, json({ results: [] }))
  const provider: string = await serve(t, (request, response) => providerAnswer(provider, null)(request, response))
  const keys = await serve(t, json({ keys: [{ kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', kid: 'one' }] }))
  const { cert, key } = createSelfSignedCertificate(folder)
  const { finding } = await runDoctor(
    t,
    folder,
    {
      listen: { host: '0.0.0.0', port: 8787, siteUrl: 'https://gate.example.com', tls: { cert, key } },
      upstreams: { main: { baseUrl: `${model}/v1` } },
      products: products('large'),
      mail: { smtpUrl: `smtp://gate:open@127.0.0.1:${port}`, from: 'Gate <gate@example.com>' },
      signIn: {
        providers: { acme: { name: 'Acme', issuer: provider, clientId: 'x' } },
        jwtIssuers: [{ issuer: 'https://tokens.example', audience: 'gateway', jwksUrl: keys, plan: 'pro' }],
      },
      search: { backend: 'searxng', searxngUrl: engine },
    },
    ['--send-test-mail', 'me@example.com'],
  )
  for (const what of ['address', 'upstream main', 'mail', 'sign-in acme', 'tokens of tokens.example', 'search'])
    t.match(finding(what), { ok: true }, what)
  t.match(finding('certificate'), { ok: false, detail: /good for 1 day; renew it/ }, 'but this one ends soon')
  t.same(letters, ['me@example.com'])
})

t.test('reports what a provider answers to the client’s secret, other clocks, and keys that cannot be fetched', async (t) => {
  const folder = createTemporaryFolder(t)
  const check = async (answer: (own: string) => RequestListener, clientSecret: string | null = 'secret-0123') => {
    const issuer: string = await serve(t, (request, response) => answer(issuer)(request, response))
    const { finding } = await runDoctor(t, folder, {
      signIn: { providers: { acme: { name: 'Acme', issuer, clientId: 'gate', clientSecret } } },
    })
    t.notMatch(finding('sign-in acme')?.detail, 'secret-0123')
    return finding('sign-in acme')
  }
  const refusal = { error: 'invalid_client', error_description: 'Invalid client\ncredentials.' }
  const wrong = {
    ok: false,
    detail: /refuses client gate: invalid_client \(Invalid client credentials\.\), HTTP 401; check clientId, clientSecret/,
  }
  t.match(await check((own) => providerAnswer(own, refusal)), wrong)
  t.match(await check((own) => providerAnswer(own, refusal), null), wrong, 'a public client that the provider does not have')
  t.match(await check((own) => providerAnswer(own, null, { date: 'Mon, 05 Jan 2026 00:00:00 GMT' })), {
    ok: false,
    detail: /the clocks of this machine and of .* differ by \d+ s/,
  })
  const html: RequestListener = (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')
  t.match(await check(() => html), { ok: false, detail: /cannot be used: .*\(HTTP 200, text\/html\); check its address/ })
  t.match(await check(() => (_, response) => void response.destroy()), { ok: false, detail: /cannot be used: fetch failed/ })

  for (const [answer, detail] of [
    [html, /check jwksUrl, because tokens are answered 503/],
    [json({ keys: [] }), /the key set is empty/],
    [json({ error: 'no' }, 404), /check jwksUrl/],
  ] as const) {
    const jwksUrl = await serve(t, answer)
    const { finding } = await runDoctor(t, folder, {
      signIn: { jwtIssuers: [{ issuer: 'https://tokens.example', audience: 'gateway', jwksUrl, plan: 'pro' }] },
    })
    t.match(finding('tokens of tokens.example'), { ok: false, detail })
  }
  const jwksUrl = 'http://user:secret-0123@127.0.0.1:1/keys'
  const { finding } = await runDoctor(t, folder, {
    signIn: { jwtIssuers: [{ issuer: 'https://tokens.example', audience: 'gateway', jwksUrl, plan: 'pro' }] },
  })
  t.match(finding('tokens of tokens.example'), { ok: false, detail: /check jwksUrl/ })
  t.notMatch(finding('tokens of tokens.example')?.detail, 'secret-0123')
})

/** A provider that knows no code, and with `refusal` no client either. */
function providerAnswer(own: string, refusal: object | null, headers: Readonly<Record<string, string>> = {}): RequestListener {
  const metadata = {
    issuer: own,
    token_endpoint: `${own}/token`,
    authorization_endpoint: `${own}/authorize`,
    jwks_uri: `${own}/keys`,
  }
  return (request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    if (request.url !== '/token') return json(metadata)(request, response)
    json(refusal ?? { error: 'invalid_grant' }, refusal === null ? 400 : 401)(request, response)
  }
}

t.test('checks the limit server and reports a lost one without its password', async (t) => {
  const folder = createTemporaryFolder(t)
  const valkey = await startValkey(t)
  if (valkey === undefined) return
  const good = await runDoctor(t, folder, { limits: { url: valkey.url } })
  t.match(good.finding('limits'), {
    ok: true,
    detail: /^127\.0\.0\.1:\d+ answers in [\d.]+ ms; requests a minute are counted there/,
  })
  await valkey.client.call('REPLICAOF', '127.0.0.1', '1')
  const replica = await runDoctor(t, folder, { limits: { url: valkey.url } })
  t.match(replica.finding('limits'), { ok: false, detail: /cannot be used \(READONLY/ }, 'one that answers and cannot count')
  await valkey.kill()
  const bad = await runDoctor(t, folder, { limits: { url: valkey.url.replace('//', '//:secret-0123@') } })
  t.match(bad.finding('limits'), { ok: false, detail: /cannot be used \(.*ECONNREFUSED.*check LIMITS_URL/ })
  t.notMatch(JSON.stringify(bad.finding('limits')), /secret-0123/)
})

t.test('reports whether descriptions of programs can be read', async (t) => {
  const folder = createTemporaryFolder(t)
  const check = async (clientIdDocuments: 'auto' | 'on' | 'off') =>
    (await runDoctor(t, folder, { oauth: { clientIdDocuments, internetProbeUrl: 'https://127.0.0.1:1/' } })).finding('programs')
  t.match(await check('off'), { ok: true, detail: /documents are off/ })
  t.match(await check('auto'), { ok: true, detail: /not announced: https:\/\/127\.0\.0\.1:1\/ cannot be reached from here/ })
  t.match(await check('on'), { ok: false, detail: /announced but cannot be read.*set oauth\.clientIdDocuments to 'off'/ })
})

t.test('checks the shared database and reports a missing one without its password', async (t) => {
  const postgres = await providePostgres(t, async () => {})
  if (postgres === undefined) return
  const found = (url: string) =>
    checkSharedStore(testConfig(t, { store: { url }, mail: { smtpUrl: 'smtp://127.0.0.1:9' }, workers: 1 }))
  const url = await postgres.createDatabase(t, { empty: true })
  const findings = await found(url)
  const { host, pathname } = new URL(url)
  t.match(findings[0], {
    what: 'database',
    ok: true,
    detail: new RegExp(`^PostgreSQL [\\d.]+.* at postgres://${host}${pathname} answers`),
  })
  t.match(
    findings.find(({ what }) => what === 'nodes'),
    { ok: true, detail: 'none is alive' },
    'nor are there tables',
  )
  for (const config of [{ plans: 'a' }, { plans: 'b' }]) {
    const store = await openSharedStore({ url, clock: systemClock, role: 'node', config })
    t.teardown(() => store.close())
  }
  t.match(
    (await found(url)).find(({ what }) => what === 'configuration'),
    { ok: false, detail: /^1 and 1 nodes differ in plans: a turn costs what its node is configured for/ },
  )
  const lost = await found(`postgres://ada:secret-0123@127.0.0.1:${await findFreePort()}/svc`)
  t.match(lost, [{ what: 'database', ok: false, detail: /cannot be used \(.*ECONNREFUSED.*check STORE_URL/ }])
  t.notMatch(JSON.stringify(lost), /secret-0123/)
})
