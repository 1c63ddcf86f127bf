/** No text of a prompt reaches the log at the default level, whatever an upstream, an engine or a library quotes in its failures. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import base from '../../../../gateway.config.ts'
import { definePlugin } from '../../../../src/exchange/plugins/plugin.ts'
import type { AnyPlugin } from '../../../../src/exchange/plugins/plugin.ts'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { GatewayError } from '../../../../src/errors.ts'
import { parseJson } from '../../../../src/system/parse-json.ts'
import { createLog } from '../../../../src/observability/log.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../support/gateway/test-gateway.ts'

const canary = 'Canary7f3a'
/** A prompt as servers quote it: in quotes, across lines, beside codes that are looked for. */
const quote = `Cannot read "my secret is ${canary}\n    at ${canary} (x:1:1)" of ${canary}@example.com: '${canary}'`

const bodies: readonly unknown[] = [
  { error: { message: quote, type: canary, code: canary, param: canary } },
  { error: { message: quote, metadata: { raw: quote, reasons: [quote] } } },
  { error: quote },
  { message: quote, object: 'error' },
  { detail: quote },
  { detail: [{ loc: ['body', canary], msg: quote }] },
  { type: 'error', error: { type: 'invalid_request_error', message: quote } },
  [{ error: { message: quote, status: canary, details: [{ reason: canary }] } }],
  quote,
  `{"error": "${canary}`,
  `<html>${canary}</html>`,
  `data: {"error":{"message":"${canary}"}}\n\n`,
]

const requests: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  ['/v1/chat/completions', { messages: [{ role: 'user', content: canary }] }],
  ['/v1/responses', { input: canary }],
  ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: canary }] }],
]

async function post(g: TestGateway, token: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${g.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  await response.text()
}

/** Nothing that an operator reads holds the canary. */
async function expectNoCanary(t: Test, g: TestGateway, token: string): Promise<void> {
  await g.waitUntilSettled()
  const ready = await (await fetch(`${g.url}/readyz`)).text()
  const turns = JSON.stringify(await g.listTurns())
  const metrics = await g.scrapeMetrics()
  const lines = g.log.join('').split('\n')
  t.ok(
    lines.some((line) => line.includes('"upstream failed"') || line.includes('failed')),
    'something was logged',
  )
  t.same(
    lines.filter((line) => line.toLowerCase().includes(canary.toLowerCase())),
    [],
  )
  for (const text of [ready, turns, metrics]) t.notMatch(text.toLowerCase(), canary.toLowerCase())
  t.ok(token !== '')
}

const start = (t: Test, overrides: Overrides = {}) => startGateway(t, overrides)

t.test('no failure of an upstream brings a prompt to the log, in any format', async (t) => {
  const g = await start(t)
  const { token } = await g.createMember()
  for (const status of [307, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 451, 500, 502, 503, 504, 529])
    for (const [nth, body] of bodies.entries()) {
      g.demo.script(() => ({ status, body, headers: { 'x-quoted': canary } }))
      const [path, request] = requests[nth % requests.length] ?? ['', {}]
      await post(g, token, path, { model: 'svc-2.1', stream: nth % 2 === 0, ...request })
    }
  const value = { message: quote, type: canary, code: canary }
  const scripts = [
    ...(['first', 2, 'last', 'whole', 'choice'] as const).flatMap((at) =>
      [value, quote, { ...value, code: 500 }, { ...value, code: 429 }].map((error) => ({
        error: { at, value: error },
        tokens: 4,
      })),
    ),
    { text: canary, finish: canary },
    { text: canary, finish: null },
    { body: quote },
    { body: { error: value } },
    { html: true },
    { empty: true },
    { text: canary, cut: { afterEvents: 2 }, betweenMs: 1 },
    { text: canary, reset: { afterEvents: 2 }, betweenMs: 1 },
    { text: canary, usage: canary },
  ] as const
  for (const script of scripts)
    for (const [path, request] of requests)
      for (const stream of [true, false]) {
        g.demo.script(() => script)
        await post(g, token, path, { model: 'svc-2.1', stream, ...request })
      }
  await expectNoCanary(t, g, token)
  const [failed = ''] = g.log
    .join('')
    .split('\n')
    .filter((line) => line.includes('"upstream failed"'))
  t.match(JSON.parse(failed), {
    level: 'warn',
    errorCode: String,
    answer: { shape: String, length: Number },
    err: { message: String },
  })
})

t.test('no failure of a tool brings a prompt to the log', async (t) => {
  const engine = createServer((request, response) => {
    request.resume()
    const { pathname } = new URL(request.url ?? '', 'http://x')
    response.writeHead(pathname === '/search' ? 500 : 200, { 'content-type': 'application/json' })
    response.end(`{"error": ${JSON.stringify(quote)}, "broken": ${canary}`)
  }).listen(0, '127.0.0.1')
  await once(engine, 'listening')
  t.teardown(() => engine.close())
  const { port } = engine.address() as AddressInfo
  const g = await start(t, { search: { backend: 'searxng', searxngUrl: `http://127.0.0.1:${port}` } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ status: 500, body: { error: { message: quote } } }))
  await post(g, token, '/v1/chat/completions', { model: 'svc-2.1-search', messages: [{ role: 'user', content: canary }] })
  await post(g, token, '/v1/chat/completions', { model: 'svc-img', messages: [{ role: 'user', content: canary }] })
  await post(g, token, '/v1/images/generations', { prompt: canary })
  await post(g, token, '/v1/embeddings', { model: 'svc-2.1', input: canary })
  await post(g, token, '/v1/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'web_search', arguments: { query: canary } },
  })
  await post(g, token, '/v1/mcp', `{"jsonrpc": "2.0", "method": ${canary}`)
  for (const path of [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/api/membership/auth/otp/start',
    '/oauth/register',
  ])
    await post(g, token, path, `{"email": "${canary}", ${canary}`)
  await expectNoCanary(t, g, token)
})

t.test('no error of a plugin or a library brings a prompt to the log', async (t) => {
  const failures: readonly (() => never)[] = [
    () => parseJson(`{"my secret": ${canary}}`) as never,
    () => parseJson(`"${canary}`) as never,
    () =>
      ({} as Record<string, Record<string, never>>)[canary]?.['x'] ??
      raise(new TypeError(`Cannot read properties of undefined (reading '${canary}')`)),
    () => Buffer.from('x').readInt8(canary as never) as never,
    () => raise(new Error('wrapped', { cause: new Error(`the server said: "${quote}"`, { cause: quote }) })),
    () => raise(quote),
    () => raise({ message: quote }),
    () =>
      raise(
        new UpstreamFailure({ kind: 'in_band', status: 200, reason: 'error_object', error: quote }, null, {
          cause: new Error(quote),
        }),
      ),
    () => raise(new GatewayError('invalid_request', { params: { detail: { en: quote, zh: quote } } })),
    () =>
      raise(
        new GatewayError('internal_error', {
          cause: new GatewayError('invalid_request', { params: { detail: { en: quote, zh: quote } } }),
        }),
      ),
  ]
  let next = 0
  const failing = definePlugin({
    name: 'failing',
    on: 'turn',
    onRequest: () => failures[next++ % failures.length]?.(),
    onSettle: () => failures[next++ % failures.length]?.(),
  })
  const g = await start(t, { plugins: [...(base.plugins as AnyPlugin[]), failing] })
  const { token } = await g.createMember()
  for (const [path, request] of requests)
    for (let nth = 0; nth < failures.length; nth++) await post(g, token, path, { model: 'svc-2.1', ...request })
  await expectNoCanary(t, g, token)
})

function raise(error: unknown): never {
  throw error
}

t.test('the log has the upstream’s words at the level debug', async (t) => {
  const g = await start(t, { log: { level: 'debug' } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ status: 500, body: { error: { message: `the GPU is lost: ${canary}` } } }))
  await post(g, token, '/v1/chat/completions', { model: 'svc-2.1', messages: [{ role: 'user', content: 'x' }] })
  await g.waitUntilSettled()
  t.match(g.log.join(''), `"said":"the GPU is lost: ${canary}"`)
})

t.test('an error keeps what an operator needs', (t) => {
  const lines: string[] = []
  const { log } = createLog('info', { write: (line) => void lines.push(line) })
  const system = Object.assign(new Error("ENOENT: no such file or directory, open '/var/x'"), {
    errno: -2,
    syscall: 'open',
    code: 'ENOENT',
  })
  log.error({ err: new Error('no room', { cause: system }) }, 'x')
  log.error({ err: new UpstreamFailure({ kind: 'unconfigured', reason: "no target of 'svc' is set up" }) }, 'x')
  log.error({ err: new SyntaxError(`Unexpected token 'C', "${canary}" is not valid JSON`) }, 'x')
  t.match(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      {
        err: {
          name: 'Error',
          message: 'no room',
          stack: /^ {4}at .*log-privacy/,
          cause: { code: 'ENOENT', message: /open '\/var\/x'/ },
        },
      },
      { err: { name: 'UpstreamFailure', message: "upstream not configured: no target of 'svc' is set up" } },
      { err: { name: 'SyntaxError', message: 'Unexpected token … is not valid JSON' } },
    ],
  )
  t.end()
})
