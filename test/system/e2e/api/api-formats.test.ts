/** The endpoints of other API formats, from the request to the ledger. */
import t from 'tap'
import { createMovableClock } from '../../../support/gateway/movable-clock.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

interface FormatCase {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** The text of a whole answer. */
  readonly getText: (answer: never) => unknown
  readonly lastEvent: string
  readonly largeBody: (text: string) => Readonly<Record<string, unknown>>
  /** Fields that make the body a wrong one, by the path that the refusal names. */
  readonly wrongFields: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const noImage = 'data:image/png;base64,aGVsbG8='

const cases: readonly FormatCase[] = [
  {
    path: '/v1/responses',
    body: { model: 'svc-2.1', input: 'Hello!' },
    getText: ({ output }: { output: { content: { text: string }[] }[] }) => output[0]?.content[0]?.text,
    lastEvent: 'response.completed',
    largeBody: (text) => ({ model: 'svc-2.1', input: [{ role: 'user', content: text }] }),
    wrongFields: {
      'input[0].content[0].image_url': {
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: noImage }] }],
      },
      'input[0].output': { input: [{ type: 'function_call_output', call_id: 'a', output: 7 }] },
      'input[0].call_id': { input: [{ type: 'function_call_output', call_id: {}, output: 'x' }] },
      'input[0].content[0].type': { input: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }] },
      'input[0]': { input: [{ type: 'item_reference', id: 'msg_mbr_1' }] },
      previous_response_id: { previous_response_id: 'msg_mbr_1' },
    },
  },
  {
    path: '/v1/messages',
    body: { model: 'svc-2.1', max_tokens: 200, messages: [{ role: 'user', content: 'Hello!' }] },
    getText: ({ content }: { content: { text: string }[] }) => content[0]?.text,
    lastEvent: 'message_stop',
    largeBody: (text) => ({ model: 'svc-2.1', max_tokens: 200, messages: [{ role: 'user', content: text }] }),
    wrongFields: {
      'messages[0].content[0].source.data': {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: noImage.split(',')[1] } }],
          },
        ],
      },
      'messages[0].content[0].content': {
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 7 }] }],
      },
      'messages[0].content[0].tool_use_id': { messages: [{ role: 'user', content: [{ type: 'tool_result', content: 'x' }] }] },
      'messages[0].content': { messages: [{ role: 'user', content: { type: 'input_text', text: 'x' } }] },
      'messages[0].role': { messages: [{ role: 'tool', content: 'x' }] },
      container: { container: 'resp_1' },
    },
  },
]

function post({ url }: TestGateway, path: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

for (const { path, body, getText, lastEvent, largeBody, wrongFields } of cases)
  t.test(path, async (t) => {
    const gateway = await startGateway(t)
    const { createMember, listTurns } = gateway
    const { id, token } = await createMember()
    const bearer = { authorization: `Bearer ${token}` }

    t.test('answers whole, for a key of either kind of header', async (t) => {
      for (const headers of [bearer, { 'x-api-key': token }] as Readonly<Record<string, string>>[]) {
        const response = await post(gateway, `${path}?beta=true`, body, headers)
        t.equal(response.status, 200)
        t.match(getText((await response.json()) as never), /gateway/i)
        t.match(await listTurns(id), [{ state: 'settled', model: 'svc-2.1', requestId: response.headers.get('x-request-id') }])
      }
    })

    t.test('streams, and settles before the last event', async (t) => {
      const response = await post(gateway, path, { ...body, stream: true }, bearer)
      t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      const text = await response.text()
      t.match([...text.matchAll(/^event: (.*)$/gm)].at(-1)?.[1], lastEvent)
      const [turn] = await listTurns(id)
      t.match(turn, { state: 'settled', requestId: response.headers.get('x-request-id') })
      t.ok(text.includes(`"output_tokens":${turn?.outputTokens}`), 'the usage is the ledger’s')
    })

    t.test('translates a large body in the thread of the parser', async (t) => {
      const text = 'The quick brown fox. '.repeat(20_000)
      const response = await post(gateway, path, largeBody(text), bearer)
      t.equal(response.status, 200)
      t.ok(getText((await response.json()) as never))
      const invalid = await post(gateway, path, { ...largeBody(text), model: 7 }, bearer)
      t.equal(invalid.status, 400)
      t.match(await invalid.json(), { code: 'invalid_request', error: { message: /'model'/ } })
    })

    t.test('renders each refusal in its format, and charges nothing', async (t) => {
      const turnsBefore = (await listTurns(id)).length
      const send = (raw: string, headers: Readonly<Record<string, string>>) =>
        fetch(gateway.url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: raw })
      for (const [name, response, code] of [
        ['no key', await send('{}', {}), 'sign_in_required'],
        ['no JSON', await send('{', bearer), 'invalid_request'],
        ['an array', await send('[]', bearer), 'invalid_request'],
        ['nothing', await send('', bearer), 'invalid_request'],
        ['another type', await send('x', { ...bearer, 'content-type': 'text/plain' }), 'unsupported_media_type'],
        ['an unknown model', await send(JSON.stringify({ ...body, model: 'no' }), bearer), 'official_models_only'],
        ['another method', await fetch(gateway.url + path), 'method_not_allowed'],
      ] as const) {
        const failure = (await response.json()) as { error: { message: string; type: string }; code: string }
        t.equal(failure.code, code, name)
        t.type(failure.error.message, 'string', name)
        t.equal(response.headers.get('x-svc-error-code'), code, name)
        t.match(response.headers.get('x-request-id'), /^mbr_/, name)
      }
      for (const [param, fields] of Object.entries(wrongFields)) {
        const response = await post(gateway, path, { ...body, ...fields }, bearer)
        t.equal(response.status, 400, param)
        t.match(await response.json(), { code: 'invalid_request', error: { type: 'invalid_request_error', param } })
      }
      t.equal((await listTurns(id)).length, turnsBefore)
    })

    t.test('never ends a failed stream like a complete one', async (t) => {
      gateway.demo.script(() => ({ cut: { afterEvents: 3 } }))
      const text = await (await post(gateway, path, { ...body, stream: true }, bearer)).text()
      t.notMatch(text, new RegExp(`event: ${lastEvent}`))
      t.match(text, /upstream_error|server_error|api_error/)
      t.match(await listTurns(id), [{ state: 'refunded' }])
    })
  })

t.test('estimates tokens without a charge, past the requests a minute of the plan', async (t) => {
  const gateway = await startGateway(t, { plans: { max: { rpm: 2 } } }, createMovableClock())
  const { createMember, listTurns, chat } = gateway
  const { id, token } = await createMember()
  const bearer = { authorization: `Bearer ${token}` }
  const path = '/v1/messages/count_tokens?beta=true'
  const prompt = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }
  const count = async (body: unknown) => (await post(gateway, path, body, bearer)).json() as Promise<{ input_tokens: number }>
  const all = await Promise.all(Array.from({ length: 24 }, () => count(prompt)))
  for (const { input_tokens: tokens } of all) t.equal(tokens, all[0]?.input_tokens)
  const { input_tokens: short } = await count(prompt)
  const tools = [{ name: 'Bash', description: 'Runs a command. '.repeat(100), input_schema: { type: 'object' } }]
  t.ok((await count({ ...prompt, tools })).input_tokens > short + 250, 'tools count')
  t.ok((await count({ ...prompt, system: 'Be brief. '.repeat(100) })).input_tokens > short + 200, 'the system prompt counts')
  const large = await count({ ...prompt, messages: [{ role: 'user', content: 'word '.repeat(40_000) }] })
  t.ok(large.input_tokens >= 40_000, 'a large prompt is counted by the parser')
  t.equal((await chat(token)).status, 200, 'the plan’s requests are left')
  t.equal((await listTurns(id)).length, 1)
  for (const [name, body, status] of [
    ['an unknown model', { ...prompt, model: 'no' }, 404],
    ['no messages', { model: 'svc-2.1' }, 400],
  ] as const) {
    const response = await post(gateway, path, body, bearer)
    t.equal(response.status, status, name)
    t.match(await response.json(), { type: 'error', error: { type: /_error$/ } }, name)
  }
  const statuses = await Promise.all(Array.from({ length: 120 }, async () => (await post(gateway, path, prompt, bearer)).status))
  t.ok(statuses.includes(429), 'counts have a bound of their own')
})

t.test('answers the probes of Claude Code', async (t) => {
  const { url } = await startGateway(t)
  for (const path of ['/', '/api/hello']) {
    const response = await fetch(url + path, { method: 'HEAD' })
    t.equal(response.status, 200, path)
  }
})

t.test('names what the service does not offer of these APIs', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  for (const [method, path, sentence] of [
    ['GET', '/v1/responses/resp_1', /not stored here/],
    ['POST', '/v1/responses/compact', /does not compact/],
    ['POST', '/v1/messages/batches', /is not offered here/],
    ['POST', '/v1/v1/messages', /base URL to http:\/\/127\.0\.0\.1:\d+\./],
    ['POST', '/v1/v1beta/models/svc-2.1:generateContent', /base URL to http:\/\/127\.0\.0\.1:\d+\./],
    ['POST', '/v1beta/models/svc-2.1:embedContent', /is not offered here/],
  ] as const) {
    const response = await fetch(gateway.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    t.equal(response.status, 404, path)
    t.match(((await response.json()) as { error: { message: string } }).error.message, sentence, path)
  }
})

t.test('lets a web page use these APIs, and never with a cookie', async (t) => {
  const gateway = await startGateway(t)
  const origin = 'https://page.example'
  const preflight = await fetch(`${gateway.url}/v1/messages`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers':
        'x-api-key, anthropic-version, anthropic-dangerous-direct-browser-access, x-stainless-lang',
    },
  })
  t.equal(preflight.status, 204)
  t.match(preflight.headers.get('access-control-allow-headers'), /x-api-key.*anthropic-version.*x-stainless-lang/)
  t.equal(preflight.headers.get('access-control-allow-credentials'), null)
  const { token } = await gateway.createMember()
  const body = { model: 'svc-2.1', max_tokens: 50, messages: [{ role: 'user', content: 'Hello!' }] }
  const response = await post(gateway, '/v1/messages', body, { 'x-api-key': token, origin })
  t.match(response.headers.get('access-control-expose-headers'), /request-id/)
  t.equal(response.headers.get('request-id'), response.headers.get('x-request-id'))
  await response.text()
  const refused = await post(gateway, '/v1/messages', body, { origin })
  t.equal(refused.headers.get('request-id'), refused.headers.get('x-request-id'))
  t.equal(refused.headers.get('x-should-retry'), 'false')
  await refused.text()
})

t.test('takes the names that agents use for models as aliases', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  for (const [path, model, product] of [
    ['/v1/messages', 'claude-haiku-5-5', 'svc-2.1-fast'],
    ['/v1/messages', 'claude-opus-5-5', 'svc-2.1'],
    ['/v1/messages', 'svc-2.1-pro[1m]', 'svc-2.1-pro'],
    ['/v1/messages', 'claude-haiku-5-5[1m]', 'svc-2.1-fast'],
    ['/v1/responses', 'gpt-6-luna', 'svc-2.1-fast'],
  ] as const) {
    const body = path === '/v1/messages' ? { max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] } : { input: 'Hi' }
    const response = await post(gateway, path, { ...body, model }, { authorization: `Bearer ${token}` })
    t.match(await response.json(), { model: product }, model)
    const apiFormat = path.slice('/v1/'.length)
    t.match(await gateway.listTurns(id), [{ model: product, requestedModel: model, apiFormat }])
  }
  // PostgreSQL stores no NUL.
  const odd = { model: 'claude-\u0000', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }
  await (await post(gateway, '/v1/messages', odd, { authorization: `Bearer ${token}` })).text()
  t.match(await gateway.listTurns(id), [{ requestedModel: 'claude-?' }])
  await (
    await post(gateway, '/v1/messages', { ...odd, model: `claude-${'x'.repeat(200)}` }, { authorization: `Bearer ${token}` })
  ).text()
  await (await gateway.chat(token)).text()
  t.match(await gateway.listTurns(id), [{ apiFormat: 'chat_completions', requestedModel: null }, {}, {}, {}, {}, {}, {}])
  const metrics = await gateway.scrapeMetrics()
  t.match(metrics, /svc_turns_total\{product="svc-2.1-fast",outcome="completed",code="none",api_format="responses"\} 1/)
  t.match(metrics, /svc_turns_total\{product="none",outcome="failed",code="official_models_only",api_format="messages"\} 1/)
  t.match(metrics, /svc_turns_total\{product="svc-2.1",outcome="completed",code="none",api_format="chat_completions"\} 1/)
  const lines = gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ kind }) => kind === 'turn')
  t.match(lines[0], { apiFormat: 'messages', requestedModel: 'claude-haiku-5-5', product: 'svc-2.1-fast' })
  t.notOk('requestedModel' in (lines.at(-1) ?? {}))
})

t.test('refuses a key that was used with the same body in another format', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'key-1' }
  const messages = [{ role: 'user', content: 'Hello!' }]
  const first = await post(gateway, '/v1/messages', { model: 'svc-2.1', max_tokens: 50, messages }, headers)
  t.equal(first.status, 200)
  await first.text()
  const again = await post(gateway, '/v1/messages', { model: 'svc-2.1', max_tokens: 50, messages }, headers)
  t.equal(((await again.json()) as { code: string }).code, 'conflict')
  // This is the very chat request that the first body was translated to.
  const other = await post(gateway, '/v1/chat/completions', { model: 'svc-2.1', messages, max_tokens: 50 }, headers)
  t.match(await other.json(), { code: 'invalid_request', message: /another body/ })
})

t.test('bounds the bodies of agents by a limit of their own', async (t) => {
  const gateway = await startGateway(t, { limits: { chatBodyBytes: 300_000, agentBodyBytes: 600_000 } })
  const { token } = await gateway.createMember()
  const headers = { authorization: `Bearer ${token}` }
  const messages = (size: number) => [{ role: 'user', content: 'word '.repeat(size / 5) }]
  for (const [path, size, status] of [
    ['/v1/chat/completions', 400_000, 413],
    ['/v1/messages', 400_000, 200],
    ['/v1/messages', 700_000, 413],
  ] as const) {
    const response = await post(gateway, path, { model: 'svc-2.1', max_tokens: 50, messages: messages(size) }, headers)
    t.equal(response.status, status, `${path} ${size}`)
    const answer = (await response.json()) as { type?: string }
    if (path === '/v1/messages') t.equal(answer.type, status === 200 ? 'message' : 'error')
  }
})

t.test('shows the usage of day and week to Codex, below the share at which it offers another model', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember('free')
  const body = { model: 'svc-2.1-fast', input: 'Hello!', max_output_tokens: 200 }
  const codex = { authorization: `Bearer ${token}`, originator: 'codex_exec' }
  const send = async (path: string, headers: Readonly<Record<string, string>>, more: object = {}) => {
    const response = await post(gateway, path, { ...body, ...more }, headers)
    await response.text()
    return Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('x-codex')))
  }
  t.match(await send('/v1/responses', codex, { stream: true }), {
    'x-codex-primary-used-percent': /^0$/,
    'x-codex-primary-window-minutes': '1440',
    'x-codex-primary-reset-at': /^\d{10}$/,
    'x-codex-secondary-used-percent': /^0$/,
    'x-codex-secondary-window-minutes': '10080',
    'x-codex-secondary-reset-at': /^\d{10}$/,
  })
  t.same(await send('/v1/responses', { authorization: `Bearer ${token}` }), {}, 'other clients')
  gateway.demo.script(() => ({ usage: { prompt_tokens: 400, completion_tokens: 200, total_tokens: 600 } }))
  t.match(await send('/v1/responses', codex), { 'x-codex-primary-used-percent': /^\d+$/ })
})

t.test('lists the models for clients of each API', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const list = async (query = '') => {
    const response = await fetch(`${gateway.url}/v1/models${query}`, { headers: { 'x-api-key': token } })
    return { status: response.status, body: (await response.json()) as { data: { id: string }[]; [name: string]: unknown } }
  }
  const { body: all } = await list()
  const ids = all.data.map(({ id }) => id)
  t.match(all, { object: 'list', has_more: false, first_id: ids[0], last_id: ids.at(-1) })
  t.match(
    all.data.find(({ id }) => id === 'svc-2.1'),
    {
      object: 'model',
      type: 'model',
      display_name: 'Svc 2.1',
      created_at: '2026-01-01T00:00:00.000Z',
      max_input_tokens: 128_000,
      max_tokens: 32_768,
    },
  )
  t.notOk('models' in all)
  t.same((await list('?client_version=0.169.0')).body['models'], [], 'Codex prints errors about a list without this field')
  for (const [query, page, hasMore] of [
    ['?limit=1000', ids, false],
    ['?limit=2', ids.slice(0, 2), true],
    [`?limit=2&after_id=${ids[1]}`, ids.slice(2, 4), true],
    [`?after_id=${ids.at(-1)}`, [], false],
    [`?limit=2&before_id=${ids[3]}`, ids.slice(1, 3), true],
  ] as const) {
    const { body } = await list(query)
    t.same(
      body.data.map(({ id }) => id),
      page,
      query,
    )
    t.match(body, { has_more: hasMore, first_id: page[0] ?? null, last_id: page.at(-1) ?? null }, query)
  }
  for (const query of ['?limit=0', '?limit=x', '?after_id=no']) t.equal((await list(query)).status, 400, query)
})
