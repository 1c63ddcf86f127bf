import t from 'tap'
import { createDiagnosticToken } from '../../../../src/access/diagnostic-token.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

const path = '/api/operator/diagnostics'

interface RequestParts {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

function fetchDiagnostics(g: TestGateway, suffix = '', { token, headers = {}, body }: RequestParts = {}): Promise<Response> {
  const bearer = token ?? createDiagnosticToken(g.services.secret, g.services.clock.now())
  return fetch(`${g.url}${path}${suffix}`, {
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
}

t.test('answers 404 without a token that the installation has signed', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const now = g.services.clock.now()
  for (const [title, refused] of [
    ['no token', ''],
    ['the key of a member', token],
    ['the token for metrics', 'scrape-me'],
    ['a token of another installation', createDiagnosticToken(Buffer.alloc(32), now)],
    ['an expired token', createDiagnosticToken(g.services.secret, now - 3_600_000)],
  ] as const) {
    for (const [suffix, parts] of [
      ['', {}],
      ['', { body: '{}' }],
      ['/stream', {}],
    ] as const) {
      const response = await fetchDiagnostics(g, suffix, { ...parts, token: refused })
      t.equal(response.status, 404, `${title}: ${'body' in parts ? 'POST' : 'GET'} ${suffix}`)
      t.equal(((await response.json()) as { readonly code: string }).code, 'not_found')
    }
  }
})

t.test('reports what the gateway received', async (t) => {
  const g = await startGateway(t, {
    listen: { trustedProxies: ['127.0.0.1', '10.0.0.0/8'], siteUrl: 'https://models.example.com' },
  })
  const response = await fetchDiagnostics(g, '', {
    headers: { 'x-forwarded-for': '192.0.2.1, 198.51.100.7, 10.1.1.1', 'x-forwarded-proto': 'https', via: '1.1 outer' },
  })
  t.equal(response.headers.get('cache-control'), 'no-store')
  const { peerPort, ...report } = (await response.json()) as { readonly peerPort: number }
  t.ok(peerPort > 0)
  t.same(report, {
    httpVersion: '1.1',
    scheme: 'http',
    host: new URL(g.url).host,
    peer: { address: '127.0.0.1', isTrusted: true },
    clientAddress: '198.51.100.7',
    forwardedFor: [
      { address: '192.0.2.1', isTrusted: false },
      { address: '198.51.100.7', isTrusted: false },
      { address: '10.1.1.1', isTrusted: true },
    ],
    forwardedProto: 'https',
    publicOrigin: `https://${new URL(g.url).host}`,
    forwardedHost: null,
    forwardedPort: null,
    forwardedServer: null,
    via: '1.1 outer',
    siteUrl: 'https://models.example.com',
    baseUrl: null,
    maxBodyBytes: g.config.limits.chatBodyBytes,
    bodyBytes: 0,
  })
})

t.test('counts a body up to the limit of a chat request and refuses a larger one', async (t) => {
  const g = await startGateway(t, { limits: { chatBodyBytes: 200_000 } })
  const atLimit = await fetchDiagnostics(g, '', { body: ' '.repeat(200_000) })
  t.match(await atLimit.json(), { bodyBytes: 200_000 })
  const aboveLimit = await fetchDiagnostics(g, '', { body: ' '.repeat(200_001) })
  t.equal(aboveLimit.status, 413)
  t.match(await aboveLimit.json(), { code: 'payload_too_large' })
})

t.test('streams five events with the headers of a chat stream, and calls no upstream', async (t) => {
  const g = await startGateway(t)
  const response = await fetchDiagnostics(g, '/stream')
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  t.equal(response.headers.get('x-accel-buffering'), 'no')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.same(await reader.read(), { done: false, value: 'data: 1\n\n' }, 'the first event arrives alone')
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
  t.equal(rest, 'data: 2\n\ndata: 3\n\ndata: 4\n\ndata: 5\n\n')
  t.equal(g.demo.stats().requests, 0)
  t.same(await g.listTurns(), [])
})
