import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { request } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import type { SearchDocument } from '../../../../src/api/search-document.ts'
import { createMovableClock } from '../../../support/gateway/movable-clock.ts'
import { maxImmediateMs, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

interface Message {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: Result
  readonly error?: { readonly code: number; readonly message: string; readonly data: Record<string, unknown> }
}

/** The result of a call or a list. */
interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent: SearchDocument
  readonly tools: readonly unknown[]
  readonly _meta: { readonly requestId: string }
}

interface Discovery {
  readonly protocolVersions: readonly string[]
  readonly tools: readonly {
    readonly inputSchema: { readonly required: readonly string[] }
    readonly outputSchema: { readonly $id?: string; readonly properties: { readonly schema: { readonly const: string } } }
  }[]
}

/** Sends one message of the newer protocol, or with `legacy` of the older one. */
function post(
  { url }: TestGateway,
  token: string | null,
  message: unknown,
  { legacy = false, headers = {}, signal }: { legacy?: boolean; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  const { method, params } = (message ?? {}) as { method?: string; params?: { name?: string } }
  return fetch(`${url}/v1/mcp`, {
    method: 'POST',
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': legacy ? '2025-11-25' : '2026-07-28',
      ...(legacy ? {} : { 'mcp-method': method ?? '' }),
      ...(legacy || params?.name === undefined ? {} : { 'mcp-name': params.name }),
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
    ...(signal === undefined ? {} : { signal }),
  })
}

function createCall(id: unknown, args: unknown, name = 'web_search', legacy = false): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...(legacy ? {} : { _meta: modern }) } }
}

/** The single message of an answer, as JSON or as an event. */
async function parseMessage(response: Response): Promise<Message> {
  const body = await response.text()
  const event = /^data: (.*)$/m.exec(body)?.[1]
  return JSON.parse(event ?? body) as Message
}

/** Sends headers that `fetch` does not allow. */
async function sendRaw(
  { url }: TestGateway,
  {
    path = '/v1/mcp',
    method = 'GET',
    headers,
    body,
  }: { path?: string; method?: string; headers: OutgoingHttpHeaders; body?: string },
): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(new URL(path, url), { method, headers, agent: false }, resolve).on('error', reject).end(body)
  const answer = await promise
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await textOf(answer) }
}

async function assertNothingCharged(t: Test, gateway: TestGateway, account: string): Promise<void> {
  await gateway.waitUntilSettled()
  t.ok(
    (await gateway.listTurns(account)).every(({ credits }) => credits === 0),
    'nothing was charged',
  )
}

t.test('the discovery document lists the tools and their addresses', async (t) => {
  const gateway = await startGateway(t, { listen: { baseUrl: 'https://api.example.com' } })
  const { token } = await gateway.createMember()
  const response = await fetch(`${gateway.url}/v1/mcp`, { headers: { authorization: `Bearer ${token}` } })
  t.equal(response.status, 200)
  const found = (await response.json()) as Discovery
  t.match(found, {
    object: 'mcp.discovery',
    server: { name: 'svc' },
    protocol: 'mcp',
    endpoint: { type: 'streamable-http', url: 'https://api.example.com/v1/mcp' },
    call: { method: 'POST', url: 'https://api.example.com/v1/mcp/tools/call' },
  })
  t.same(found.protocolVersions.slice(0, 2), ['2026-07-28', '2025-11-25'])
  const [tool] = found.tools
  t.match(tool, { name: 'web_search', model: 'svc-2.1-search', schema: 'svc.search.v1', annotations: { readOnlyHint: true } })
  t.same(tool!.inputSchema.required, ['query'])
  t.equal(tool!.outputSchema.properties.schema.const, 'svc.search.v1')
  t.notOk(tool!.outputSchema.$id)
})

t.test('lists no tools for a plan without the search product', async (t) => {
  const gateway = await startGateway(t, { plans: { free: { models: ['svc-2.1-fast'] } } })
  const { token } = await gateway.createMember('free')
  const response = await fetch(`${gateway.url}/v1/mcp`, { headers: { authorization: `Bearer ${token}` } })
  t.same(((await response.json()) as { tools: unknown[] }).tools, [])
  t.equal((await parseMessage(await post(gateway, token, createCall(1, { query: 'x' })))).error?.code, -32_602)
})

t.test('answers 405 to GET and DELETE', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const headers = { authorization: `Bearer ${token}` }
  const probe = await fetch(`${gateway.url}/v1/mcp`, { headers: { ...headers, accept: 'text/event-stream' } })
  t.equal(probe.status, 405)
  t.equal(probe.headers.get('allow'), 'GET, POST')
  t.equal((await fetch(`${gateway.url}/v1/mcp`, { method: 'DELETE', headers })).status, 405)
  const listen = { jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params: { _meta: modern } }
  const refused = await post(gateway, token, listen)
  t.equal(refused.status, 404)
  t.match(await parseMessage(refused), { id: 7, error: { code: -32_601, data: { requestId: /^mbr_/ } } })
})

t.test('answers 401 without a credential', async (t) => {
  const gateway = await startGateway(t)
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: modern } }
  const answers = [
    await post(gateway, null, list),
    await post(gateway, 'svc_live_nobody', list),
    await fetch(`${gateway.url}/v1/mcp`),
    await fetch(`${gateway.url}/v1/mcp/tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }),
  ]
  for (const answer of answers) {
    t.equal(answer.status, 401)
    t.match(answer.headers.get('www-authenticate'), /^Bearer realm="svc"/)
    t.equal(answer.headers.get('x-svc-error-code'), 'sign_in_required')
  }
})

t.test('refuses a message with a JSON-RPC error, and keeps status and headers', async (t) => {
  const gateway = await startGateway(t, { plans: { max: { rpm: 1 } } }, createMovableClock())
  const { token } = await gateway.createMember()
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: modern } }
  t.equal((await post(gateway, token, list)).status, 200, 'uses up the minute')
  const refusals = [
    { response: await post(gateway, null, list), status: 401, code: 'sign_in_required', sentence: /^You are not signed in/ },
    { response: await post(gateway, token, list), status: 429, code: 'rate_limited', sentence: /^Too many requests/ },
    {
      response: await post(gateway, token, list, { headers: { origin: 'https://evil.example' } }),
      status: 403,
      code: 'forbidden_origin',
      sentence: /origin/,
    },
  ]
  for (const { response, status, code, sentence } of refusals) {
    t.equal(response.status, status)
    t.match(response.headers.get('content-type'), /^application\/json/)
    const { error, ...rest } = (await response.json()) as Required<Message>
    t.same(rest, { jsonrpc: '2.0', id: null })
    t.type(error.code, 'number')
    t.match(error.message, sentence)
    const id = response.headers.get('x-request-id') ?? ''
    t.ok(error.message.endsWith(`\nRef: ${id} · ${code} · stage=${response.headers.get('x-svc-error-stage')} · HTTP ${status}`))
    t.match(error.data, { requestId: id, code })
  }
  t.ok(refusals[1]?.response.headers.get('retry-after'))
  t.equal(refusals[1]?.response.headers.get('x-ratelimit-limit-requests'), '1', 'the headers stay')
})

t.test('accepts a client that accepts everything', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
  for (const accept of ['*/*', 'text/html, */*; q=0.1']) {
    const response = await post(gateway, token, initialize, { legacy: true, headers: { accept } })
    t.equal(response.status, 200, accept)
    t.match((await parseMessage(response)).result, { protocolVersion: '2025-11-25' }, accept)
  }
  const host = new URL(gateway.url).host
  const silent = await sendRaw(gateway, {
    method: 'POST',
    headers: { host, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(initialize),
  })
  t.equal(silent.status, 200, 'no accept header')
  t.equal((await post(gateway, token, initialize, { legacy: true, headers: { accept: 'text/html' } })).status, 406)
})

t.test('refuses half of a character with its path', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  const message = JSON.stringify(createCall(1, { query: 'x' })).replace('"x"', '"a \\ud83d b"')
  const response = await post(gateway, token, message, { headers: { 'mcp-method': 'tools/call', 'mcp-name': 'web_search' } })
  t.equal(response.status, 400)
  t.match(await parseMessage(response), {
    error: { code: -32_600, message: /'params\.arguments\.query'/, data: { code: 'invalid_request' } },
  })
  await assertNothingCharged(t, gateway, id)
})

t.test('refuses foreign pages and requests under a foreign host name', async (t) => {
  const gateway = await startGateway(t, { search: { allowedOrigins: ['https://tools.example.com'] } })
  const { token } = await gateway.createMember()
  const host = new URL(gateway.url).host
  const authorization = `Bearer ${token}`
  const refused: OutgoingHttpHeaders[] = [
    { host, origin: 'https://evil.example' },
    { host, origin: 'null' },
    { host, origin: 'https://tools.example.com.evil.example' },
    { host, origin: 'http://tools.example.com' },
    { host: 'evil.example' },
    { host: 'localhost.evil.example:80' },
  ]
  for (const path of ['/v1/mcp', '/v1/mcp/tools/call']) {
    for (const headers of refused) {
      const method = path === '/v1/mcp' ? 'GET' : 'POST'
      const answer = await sendRaw(gateway, { path, method, headers: { authorization, ...headers } })
      t.same([answer.status, JSON.parse(answer.body).code], [403, 'forbidden_origin'], JSON.stringify(headers))
      t.equal(answer.headers['access-control-allow-origin'], undefined)
    }
  }
  const welcome: OutgoingHttpHeaders[] = [
    { host },
    { host, origin: gateway.url },
    { host, origin: 'https://tools.example.com' },
    { host: 'localhost:1', origin: 'http://localhost:3000' },
  ]
  for (const headers of welcome)
    t.equal((await sendRaw(gateway, { headers: { authorization, ...headers } })).status, 200, JSON.stringify(headers))
})

t.test('refuses a loopback page behind a public name', async (t) => {
  const gateway = await startGateway(t, { listen: { siteUrl: 'https://svc.example.com' } })
  const { token } = await gateway.createMember()
  const ask = (origin: string) =>
    sendRaw(gateway, { headers: { authorization: `Bearer ${token}`, host: 'svc.example.com', origin } }).then(
      ({ status }) => status,
    )
  t.equal(await ask('https://svc.example.com'), 200)
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1:8787', 'http://[::1]:1'])
    t.equal(await ask(origin), 403, origin)
})

t.test("refuses invalid calls before any hold, each in its entry point's format", async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  const before = gateway.demo.stats().requests
  const bad: readonly [string, unknown, unknown, string][] = [
    ['unknown tool', 'web_fetch', { query: 'x' }, 'name'],
    ['missing query', 'web_search', {}, 'arguments.query'],
    ['empty query', 'web_search', { query: ' \n' }, 'arguments.query'],
    ['number for a query', 'web_search', { query: 7 }, 'arguments.query'],
    ['overlong query', 'web_search', { query: 'ü'.repeat(2001) }, 'arguments.query'],
  ]
  for (const [what, name, args, param] of bad) {
    const plain = await fetch(`${gateway.url}/v1/mcp/tools/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name, arguments: args }),
    })
    const envelope = (await plain.json()) as { code: string; error: { param: string } }
    t.same([plain.status, envelope.code, envelope.error.param], [400, 'invalid_request', param], `${what}, plainly`)
    for (const legacy of [false, true]) {
      const { error } = await parseMessage(await post(gateway, token, createCall(1, args, name as string, legacy), { legacy }))
      t.match(error, { code: -32_602, data: { requestId: /^mbr_/, code: 'invalid_request', stage: 'validation' } }, what)
    }
  }
  const chat = await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x'.repeat(2001) }] })
  t.match(await chat.json(), { code: 'invalid_request', error: { param: 'messages' } }, 'overlong query, in chat')
  const silent = await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'system', content: 'x' }] })
  t.match(await silent.json(), { code: 'invalid_request', error: { param: 'messages' } }, 'no query, in chat')
  t.equal(gateway.demo.stats().requests, before, 'the upstream received no request')
  t.same(await gateway.listTurns(id), [], 'no hold was made')

  const kept = await post(gateway, token, createCall(1, { query: 'ü'.repeat(2000), depth: 'deep' }))
  t.equal(
    (await parseMessage(kept)).result?.structuredContent.schema,
    'svc.search.v1',
    'the longest query, and one argument more',
  )
})

t.test('refuses a body that is no protocol message', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  const cases: readonly [string, Response, number, string][] = [
    [
      'not JSON by type',
      await post(gateway, token, createCall(1, {}), { headers: { 'content-type': 'text/plain' } }),
      415,
      'unsupported_media_type',
    ],
    ['not JSON', await post(gateway, token, '{"jsonrpc"'), 400, 'invalid_request'],
    [
      'a batch',
      await post(gateway, token, [createCall(1, { query: 'a' }), createCall(2, { query: 'b' })]),
      400,
      'invalid_request',
    ],
    ['too large', await post(gateway, token, createCall(1, { query: 'x'.repeat(5_000_000) })), 413, 'payload_too_large'],
  ]
  for (const [what, response, status, code] of cases) {
    t.equal(response.status, status, what)
    t.match(await response.json(), { jsonrpc: '2.0', id: null, error: { data: { code, requestId: /^mbr_/ } } }, what)
  }
  const mismatched = await post(gateway, token, createCall(1, { query: 'x' }), { headers: { 'mcp-name': 'other_tool' } })
  t.equal(mismatched.status, 400)
  t.match(await parseMessage(mismatched), { error: { code: -32_020, data: { requestId: /^mbr_/, stage: 'validation' } } })
  const bare = await post(gateway, token, { name: 'web_search', arguments: { query: 'x' } })
  t.equal(bare.status, 400)
  await assertNothingCharged(t, gateway, id)
})

t.test('returns an upstream failure as a result with the reference, and refunds it', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  gateway.demo.script(() => ({ status: 500 }))
  for (const legacy of [false, true]) {
    const response = await post(gateway, token, createCall(1, { query: 'x' }, 'web_search', legacy), { legacy })
    t.equal(response.status, 200)
    const { result } = await parseMessage(response)
    t.equal(result?.isError, true)
    t.match(
      result?.content[0]?.text,
      /^The model service failed to answer\. .+\nRef: mbr_\w{26} · upstream_error · stage=upstream · HTTP 502 · up=500$/,
    )
    t.match(result?._meta, { requestId: /^mbr_/, code: 'upstream_error', stage: 'upstream', quotaRefunded: true })
    t.equal(result?._meta.requestId, response.headers.get('x-request-id'))
  }
  await assertNothingCharged(t, gateway, id)
})

t.test('returns an empty pool as a result; listing still works', async (t) => {
  const gateway = await startGateway(t, { plans: { free: { pools: { premium: { day: 0, week: 0, month: 0 } } } } })
  const { token } = await gateway.createMember('free')
  const { result } = await parseMessage(await post(gateway, token, createCall(1, { query: 'x' })))
  t.match(result, { isError: true, _meta: { code: 'quota_exceeded', stage: 'quota' } })
  const list = await parseMessage(
    await post(gateway, token, { jsonrpc: '2.0', id: 2, method: 'tools/list', params: { _meta: modern } }),
  )
  t.equal(list.result?.tools.length, 1)
  const plain = await fetch(`${gateway.url}/v1/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'web_search', arguments: { query: 'x' } }),
  })
  t.same([plain.status, ((await plain.json()) as { code: string }).code], [402, 'quota_exceeded'])
})

t.test('counts every message once towards the requests per minute', async (t) => {
  const gateway = await startGateway(t, { plans: { max: { rpm: 4 } } }, createMovableClock())
  const { token } = await gateway.createMember()
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push((await post(gateway, token, createCall(i, { query: 'x' }))).status)
  const over = await post(gateway, token, { jsonrpc: '2.0', id: 9, method: 'tools/list', params: { _meta: modern } })
  t.same([...statuses, over.status], [200, 200, 200, 200, 429])
  t.match(await over.json(), { error: { data: { code: 'rate_limited' } } })
  t.ok(over.headers.get('retry-after'))
})

t.test('fifty clients with the same JSON-RPC id receive only their own answers', async (t) => {
  const gateway = await startGateway(t)
  const tokens = await Promise.all(Array.from({ length: 10 }, () => gateway.createMember()))
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, nth) => {
      const legacy = nth % 2 === 0
      const query = `question number ${nth} of caller ${nth % 10}`
      const response = await post(gateway, tokens[nth % 10]!.token, createCall(1, { query }, 'web_search', legacy), { legacy })
      const { id, result } = await parseMessage(response)
      return { id, expected: query, got: result?.structuredContent.query, found: result?.structuredContent.results[0]?.title }
    }),
  )
  for (const { id, expected, got, found } of answers) {
    t.same([id, got], [1, expected])
    t.match(found, expected.slice(0, 40))
  }
  await gateway.waitUntilSettled()
  for (const { id } of tokens) t.equal((await gateway.listTurns(id)).length, 5)
})

t.test('aborts a streaming upstream when the client disconnects', async (t) => {
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: 'demo', streams: true } } })
  const { token, id } = await gateway.createMember()
  gateway.demo.script(() => ({ hang: 'before_headers' }))
  for (const legacy of [false, true]) {
    const request = gateway.demo.next()
    const leaving = new AbortController()
    const answer = post(gateway, token, createCall(1, { query: 'x' }, 'web_search', legacy), { legacy, signal: leaving.signal })
    await request
    const began = performance.now()
    leaving.abort()
    await t.rejects(answer.then((response) => response.text()))
    await waitUntil(() => gateway.demo.stats().open === 0, 'the upstream to be let go')
    t.ok(performance.now() - began < maxImmediateMs, 'aborted before its answer or timeout')
  }
  await gateway.waitUntilSettled()
  t.equal((await gateway.listTurns(id)).length, 2)
})

t.test('serves many calls of an official client over one connection', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const client = new ClientV2({ name: 'test', version: '1.0.0' })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/v1/mcp`), { requestInit: { headers } }))
  t.teardown(() => client.close())
  const queries = Array.from({ length: 10 }, (_, nth) => `what is ${nth}`)
  const answers = await Promise.all(queries.map((query) => client.callTool({ name: 'web_search', arguments: { query } })))
  t.same(
    answers.map(({ structuredContent }) => (structuredContent as { query: string }).query),
    queries,
  )
})

t.test('supports every revision in the discovery document', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const response = await fetch(`${gateway.url}/v1/mcp`, { headers: { authorization: `Bearer ${token}` } })
  const [newest, ...older] = ((await response.json()) as Discovery).protocolVersions
  const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: modern } }
  const found = await parseMessage(await post(gateway, token, discover))
  t.match(found.result, { supportedVersions: [newest], capabilities: { tools: {} } })
  for (const version of older) {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
    const answer = await post(gateway, token, initialize, { legacy: true, headers: { 'mcp-protocol-version': version } })
    t.match((await parseMessage(answer)).result, { protocolVersion: version, serverInfo: { name: 'svc' } }, version)
  }
})

t.test('charges a search with an idempotency key once over all entry points', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  const headers = { 'idempotency-key': 'once' }
  t.ok((await parseMessage(await post(gateway, token, createCall(1, { query: 'x' }), { headers }))).result?.structuredContent)
  const again = await parseMessage(await post(gateway, token, createCall(1, { query: 'x' }), { headers }))
  t.match(again.result, { isError: true, _meta: { code: 'conflict', stage: 'quota' } })
  const plain = await fetch(`${gateway.url}/v1/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name: 'web_search', arguments: { query: 'x' } }),
  })
  t.equal(plain.status, 409)
  const other = await parseMessage(await post(gateway, token, createCall(1, { query: 'another' }), { headers }))
  t.match(other.result, { isError: true, _meta: { code: 'invalid_request' } })
  await gateway.waitUntilSettled()
  t.equal((await gateway.listTurns(id)).filter(({ credits }) => credits > 0).length, 1)
})

t.test('counts calls towards the concurrency limit', async (t) => {
  const gateway = await startGateway(t, { plans: { max: { concurrency: 1 } } })
  const { token } = await gateway.createMember()
  gateway.demo.script(() => ({ hang: 'before_headers' }))
  const leaving = new AbortController()
  const request = gateway.demo.next()
  const first = post(gateway, token, createCall(1, { query: 'x' }), { signal: leaving.signal })
  await request
  const { result } = await parseMessage(await post(gateway, token, createCall(2, { query: 'x' })))
  t.match(result, { isError: true, _meta: { code: 'rate_limited', stage: 'rate_limit' } })
  leaving.abort()
  await t.rejects(first)
})
