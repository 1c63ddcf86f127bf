/** The official OpenAI SDK as members use it: chats, streams, tools, and what it reads from each failure. */
import OpenAI, { APIError } from 'openai'
import t from 'tap'
import type { Script } from '../../../support/upstream/script.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

const g = await startGateway(t, { plans: { free: { rpm: 1_000 } } })
const { token } = await g.createMember()
const client = new OpenAI({ baseURL: `${g.url}/v1`, apiKey: token, maxRetries: 0 })
const createRequest = (content: string) => ({ model: 'svc-2.1', messages: [{ role: 'user' as const, content }] })
const createScriptedRequest = (script: Script) => createRequest(`demo:${JSON.stringify(script)}`)

t.test('the SDK chats and receives the request id', async (t) => {
  const answer = await client.chat.completions.create(createRequest('Hello!'))
  t.equal(answer.model, 'svc-2.1')
  t.match(answer.choices[0]?.message.content, /gateway/i)
  t.match(answer._request_id, /^mbr_/)
  t.ok((answer.usage?.total_tokens ?? 0) > 0)
})

t.test('the SDK streams, with usage where it requests it', async (t) => {
  let text = ''
  let usage = 0
  for await (const chunk of await client.chat.completions.create({
    ...createRequest('Hello!'),
    stream: true,
    stream_options: { include_usage: true },
  })) {
    t.equal(chunk.model, 'svc-2.1')
    text += chunk.choices[0]?.delta.content ?? ''
    usage += chunk.usage?.total_tokens ?? 0
  }
  t.match(text, /gateway/i)
  t.ok(usage > 0)
  for await (const chunk of await client.chat.completions.create({ ...createRequest('Hello!'), stream: true }))
    t.equal(chunk.choices.length, 1, 'no chunk without a choice')
})

t.test('the stream helper of the SDK assembles the answer', async (t) => {
  const completion = await client.chat.completions.stream(createRequest('Hello!')).finalChatCompletion()
  t.equal(completion.choices[0]?.finish_reason, 'stop')
  t.match(completion.choices[0]?.message.content, /gateway/i)
})

t.test('the SDK calls a tool and returns its result, streamed and not', async (t) => {
  const tools = [
    {
      type: 'function' as const,
      function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
    },
  ]
  const first = await client.chat.completions.create({ ...createRequest('Weather in Oslo?'), tools })
  const call = first.choices[0]?.message.tool_calls?.[0]
  t.equal(first.choices[0]?.finish_reason, 'tool_calls')
  if (call?.type !== 'function') throw new Error('no function was called')
  t.match(JSON.parse(call.function.arguments), { city: /./ })
  const second = await client.chat.completions.create({
    model: 'svc-2.1',
    tools,
    messages: [
      { role: 'user', content: 'Weather in Oslo?' },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'Rain, 7 degrees' },
    ],
  })
  t.match(second.choices[0]?.message.content, /Rain, 7 degrees/)
  const streamed = await client.chat.completions.stream({ ...createRequest('Weather in Oslo?'), tools }).finalChatCompletion()
  t.match(streamed.choices[0]?.message.tool_calls, [{ function: { name: 'weather', arguments: /city/ } }])
})

t.test('the SDK lists models and retrieves one', async (t) => {
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  t.same(ids, ['auto', 'svc', 'svc-2.1', 'svc-2.1-fast', 'svc-2.1-pro', 'svc-2.1-rev', 'svc-2.1-search', 'svc-img'])
  t.match(await client.models.retrieve('svc-2.1'), { id: 'svc-2.1', object: 'model', owned_by: 'svc', context_length: 128_000 })
  await t.rejects(client.models.retrieve('gpt-5'), { status: 404, code: 'not_found' })
})

t.test('the SDK reads status, code, type and request id from each failure', async (t) => {
  const small = await g.createMember('free')
  const poor = new OpenAI({ baseURL: `${g.url}/v1`, apiKey: small.token, maxRetries: 0 })
  const nobody = new OpenAI({ baseURL: `${g.url}/v1`, apiKey: 'svc_live_nonsense', maxRetries: 0 })
  const big = 'x'.repeat(9_000)
  for (const [name, call, status, code, type] of [
    ['no such key', () => nobody.chat.completions.create(createRequest('x')), 401, 'sign_in_required', 'authentication_error'],
    [
      'no such model',
      () => client.chat.completions.create({ ...createRequest('x'), model: 'gpt-5' }),
      400,
      'official_models_only',
      'invalid_request_error',
    ],
    [
      'no messages',
      () => client.chat.completions.create({ model: 'svc', messages: [] }),
      400,
      'invalid_request',
      'invalid_request_error',
    ],
    [
      'no quota',
      async () => {
        for (;;) await poor.chat.completions.create({ ...createRequest(big), max_tokens: 20_000 })
      },
      402,
      'quota_exceeded',
      'insufficient_quota',
    ],
    [
      'upstream 500',
      () => client.chat.completions.create(createScriptedRequest({ status: 500 })),
      502,
      'upstream_error',
      'server_error',
    ],
    [
      'upstream 401',
      () => client.chat.completions.create(createScriptedRequest({ status: 401 })),
      503,
      'upstream_not_configured',
      'service_unavailable_error',
    ],
    [
      'upstream 429',
      () => client.chat.completions.create(createScriptedRequest({ status: 429 })),
      429,
      'upstream_rate_limited',
      'rate_limit_error',
    ],
    [
      'an error in a 200',
      () => client.chat.completions.create(createScriptedRequest({ error: { at: 'whole' } })),
      502,
      'upstream_error',
      'server_error',
    ],
    [
      'an error as the first event',
      () => client.chat.completions.create({ ...createScriptedRequest({ error: { at: 'first' } }), stream: true }),
      502,
      'upstream_error',
      'server_error',
    ],
  ] as const) {
    try {
      await call()
      t.fail(`${name}: it succeeded`)
    } catch (error) {
      if (!(error instanceof APIError)) throw error
      t.match(error, { status, code, type, requestID: /^mbr_/ }, name)
      t.match(error.message, /[a-z]{3}/)
    }
  }
})

t.test('a stream that breaks throws in the SDK and never looks complete', async (t) => {
  for (const script of [
    { betweenMs: 20, tokens: 4, reset: { afterEvents: 4 } },
    { betweenMs: 20, tokens: 4, cut: { afterEvents: 4 } },
    { betweenMs: 20, tokens: 4, error: { at: 3 } },
    { betweenMs: 20, tokens: 4, finish: null },
    { betweenMs: 20, tokens: 4, finish: 'error' },
  ] as const) {
    let chunks = 0
    try {
      for await (const chunk of await client.chat.completions.create({ ...createScriptedRequest(script), stream: true }))
        chunks += chunk.choices.length
      t.fail(`${JSON.stringify(script)} looked whole`)
    } catch (error) {
      if (!(error instanceof APIError)) throw error
      t.match(error, { code: 'upstream_error', type: 'server_error' }, JSON.stringify(script))
    }
    t.ok(chunks > 0, 'what came before was seen')
    await t.rejects(client.chat.completions.stream(createScriptedRequest(script)).finalChatCompletion(), JSON.stringify(script))
  }
})

t.test('hides a transient failure by the SDK’s retries, and refunds each failed try', async (t) => {
  const patient = new OpenAI({ baseURL: `${g.url}/v1`, apiKey: (await g.createMember()).token, maxRetries: 2 })
  // Ends the failures in a row of earlier tests, after which the SDK would be told to wait longer.
  t.ok(await patient.chat.completions.create(createRequest('Hello!')))
  let left = 2
  g.demo.script(() => (left-- > 0 ? { status: 500 } : {}))
  t.teardown(() => g.demo.script())
  t.ok(await patient.chat.completions.create(createRequest('Hello!')))
  t.match((await g.listTurns()).slice(0, 3), [{ state: 'settled' }, { state: 'refunded' }, { state: 'refunded' }])
})
