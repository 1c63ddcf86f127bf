/** `doctor --from` without a proxy, and where the address leads elsewhere. `test/system/proxies/doctor-from.test.ts` has the real proxies. */
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { checkPublicAddress } from '../../../../../src/operator/commands/public-address/check-public-address.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { startGateway, testConfig } from '../../../../support/gateway/test-gateway.ts'

async function serve(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('the command tests the address that --from names, beside its other checks', async (t) => {
  const port = await findFreePort()
  const siteUrl = `http://127.0.0.1:${port}`
  const g = await startGateway(t, { listen: { port, siteUrl } })
  const runCommand = createOperatorCli(t, g.config.store.dataDir)
  const { stdout } = await runCommand('doctor', '--json', '--from', siteUrl)
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly what: string; readonly ok: boolean }[] }
  t.equal(findings[0]?.what, 'runtime')
  const own = findings.slice(-7)
  t.same(
    own.map(({ what, ok }) => [what, ok]),
    ['public address', 'public scheme', 'public host', 'client address', 'proxy connection', 'public stream', 'body limit'].map(
      (what) => [what, true],
    ),
  )
  t.match(own[3], { detail: '127.0.0.1, connected without a proxy' })
  t.notOk(
    g.log.some((line) => line.includes('X-Forwarded-For')),
    'the gateway does not take the command for a proxy',
  )
  t.notOk((await runCommand('doctor', '--json')).stdout.includes('public address'), 'without --from it tests nothing of this')
})

t.test('a command with a trusted address that connects without a proxy is not taken for one', async (t) => {
  const g = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  const findings = await checkPublicAddress(g.config, g.url)
  t.match(
    findings.find(({ what }) => what === 'client address'),
    { ok: true, detail: '127.0.0.1, connected without a proxy' },
  )
})

t.test('the command refuses what is no origin', async (t) => {
  const runCommand = createOperatorCli(t, (await startGateway(t)).config.store.dataDir)
  for (const [url, message] of [
    ['models.example.com', /needs an address such as/],
    ['ftp://models.example.com', /needs an address such as/],
    ['https://models.example.com/gateway/', /a path prefix is not supported/],
  ] as const) {
    const { code, stderr } = await runCommand('doctor', '--from', url)
    t.equal(code, 1)
    t.match(stderr, message)
    t.notMatch(stderr, /at .*\.ts/, 'without a stack')
  }
})

t.test('reports an address that leads elsewhere', async (t) => {
  const { config } = await startGateway(t)
  const other = await startGateway(t)
  const page = (status: number, headers: Record<string, string> = {}): RequestListener => {
    return (_, response) => void response.writeHead(status, { server: 'nginx/1.22.1', ...headers }).end('<html></html>')
  }
  for (const [title, origin, detail] of [
    ['to a port on which nothing listens', `http://127.0.0.1:${await findFreePort()}`, /cannot be tested: .*ECONNREFUSED/],
    ['to a redirect', await serve(t, page(301, { location: 'https://a.example/' })), /redirects to https:\/\/a\.example\//],
    [
      'to a proxy that reaches no gateway',
      await serve(t, page(502)),
      /HTTP 502 from nginx\/1\.22\.1, which cannot reach the gateway/,
    ],
    ['to a website', await serve(t, page(200)), /HTTP 200 from nginx\/1\.22\.1, not from a gateway/],
    ['to another installation', other.url, /refuses the token of this command: it has another DATA_DIR/],
  ] as const) {
    const findings = await checkPublicAddress(config, origin)
    t.same(
      findings.map(({ what, ok }) => ({ what, ok })),
      [{ what: 'public address', ok: false }],
      title,
    )
    t.match(findings[0]?.detail, detail, title)
  }
})

t.test('the command reads the secret of nodes that share a database', async (t) => {
  const postgres = await providePostgres(t, async () => {})
  if (postgres === undefined) return
  const smtpUrl = 'smtp://127.0.0.1:1'
  const [url, other] = [await postgres.createDatabase(t, { empty: true }), await postgres.createDatabase(t, { empty: true })]
  const g = await startGateway(t, { store: { url }, mail: { smtpUrl } }, { verify: false })
  t.match(await checkPublicAddress(g.config, g.url), [{ what: 'public address', ok: true }])
  await startGateway(t, { store: { url: other }, mail: { smtpUrl } }, { verify: false })
  const foreign = { ...g.config, store: { ...g.config.store, url: other } }
  t.match(await checkPublicAddress(foreign, g.url), [{ what: 'public address', ok: false, detail: /refuses the token/ }])
})

t.test('reports a folder without an installation, and creates no secret there', async (t) => {
  const config = testConfig(t)
  const first = await checkPublicAddress(config, 'http://127.0.0.1:1')
  t.match(first, [{ ok: false, detail: /has no installation/ }])
  t.same(await checkPublicAddress(config, 'http://127.0.0.1:1'), first)
})
