/**
 * Nested, cut and mixed JSON from strangers, members and upstreams, at every place where it is parsed, against the server as a process of
 * its own: it keeps running, and nothing of it is an internal error.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { endpointsByArea } from '../../../../src/api/endpoints.ts'
import { getPaths } from '../../../../src/api/endpoint.ts'
import type { Endpoint } from '../../../../src/api/endpoint.ts'
import { listPaths, replaceAt, textlessValue } from '../../../support/formats/field-mutations.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { createHostileTexts } from '../../../support/hostile-json.ts'
import { startServerProcess, writeTestConfig } from '../../../support/processes/server-process.ts'
import { readFormFields, sendForm } from '../../../support/website/page-form.ts'
import { toEvents } from '../../../support/upstream/responses-server.ts'

const texts = createHostileTexts()
const endpoints: readonly Endpoint[] = Object.values(endpointsByArea).flatMap((area) => area.map(({ endpoint }) => endpoint))

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** An upstream, a search engine and an issuer of tokens that answer what the test sets. */
async function startHostileServer(t: Test) {
  const hostile = {
    url: '',
    answered: 0,
    answer: ((response) => void response.writeHead(500).end()) as Answer,
  }
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      hostile.answered += 1
      hostile.answer(response, request)
    })
  }).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  hostile.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return hostile
}

const kinds = {
  openai: { kind: 'openai' },
  claude: { kind: 'anthropic' },
  responses: { responses: true },
  gemini: { kind: 'gemini' },
} as const

/** Of these, a part for each round: several rounds send all, which is enough where each round is alike. */
function pickShare<T>(items: readonly T[], round: number, shares: number): readonly T[] {
  return items.filter((_, index) => (index + round) % shares === 0)
}

async function startServer(t: Test) {
  const hostile = await startHostileServer(t)
  const folder = createTemporaryFolder(t)
  const dataDir = join(folder, 'data')
  const upstreams = Object.fromEntries(
    Object.entries(kinds).map(([id, kind]) => [
      id,
      { baseUrl: `${hostile.url}/${id}/v1`, apiKey: 'key', restAfterFailures: 0, ...kind },
    ]),
  )
  const config = `{
    ...base,
    upstreams: ${JSON.stringify(upstreams)},
    products: Object.fromEntries(Object.entries(base.products).flatMap(([id, product]) => [
      [id, { ...product, targets: [{ upstream: 'openai', model: 'm' }] }],
      ...(id === 'svc' ? ${JSON.stringify(Object.keys(kinds))} : []).map((kind) => ['svc-' + kind, { ...product, targets: [{ upstream: kind, model: 'm' }] }]),
    ])),
    plans: Object.fromEntries(Object.entries(base.plans).map(([id, plan]) => [id, { ...plan, rpm: 1e9, pools: { fast: { day: 1e12, week: 1e12, month: 1e12 }, premium: { day: 1e12, week: 1e12, month: 1e12 } } }])),
    limits: { ...base.limits, addressRpm: 1e9 },
    search: { backend: 'searxng', searxngUrl: '${hostile.url}/search', restAfterFailures: 0 },
    signIn: { ...base.signIn, jwtIssuers: [{ issuer: '${hostile.url}', audience: 'svc', jwksUrl: '${hostile.url}/keys', plan: 'pro' }] },
    oauth: { ...base.oauth, clientIdDocuments: 'off' },
  }`
  const server = await startServerProcess(t, {
    DATA_DIR: dataDir,
    GATEWAY_CONFIG: writeTestConfig(folder, config),
    LOG_LEVEL: 'error',
  })
  t.match(server.output(), /Bearer svc_live_/, server.log())
  const key = /Bearer (svc_live_\w+)/.exec(server.output())?.[1] ?? ''

  /** Fails the test for an internal error, and where the process has ended. */
  const send = async (
    what: string,
    path: string,
    init: RequestInit,
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(server.url + path, { redirect: 'manual', ...init }).catch((error: unknown) => {
      const { exitCode, signalCode } = server.child
      throw new Error(`${what}: the connection is gone; the process: ${signalCode ?? exitCode ?? 'runs'}`, { cause: error })
    })
    const text = await response.text()
    if (response.status === 500 || /"code":"internal_error"/.test(text))
      t.fail(`${what}: ${response.status} ${text.slice(0, 200)}`)
    return { status: response.status, text }
  }
  const member = new WebsiteClient({ url: server.url, config: { store: { dataDir } } })
  await member.signIn('mei@example.com')
  const operate = createOperatorCli(t, dataDir, {
    listen: { host: '127.0.0.1', port: Number(new URL(server.url).port), siteUrl: null },
  })
  const openConsole = async (): Promise<WebsiteClient> => {
    const { url } = JSON.parse((await operate('console', '--json')).stdout) as { url: string }
    const browser = new WebsiteClient({ url: server.url, config: { store: { dataDir } } })
    const { body } = await browser.get(url)
    t.equal(
      (await sendForm(browser, `${server.url}/operator/link`, readFormFields(String(body), { action: 'open' }))).status,
      303,
    )
    return browser
  }
  const assertRunning = async (): Promise<void> => {
    t.equal((await fetch(`${server.url}/healthz`)).status, 200)
    t.same([server.child.exitCode, server.child.signalCode], [null, null], server.log().slice(-500))
    t.notMatch(server.log(), /"level":"fatal"/)
  }
  return { server, hostile, key, member, openConsole, send, assertRunning }
}

const json = { 'content-type': 'application/json' }

const values = [
  '['.repeat(100) + ']'.repeat(100),
  JSON.stringify(texts[0]?.text),
  '{"__proto__":[]}',
  '{"toString":1,"valueOf":1}',
  '1e999',
]

t.test('the server survives bodies of strangers and members at every endpoint', async (t) => {
  const { key, member, openConsole, send, assertRunning, hostile } = await startServer(t)
  member.cookies.set(...(await openConsole()).cookies.entries().next().value!)
  hostile.answer = (response) => void response.writeHead(200, json).end('{}')
  const credentials = { cookie: member.cookieHeader(), 'sec-fetch-site': 'same-origin' }
  const sent = new Set<string>()
  let [refused, round] = [0, 0]
  for (const endpoint of endpoints.filter(({ method }) => method === 'post' || method === 'patch')) {
    const { security, body, bodyMediaType, path } = endpoint
    // A session is not ended by requests without a body.
    const headers = { ...json, ...(security === 'api_credential' ? { authorization: `Bearer ${key}` } : body ? credentials : {}) }
    const isJson = body !== undefined && bodyMediaType === undefined && security !== 'diagnostic_token'
    const method = endpoint.method.toUpperCase()
    sent.add(path)
    // Without this query the Gemini API's streams are refused before the body is read.
    const query = path.endsWith(':streamGenerateContent') ? '?alt=sse' : ''
    for (const address of getPaths(endpoint).map((each) => each.replaceAll(/\{\w+\}/g, 'none') + query)) {
      for (const { name, text, isDeep } of pickShare(texts, round++, 3)) {
        const what = `${method} ${address}: ${name}`
        const { status, text: answer } = await send(what, address, { method, headers, body: text })
        if (!isDeep || !isJson) continue
        // A shell link makes no keys, whatever is sent.
        if (path.startsWith('/api/operator/v1/operator-keys') && status === 403) continue
        if (status !== 400 || !/nested deeper than 128 levels/.test(answer)) t.fail(`${what}: ${status} ${answer.slice(0, 200)}`)
        refused += 1
      }
      const fields = body === undefined ? [] : Object.keys(body.shape)
      for (const field of fields) {
        for (const value of pickShare(values, round++, 2)) {
          const text = `{${fields
            .filter((each) => each !== field)
            .map((each) => `"${each}":"a"`)
            .join(',')}${fields.length > 1 ? ',' : ''}"${field}":${value}}`
          await send(`${method} ${address}: ${field}`, address, { method, headers, body: text })
        }
      }
    }
    await assertRunning()
  }
  t.ok(sent.size > 20, `${sent.size} endpoints`)
  t.ok(refused > 200, `${refused} deep bodies were refused with a sentence`)
})

t.test('the server survives deep tokens, headers, queries and paths', async (t) => {
  const { send, assertRunning, hostile } = await startServer(t)
  hostile.answer = (response) => void response.writeHead(200, json).end(texts[0]?.text)
  const encode = (text: string): string => Buffer.from(text).toString('base64url')
  // As deep as the 16 KiB of a header section allow.
  const deep = `${'['.repeat(11_000)}"`
  const headers: Record<string, string>[] = [
    { authorization: `Bearer ${encode(deep)}.${encode('{}')}.a` },
    { authorization: `Bearer ${encode('{"alg":"ES256"}')}.${encode(deep)}.a` },
    // The key set is fetched for it, and is deep too.
    { authorization: `Bearer ${encode('{"alg":"ES256"}')}.${encode('{"iss":"x"}')}.a` },
    { dpop: `${encode(deep)}.${encode('{}')}.a` },
    { 'oauth-client-attestation': `${encode('{}')}.${encode(deep)}.a` },
    { cookie: `svc_membership_session=${encode(deep)}` },
    { 'mcp-protocol-version': '['.repeat(9_000) },
    { 'x-forwarded-for': '['.repeat(9_000) },
  ]
  const paths = ['['.repeat(4_000), '{"a":'.repeat(800), '__proto__', 'constructor', '%00', '\\']
  for (const [round, endpoint] of endpoints.entries()) {
    const [address = ''] = getPaths(endpoint)
    const method = endpoint.method.toUpperCase()
    const body = endpoint.method === 'post' || endpoint.method === 'patch' ? { body: '{}' } : {}
    const type = endpoint.bodyMediaType ?? 'application/json'
    for (const each of pickShare(headers, round, 4))
      await send(`${method} ${address} with ${Object.keys(each)[0]}`, address.replaceAll(/\{\w+\}/g, 'none'), {
        method,
        headers: { 'content-type': type, ...each },
        ...body,
      })
    for (const text of pickShare(paths, round, 3)) {
      const value = encodeURIComponent(text)
      const query = ['before', 'limit', 'page', 'client_id', 'claims', 'request', 'state', 'locale', 'lang']
        .map((name) => `${name}=${value.slice(0, 1_000)}`)
        .join('&')
      await send(`${method} ${address} with a query`, `${address.replaceAll(/\{\w+\}/g, 'none')}?${query}`, { method, ...body })
      await send(`${method} ${address} with a path`, address.replaceAll(/\{\w+\}/g, value), { method, ...body })
    }
    await assertRunning()
  }
  for (const field of [
    'client_assertion',
    'request',
    'claims',
    'authorization_details',
    'code',
    'refresh_token',
    'id_token_hint',
  ])
    for (const path of ['/oauth/token', '/oauth/revoke']) {
      const text = '[1,'.repeat(15_000)
      const form = new URLSearchParams({
        client_id: 'a',
        grant_type: 'authorization_code',
        token: 'b',
        [field]: `${encode('{}')}.${encode(text)}.a`,
      })
      await send(`${path} with ${field}`, path, { method: 'POST', body: form })
      form.set(field, `${text}"`)
      await send(`${path} with ${field}`, path, { method: 'POST', body: form })
    }
  await assertRunning()
})

/** A request in each format whose conversation has a call with these arguments. */
const formats = {
  '/v1/chat/completions': (model: string, args: string, stream: boolean) => ({
    model,
    stream,
    messages: [
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: args },
    ],
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    metadata: { text: args.slice(0, 500) },
  }),
  '/v1/responses': (model: string, args: string, stream: boolean) => ({
    model,
    stream,
    input: [
      { type: 'message', role: 'user', content: 'Look.' },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: args },
      { type: 'function_call_output', call_id: 'c1', output: args },
      { type: 'custom_tool_call', call_id: 'c2', name: 'write', input: args },
      { type: 'custom_tool_call_output', call_id: 'c2', output: args },
      { type: 'reasoning', summary: [], encrypted_content: args },
    ],
    tools: [
      { type: 'function', name: 'look', parameters: { type: 'object' } },
      { type: 'custom', name: 'write' },
    ],
  }),
  '/v1/messages': (model: string, args: string, stream: boolean) => ({
    model,
    stream,
    max_tokens: 50,
    messages: [
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: args },
          { type: 'tool_use', id: 'c1', name: 'look', input: { args } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: args }] },
    ],
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
  }),
  '/v1beta/models/{model}:streamGenerateContent?alt=sse': (_model: string, args: string) => ({
    contents: [
      { role: 'user', parts: [{ text: 'Look.' }] },
      { role: 'model', parts: [{ functionCall: { name: 'look', args: { args } }, thoughtSignature: args }] },
      { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output: args } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'look', parameters: { type: 'OBJECT' } }] }],
  }),
} as const

const formatList = Object.entries(formats)

const sse = { 'content-type': 'text/event-stream' }
const toFrames = (events: readonly (object | string)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')

/** An answer of each kind of upstream with a call that has these arguments, as events. */
function createCallEvents(kind: string, args: string): readonly object[] {
  if (kind === 'responses')
    return toEvents(
      { model: 'm', input: [] },
      { output: [{ type: 'function_call', call_id: 'c1', name: 'look', arguments: args }] },
    )
  if (kind === 'claude')
    return [
      {
        type: 'message_start',
        message: {
          id: 'a',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name: 'look', input: {} } },
      ...(args.match(/[^]{1,9999}/gu) ?? []).map((partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ]
  if (kind === 'gemini') {
    const parts = [{ functionCall: { name: 'look', args: { args } } }]
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 9, totalTokenCount: 14 }
    return [
      { candidates: [{ index: 0, content: { role: 'model', parts } }], modelVersion: 'm' },
      { candidates: [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }], usageMetadata },
    ]
  }
  const tool_calls = [{ index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: args } }]
  return [
    {
      id: 'a',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: { role: 'assistant', tool_calls }, finish_reason: null }],
    },
    {
      id: 'a',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 5, completion_tokens: 9 },
    },
  ]
}

t.test('the server survives texts inside conversations, for every kind of upstream', async (t) => {
  const { key, send, assertRunning, hostile } = await startServer(t)
  const headers = { ...json, authorization: `Bearer ${key}` }
  let round = 0
  for (const kind of Object.keys(kinds)) {
    const before = hostile.answered
    hostile.answer = (response) =>
      void response.writeHead(200, sse).end(`${toFrames(createCallEvents(kind, '{"a":1}'))}data: [DONE]\n\n`)
    for (const [path, create] of Object.entries(formats))
      for (const { name, text } of pickShare(texts, round++, 2))
        // One of them is large enough to be parsed by the thread for large bodies.
        for (const args of name.startsWith('lists, wrong') ? [text, text.repeat(5)] : [text]) {
          const body = JSON.stringify(create(`svc-${kind}`, args, true))
          const { status } = await send(`${path} to ${kind}: ${name}`, path.replace('{model}', `svc-${kind}`), {
            method: 'POST',
            headers,
            body,
          })
          if (status >= 500) t.fail(`${path} to ${kind}: ${name}: ${status}`)
        }
    for (const [path, create] of Object.entries(formats)) {
      const request = create(`svc-${kind}`, '{}', true)
      for (const place of listPaths(request)) {
        const body = JSON.stringify(replaceAt(request, place, textlessValue))
        await send(`${path} to ${kind}: ${place.join('.')} is no text`, path.replace('{model}', `svc-${kind}`), {
          method: 'POST',
          headers,
          body,
        })
      }
    }
    t.ok(hostile.answered - before >= texts.length, `${kind} received ${hostile.answered - before} requests`)
    await assertRunning()
  }
})

t.test('the server survives answers, events and errors of every kind of upstream', async (t) => {
  const { key, send, assertRunning, hostile, server } = await startServer(t)
  const headers = { ...json, authorization: `Bearer ${key}` }
  let round = 0
  /** Where an upstream can put a text. */
  const places: Record<string, (kind: string, text: string) => Answer> = {
    'as the whole answer': (_, text) => (response) => response.writeHead(200, json).end(text),
    'as an error of the request': (_, text) => (response) => response.writeHead(400, json).end(text),
    'as an error of the server': (_, text) => (response) => response.writeHead(503, json).end(text),
    'in an error message': (_, text) => (response) =>
      response.writeHead(400, json).end(JSON.stringify({ error: { message: text, type: 'invalid_request_error' } })),
    'as an error in a frame': (_, text) => (response) => response.writeHead(500, sse).end(`event: error\ndata: ${text}\n\n`),
    'as the first event': (_, text) => (response) => response.writeHead(200, sse).end(toFrames([text])),
    'as a later event': (kind, text) => (response) =>
      response.writeHead(200, sse).end(toFrames([...createCallEvents(kind, '{').slice(0, 2), text])),
    'as an error event': (kind, text) => (response) =>
      response.writeHead(200, sse).end(`${toFrames(createCallEvents(kind, '{').slice(0, 1))}event: error\ndata: ${text}\n\n`),
    'as the arguments of a call': (kind, text) => (response) =>
      response.writeHead(200, sse).end(`${toFrames(createCallEvents(kind, text))}data: [DONE]\n\n`),
  }
  for (const kind of Object.keys(kinds)) {
    for (const [place, create] of Object.entries(places)) {
      const before = hostile.answered
      for (const [i, { name, text }] of pickShare(texts, round++, 2).entries()) {
        hostile.answer = create(kind, text.replaceAll('\n', ' '))
        const [path, createRequest] = formatList[i % formatList.length] as (typeof formatList)[number]
        for (const stream of pickShare([true, false], round + (i >> 1), 2))
          await send(`${path} ${place} of ${kind}: ${name}`, path.replace('{model}', `svc-${kind}`), {
            method: 'POST',
            headers,
            body: JSON.stringify(createRequest(`svc-${kind}`, '{}', stream)),
          })
      }
      t.ok(hostile.answered > before, `${kind} answered ${place}`)
    }
    await assertRunning()
  }
  const requests = {
    '/v1/images/generations': { model: 'svc-img', prompt: 'A cat.' },
    '/v1/embeddings': { model: 'svc-embed', input: 'A cat.' },
    '/v1/mcp/tools/call': { name: 'web_search', arguments: { query: 'cats' } },
  }
  for (const [path, body] of Object.entries(requests))
    for (const { name, text } of texts)
      for (const status of [200, 400]) {
        hostile.answer = (response) => response.writeHead(status, json).end(text)
        await send(`${path}: ${name}`, path, { method: 'POST', headers, body: JSON.stringify(body) })
      }
  await assertRunning()
  t.notMatch(server.log(), /RangeError|Maximum call stack/)
})
