/** The doctor tries what it calls good: each thing that would fail a member later fails here, with what to do about it. */
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import type { Test } from 'tap'
import { sharedStore } from '../../src/operator/doctor-store.ts'
import { selfSigned } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder, testConfig } from '../support/gateway.ts'
import { operatorOf } from '../support/operate.ts'
import { postgresFor } from '../support/postgres.ts'
import { startValkey } from '../support/valkey.ts'

interface Finding {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

/** With the shipped configuration and these parts of it in its place. */
async function examined(t: Test, folder: string, parts: object, words: readonly string[] = []) {
  const { code, output, complaint } = await operatorOf(t, join(folder, 'data'), parts)('doctor', '--json', ...words)
  const { findings } = JSON.parse(output) as { findings: readonly Finding[] }
  return { code, complaint, finding: (what: string) => findings.find((one) => one.what === what) }
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

/** Takes letters from one who signs in as `gate` with the password `open`. */
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

t.test('it says how many threads would serve', async (t) => {
  const { finding } = await examined(t, temporaryFolder(t), { workers: 3 })
  t.match(finding('workers'), { ok: true, detail: /^3 threads serve; this machine has \d+ cores?$/ })
})

t.test('what would fail later fails here', async (t) => {
  const folder = temporaryFolder(t)
  const { port, letters } = await smtp(t)
  const model = await serve(t, json({ data: [{ id: 'small' }, { id: 'large' }] }))
  const refusing = await serve(t, json({ error: 'no' }, 401))
  const provider = await serve(t, json({ issuer: 'https://another.example' }))
  const engine = await serve(t, (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'))
  const { cert } = selfSigned(folder)
  const { code, complaint, finding } = await examined(
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
  t.match(finding('sign-in acme'), { ok: false, detail: /calls itself another issuer/ })
  t.match(finding('search'), { ok: false, detail: /set formats: \[html, json\]/ })
  t.same(letters, [])
  for (const secret of ['sk-secret-0123', 'wrong-password-0123'])
    for (const what of ['mail', 'upstream second']) t.notMatch(finding(what)?.detail, secret)
})

t.test('an upstream whose API is elsewhere on it is told where', async (t) => {
  const folder = temporaryFolder(t)
  const origin = await serve(t, (request, response) =>
    json({ data: [{ id: 'big' }] }, request.url === '/v1/models' ? 200 : 404)(request, response),
  )
  for (const wrong of [origin, `${origin}/v1/chat/completions`]) {
    const { finding } = await examined(t, folder, { upstreams: { main: { baseUrl: wrong } }, products: products('big') })
    t.match(finding('upstream main'), { ok: false, detail: `its API is at ${origin}/v1, not at ${wrong}; set UPSTREAM_BASE_URL` })
  }
})

t.test('what works is called so, and the letter arrives', async (t) => {
  const folder = temporaryFolder(t)
  const { port, letters } = await smtp(t)
  const model = await serve(t, json({ data: [{ id: 'small' }, { id: 'large' }] }))
  const engine = await serve(t, json({ results: [] }))
  const provider: string = await serve(t, (request, response) => json({ issuer: provider })(request, response))
  const { cert, key } = selfSigned(folder)
  const { finding } = await examined(
    t,
    folder,
    {
      listen: { host: '0.0.0.0', port: 8787, siteUrl: 'https://gate.example.com', tls: { cert, key } },
      upstreams: { main: { baseUrl: `${model}/v1` } },
      products: products('large'),
      mail: { smtpUrl: `smtp://gate:open@127.0.0.1:${port}`, from: 'Gate <gate@example.com>' },
      signIn: { providers: { acme: { name: 'Acme', issuer: provider, clientId: 'x' } } },
      search: { backend: 'searxng', searxngUrl: engine },
    },
    ['--send-test-mail', 'me@example.com'],
  )
  for (const what of ['address', 'upstream main', 'mail', 'sign-in acme', 'search']) t.match(finding(what), { ok: true }, what)
  t.match(finding('certificate'), { ok: false, detail: /good for 1 day; renew it/ }, 'but this one ends soon')
  t.same(letters, ['me@example.com'])
})

t.test('the server of the limits is asked; a lost one is told without its password', async (t) => {
  const folder = temporaryFolder(t)
  const valkey = await startValkey(t)
  if (valkey === undefined) return
  const good = await examined(t, folder, { limits: { url: valkey.url } })
  t.match(good.finding('limits'), {
    ok: true,
    detail: /^127\.0\.0\.1:\d+ answers in [\d.]+ ms; requests a minute are counted there/,
  })
  await valkey.client.call('REPLICAOF', '127.0.0.1', '1')
  const replica = await examined(t, folder, { limits: { url: valkey.url } })
  t.match(replica.finding('limits'), { ok: false, detail: /cannot be used \(READONLY/ }, 'one that answers and cannot count')
  await valkey.kill()
  const bad = await examined(t, folder, { limits: { url: valkey.url.replace('//', '//:secret-0123@') } })
  t.match(bad.finding('limits'), { ok: false, detail: /cannot be used \(.*ECONNREFUSED.*check LIMITS_URL/ })
  t.notMatch(JSON.stringify(bad.finding('limits')), /secret-0123/)
})

t.test('a database of several nodes is asked; one that is not there is told without its password', async (t) => {
  const postgres = await postgresFor(t, async () => {})
  if (postgres === undefined) return
  const found = (url: string) =>
    sharedStore(testConfig(t, { store: { url }, mail: { smtpUrl: 'smtp://127.0.0.1:9' }, workers: 1 }))
  const url = await postgres.database(t, { empty: true })
  const findings = await found(url)
  const { host, pathname } = new URL(url)
  t.match(findings[0], {
    what: 'database',
    ok: true,
    detail: new RegExp(`^PostgreSQL [\\d.]+.* at postgres://${host}${pathname} answers`),
  })
  t.match(findings.at(-1), { what: 'nodes', ok: true, detail: 'none is alive' }, 'nor are there tables')
  const lost = await found(`postgres://ada:secret-0123@127.0.0.1:${await freePort()}/svc`)
  t.match(lost, [{ what: 'database', ok: false, detail: /cannot be used \(.*ECONNREFUSED.*check STORE_URL/ }])
  t.notMatch(JSON.stringify(lost), /secret-0123/)
})
