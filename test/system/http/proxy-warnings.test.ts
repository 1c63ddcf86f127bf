/** Warnings about a proxy's configuration: each once, with the setting or the line that is missing. */
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

const trusted = { trustedProxies: ['127.0.0.1'] }
const findWarnings = ({ log }: TestGateway): string[] =>
  log.filter((line) => line.includes('"level":"warn"') && line.includes('"proxy"'))

/** Sends a request for each set of headers, twice, and expects one warning for each pattern. */
async function expectWarnings(
  t: Test,
  g: TestGateway,
  requests: readonly Readonly<Record<string, string>>[],
  patterns: readonly RegExp[],
  path = '/v1/models',
): Promise<void> {
  for (const headers of [...requests, ...requests]) await (await fetch(g.url + path, { headers })).arrayBuffer()
  const warnings = findWarnings(g)
  t.equal(warnings.length, patterns.length, warnings.join('\n'))
  for (const [index, pattern] of patterns.entries()) t.match(warnings[index], pattern)
}

t.test('names the header and the address of a proxy on a private network that is not trusted', async (t) => {
  for (const [header, name] of [
    ['x-forwarded-for', 'X-Forwarded-For'],
    ['forwarded', 'Forwarded'],
    ['x-real-ip', 'X-Real-IP'],
  ] as const)
    await expectWarnings(
      t,
      await startGateway(t),
      [{ [header]: '203.0.113.1' }, { [header]: '203.0.113.2' }],
      [
        new RegExp(
          `127\\.0\\.0\\.1 sends ${name} but is not trusted.*set TRUSTED_PROXIES=127\\.0\\.0\\.1.*proxy_set_header X-Forwarded-For`,
        ),
      ],
    )
})

t.test('reports a trusted proxy that names no client, except in a probe', async (t) => {
  const g = await startGateway(t, { listen: trusted })
  await expectWarnings(t, g, [{}], [], '/healthz')
  await expectWarnings(
    t,
    g,
    [{ 'x-real-ip': '203.0.113.1' }],
    [
      /the trusted proxy 127\.0\.0\.1 sends no X-Forwarded-For, only X-Real-IP, which is not read.*proxy_set_header X-Forwarded-For/,
    ],
  )
})

t.test('reports a trusted proxy that passes on what the client wrote', async (t) => {
  await expectWarnings(
    t,
    await startGateway(t, { listen: trusted }),
    [{}, { 'x-forwarded-for': '9.9.9.9' }],
    [
      /sends no X-Forwarded-For/,
      /passes on an X-Forwarded-For that the client wrote: other requests come from it without the header/,
    ],
  )
  await expectWarnings(
    t,
    await startGateway(t, { listen: trusted }),
    [{ 'x-forwarded-for': 'made up' }],
    [/passes on an X-Forwarded-For that the client wrote: its last element is no address/],
  )
})

t.test('reports a public origin that is not SITE_URL', async (t) => {
  const forwarded = { 'x-forwarded-for': '203.0.113.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'models.example.com' }
  await expectWarnings(
    t,
    await startGateway(t, { listen: trusted }),
    [forwarded],
    [/clients reach this server at https:\/\/models\.example\.com .* set SITE_URL=https:\/\/models\.example\.com/],
  )
  const siteUrl = 'https://models.example.com'
  await expectWarnings(t, await startGateway(t, { listen: { ...trusted, siteUrl } }), [forwarded], [])
  const baseUrl = 'https://api.example.com'
  const toApi = { ...forwarded, 'x-forwarded-host': 'api.example.com' }
  await expectWarnings(t, await startGateway(t, { listen: { ...trusted, siteUrl, baseUrl } }), [forwarded, toApi], [])
})

t.test(
  'says nothing about a client that writes such headers itself, from a public address or through a proxy that sets them',
  async (t) => {
    const g = await startGateway(t, { listen: trusted })
    await expectWarnings(t, g, [{ 'x-forwarded-for': '10.0.0.1, 203.0.113.9' }, { 'x-forwarded-for': '203.0.113.9:4711' }], [])
  },
)
