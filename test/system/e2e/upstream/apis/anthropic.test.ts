/** An upstream of `kind: 'anthropic'` serves clients of every API format like any other upstream. */
import t from 'tap'
import { expectErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import { claudeCodeBetas } from '../../../../support/formats/agent-requests.ts'
import { setUpAnthropicGateway as setUp } from '../../../../support/gateway/scripted-gateway.ts'
import { anthropicKey, startAnthropicServer, toEvents } from '../../../../support/upstream/anthropic-server.ts'
import type { AnthropicAnswer } from '../../../../support/upstream/anthropic-server.ts'
import { messages, requests, testAdapter } from './adapter-contract.ts'

const createFailure = (status: number, type: string, message: string, headers = {}) => ({
  failure: { status, type, message },
  headers,
})
const content = [
  { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
  { type: 'text', text: 'Looking.' },
  { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
]
const overloaded = createFailure(529, 'overloaded_error', 'Overloaded')

testAdapter(t, {
  setUp,
  startServer: startAnthropicServer,
  upstream: 'claude',
  model: 'claude-one',
  spare: { model: 'claude-two', upstream: { apiKey: anthropicKey, kind: 'anthropic' } },
  hidden: /claude|sk-ant|msg_01MODEL/,
  greeting: 'Hello from the Messages API.',
  createText: (text, usage = {}): AnthropicAnswer => ({ content: [{ type: 'text', text }], usage: { ...usage } }),
  call: { id: 'toolu_1', answer: { content } },
  overloaded,
  disconnect: { usage: { input_tokens: 30, cache_read_input_tokens: 0 }, turn: { inputTokens: 30 } },
  failures: [
    ['overloaded', overloaded, 'upstream_error', 502],
    ['a rate limit', createFailure(429, 'rate_limit_error', 'slow', { 'retry-after': '7' }), 'upstream_rate_limited', 429],
    ['a rejected key', createFailure(401, 'authentication_error', 'no'), 'upstream_not_configured', 503],
    ['no money', createFailure(400, 'invalid_request_error', 'Your credit balance is too low'), 'upstream_not_configured', 503],
    ['an invalid field', createFailure(400, 'invalid_request_error', 'messages.0: bad'), 'invalid_request', 400],
    [
      'a long prompt',
      createFailure(400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'),
      'context_length_exceeded',
      400,
    ],
    ['an unknown model', createFailure(404, 'not_found_error', 'model: claude-one'), 'upstream_model_unavailable', 502],
    ['an internal error', createFailure(500, 'api_error', 'Internal server error'), 'upstream_error', 502],
  ],
  cuts: {
    // The last two events are the end.
    events: toEvents({ model: '', max_tokens: 1, messages: [] }, { content }).length - 1,
    kinds: ['cutAfter', 'endAfter', 'errorAfter'],
    format: requests[1],
    end: 'event: message_stop',
  },
})

t.test('signs in with the key and the version of the API', async (t) => {
  const { server, post } = await setUp(t)
  for (const stream of [false, true]) await (await post('/v1/chat/completions', { messages, stream })).text()
  for (const headers of server.headers)
    t.match(headers, { 'x-api-key': anthropicKey, 'anthropic-version': '2023-06-01', authorization: undefined })
})

t.test('counts cached tokens as part of the prompt, and shows them to the client', async (t) => {
  const usage = { input_tokens: 5, cache_read_input_tokens: 70, cache_creation_input_tokens: 25 }
  const { gateway, account, post } = await setUp(t, () => ({ usage }))
  const chat = (await (await post('/v1/chat/completions', { messages })).json()) as object
  t.match(chat, { usage: { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 70, cache_creation_tokens: 25 } } })
  t.match(await gateway.listTurns(account), [{ inputTokens: 100 }])
  const message = (await (await post('/v1/messages', { messages, max_tokens: 200 })).json()) as object
  t.match(message, { usage })
})

t.test('serves a loop of tools for each API format', async (t) => {
  const { server, post } = await setUp(t, (_, before) =>
    before % 2 === 0
      ? {
          content: [
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        }
      : {},
  )
  const parameters = { type: 'object', properties: { at: { type: 'string' } } }
  const tools = [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters } }]
  const first = (await (await post('/v1/chat/completions', { messages, tools })).json()) as {
    choices: { message: { tool_calls: { id: string; function: { arguments: string } }[] } }[]
  }
  const message = first.choices[0]!.message
  t.same(
    message.tool_calls.map(({ id, function: { arguments: args } }) => [id, args]),
    [
      ['toolu_1', '{"at":"x"}'],
      ['toolu_2', '{}'],
    ],
  )
  const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Seen.' }))
  const second = await post('/v1/chat/completions', { messages: [...messages, message, ...results], tools })
  t.equal(second.status, 200)
  t.match(server.requests[1]?.messages, [
    { role: 'user' },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'toolu_1', input: { at: 'x' } },
        { type: 'tool_use', id: 'toolu_2' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1' },
        { type: 'tool_result', tool_use_id: 'toolu_2' },
      ],
    },
  ])
  t.match(server.requests[0]?.tools, [{ name: 'look', description: 'Looks.', input_schema: parameters }])
  t.same(server.rejected, [])
})

t.test('leaves out a setting that the model rejects, and remembers it', async (t) => {
  const { server, post } = await setUp(t, (request) =>
    request['output_config'] === undefined
      ? {}
      : { failure: { status: 400, type: 'invalid_request_error', message: 'This model does not support the effort parameter.' } },
  )
  for (let i = 0; i < 2; i++) t.equal((await post('/v1/chat/completions', { messages, reasoning_effort: 'low' })).status, 200)
  t.equal(server.requests.length, 3)
})

t.test('lowers a cap that the client did not set to the limit of the model', async (t) => {
  const { server, post } = await setUp(t, (request) =>
    request.max_tokens <= 4_000
      ? {}
      : {
          failure: {
            status: 400,
            type: 'invalid_request_error',
            message: `max_tokens: ${request.max_tokens} > 4000, which is the maximum allowed number of output tokens for claude-one`,
          },
        },
  )
  t.equal((await post('/v1/messages', { messages, max_tokens: 8_000 })).status, 200)
  t.equal(server.requests.at(-1)?.max_tokens, 4_000)
})

t.test('names the fields that this upstream does not receive', async (t) => {
  const { server, post } = await setUp(t)
  const response = await post('/v1/chat/completions', { messages, seed: 7, frequency_penalty: 1, temperature: 2, user: 'me' })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-svc-fields-dropped'), 'seed, frequency_penalty')
  t.match(server.requests[0], { temperature: 1, metadata: { user_id: /^[0-9a-f]{32}$/ } })
})

t.test('refuses a part that the API has no place for, and charges nothing', async (t) => {
  const { gateway, account, post } = await setUp(t)
  const content = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]
  const response = await post('/v1/chat/completions', { messages: [{ role: 'user', content }] })
  const { error } = await expectErrorEnvelope(t, response, { status: 400, code: 'invalid_request' })
  t.equal(error.param, 'messages[0].content[0]')
  t.match(await gateway.listTurns(account), [{ state: 'refunded' }])
})

t.test('sends a request that is parsed by a worker', async (t) => {
  const { server, post } = await setUp(t)
  const content = 'The quick brown fox. '.repeat(10_000)
  for (const [path, body] of [
    [
      '/v1/chat/completions',
      {
        messages: [
          { role: 'developer', content: 'Be brief.' },
          { role: 'user', content },
        ],
      },
    ],
    ['/v1/messages', { max_tokens: 200, system: 'Be brief.', messages: [{ role: 'user', content }] }],
  ] as const) {
    t.equal((await post(path, body)).status, 200, path)
    const isSame = path === '/v1/messages'
    t.match(server.requests.at(-1), {
      system: isSame ? 'Be brief.' : [{ type: 'text', text: 'Be brief.' }],
      messages: isSame ? [{ role: 'user', content }] : [{ role: 'user', content: [{ type: 'text', text: content }] }],
    })
  }
})

t.test('sends an account the translation from the first rejection on of what clients of the API send', async (t) => {
  // The server takes both with names in `anthropic-beta` alone.
  for (const [more, expected] of [
    [
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'system', content: 'Be brief.' },
        ],
      },
      /^Hi\n\n<system>/,
    ],
    [{ context_management: { edits: [{ type: 'clear_thinking_20251015' }] } }, 'Hi'],
  ] as const) {
    const { gateway, server, post } = await setUp(t)
    const body = { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...more }
    for (let turn = 0; turn < 2; turn++) {
      t.equal((await post('/v1/messages', body)).status, 200)
      t.match(server.requests.at(-1), { messages: [{ content: [{ text: expected }] }], context_management: undefined })
      t.equal(server.rejected.length, 1)
    }
    const { token } = await gateway.createMember()
    const other = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json', 'anthropic-beta': claudeCodeBetas },
      body: JSON.stringify({ model: 'svc-2.1', ...body }),
    })
    t.equal(other.status, 200)
    t.match(server.requests.at(-1), body, 'another account is not concerned')
  }
})

t.test('sends the names of betas that the request needs, and no others', async (t) => {
  const upstreams = { claude: { headers: { 'Anthropic-Beta': 'own-1' } } }
  const { server, post } = await setUp(t, () => ({}), { upstreams })
  const messages = [{ role: 'user', content: 'Hi' }]
  for (const [path, betas, expected] of [
    ['/v1/messages', 'effort-2025-11-24, context-1m-2025-08-07,files-api-2025-04-14', 'own-1,effort-2025-11-24'],
    ['/v1/messages', 'context-1m-2025-08-07', 'own-1'],
    ['/v1/messages', 'effort-2025-11-24 x', 'own-1'],
    ['/v1/chat/completions', 'effort-2025-11-24', 'own-1'],
  ] as const) {
    t.equal((await post(path, { max_tokens: 100, messages }, { 'anthropic-beta': betas })).status, 200)
    t.equal(server.headers.at(-1)?.['anthropic-beta'], expected)
  }
})
