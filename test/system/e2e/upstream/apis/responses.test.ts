/** An upstream with `responses: true` serves clients of every API format like any other upstream. */
import t from 'tap'
import { setUpResponsesGateway as setUp } from '../../../../support/gateway/scripted-gateway.ts'
import { responsesKey, startResponsesServer, toEvents } from '../../../../support/upstream/responses-server.ts'
import type { Item, ResponsesAnswer } from '../../../../support/upstream/responses-server.ts'
import { messages, requests, testAdapter } from './adapter-contract.ts'

const createFailure = (status: number, code: string | null, message: string, more: { param?: string } = {}, headers = {}) => ({
  failure: { status, code, message, ...more },
  headers,
})
const output = [
  { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAAA1' },
  { type: 'message', text: 'Looking.' },
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"x"}' },
]
const limited = createFailure(429, 'rate_limit_exceeded', 'Rate limit reached', {}, { 'retry-after': '7' })

testAdapter(t, {
  setUp,
  startServer: startResponsesServer,
  upstream: 'openai',
  model: 'gpt-one',
  spare: { model: 'gpt-two', upstream: { apiKey: responsesKey, responses: true } },
  hidden: /gpt-one|sk-test/,
  greeting: 'Hello from the Responses API.',
  createText: (text, usage = {}): ResponsesAnswer => ({ output: [{ type: 'message', text }], usage: { ...usage } }),
  call: { id: 'call_1', answer: { output } },
  overloaded: limited,
  disconnect: { usage: {}, turn: { estimated: true } },
  failures: [
    ['a rejected key', createFailure(401, 'invalid_api_key', 'Incorrect API key'), 'upstream_not_configured', 503],
    ['a rate limit', limited, 'upstream_rate_limited', 429],
    ['no money', createFailure(429, 'insufficient_quota', 'You exceeded your current quota'), 'upstream_not_configured', 503],
    [
      'a long prompt',
      createFailure(400, 'context_length_exceeded', 'Your input exceeds the context window of this model.'),
      'context_length_exceeded',
      400,
    ],
    [
      'an invalid field',
      createFailure(400, 'invalid_value', "Invalid value: 'x'.", { param: 'text.format' }),
      'invalid_request',
      400,
    ],
    [
      'an unknown model',
      createFailure(404, 'model_not_found', 'The model gpt-one does not exist'),
      'upstream_model_unavailable',
      502,
    ],
    ['an internal error', createFailure(500, null, 'The server had an error'), 'upstream_error', 502],
    ['an outage', createFailure(503, null, 'Overloaded'), 'upstream_error', 502],
  ],
  cuts: {
    events: toEvents({ model: '', input: '' }, { output }).length,
    kinds: ['cutAfter', 'endAfter', 'failAfter', 'errorAfter'],
    format: requests[2],
    end: 'event: response.completed',
  },
})

t.test('stores nothing at the upstream, and asks for reasoning in encrypted form', async (t) => {
  const { server, post } = await setUp(t)
  for (const [path, body] of requests) await (await post(path, body)).text()
  for (const headers of server.headers) t.match(headers, { authorization: `Bearer ${responsesKey}` })
  for (const request of server.requests)
    t.match(request, { stream: true, store: false, include: ['reasoning.encrypted_content'], stream_options: undefined })
})

t.test('shows cached and reasoning tokens to the client of each API format', async (t) => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 70 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 22 },
  }
  const { gateway, account, post } = await setUp(t, () => ({ usage }))
  const read = async (i: 0 | 1 | 2) => {
    const [path, body] = requests[i]
    return ((await (await post(path, body)).json()) as { usage: object }).usage
  }
  t.match(await read(0), {
    prompt_tokens: 100,
    completion_tokens: 30,
    prompt_tokens_details: { cached_tokens: 70 },
    completion_tokens_details: { reasoning_tokens: 22 },
  })
  t.match(await read(1), { input_tokens: 30, cache_read_input_tokens: 70, output_tokens: 30 })
  t.match(await read(2), usage)
  t.match(await gateway.listTurns(account), [{ inputTokens: 100, outputTokens: 30 }])
})

const streamFailures = [
  ['server_error', 'upstream_error'],
  ['rate_limit_exceeded', 'upstream_rate_limited'],
  ['context_length_exceeded', 'context_length_exceeded'],
  ['invalid_prompt', 'content_filter'],
  ['invalid_image', 'invalid_request'],
] as const

for (const [code, expected] of streamFailures)
  t.test(`classifies the error ${code} inside the stream`, async (t) => {
    for (const kind of ['failAfter', 'errorAfter'] as const) {
      const { gateway, account, post } = await setUp(t, () => ({ [kind]: 2, error: { code, message: 'It failed.' } }))
      const envelope = (await (await post('/v1/chat/completions', { messages })).json()) as object
      t.match(envelope, { code: expected }, kind)
      t.match(await gateway.listTurns(account), [{ state: 'refunded' }])
    }
  })

t.test('ends an answer as the upstream did that stopped it', async (t) => {
  let incomplete: 'max_output_tokens' | 'content_filter' = 'max_output_tokens'
  const { post } = await setUp(t, () => ({ incomplete, output: [{ type: 'message', text: 'Half of' }] }))
  for (const [reason, finish] of [
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ] as const) {
    incomplete = reason
    for (const stream of [false, true])
      t.match(await (await post('/v1/chat/completions', { messages, stream })).text(), `"finish_reason":"${finish}"`)
    t.match(await (await post('/v1/responses', { input: 'x' })).json(), { status: 'incomplete', incomplete_details: { reason } })
  }
})

t.test('marks a call that the cap has cut as incomplete, so that no client makes it', async (t) => {
  let call: object = {}
  const { post } = await setUp(t, () => ({ incomplete: 'max_output_tokens', output: [call as Item] }))
  const tools = [
    { type: 'custom', name: 'patch' },
    { type: 'function', name: 'look', parameters: { type: 'object' } },
  ]
  for (const sent of [
    { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'half of a te' },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"half' },
  ]) {
    call = sent
    const whole = (await (await post('/v1/responses', { input: 'x', tools })).json()) as object
    t.match(whole, { status: 'incomplete', output: [{ type: sent.type, status: 'incomplete' }] })
    const streamed = await (await post('/v1/responses', { input: 'x', tools, stream: true })).text()
    t.match(streamed, 'event: response.incomplete')
    t.notMatch(streamed, 'event: response.output_item.done', sent.type)
  }
})

t.test('sends no cap below the smallest one of the API', async (t) => {
  const { server, post } = await setUp(t)
  for (const cap of [1, 20]) await post('/v1/chat/completions', { messages, max_tokens: cap })
  t.same(
    server.requests.map((request) => request['max_output_tokens']),
    [16, 20],
  )
})

t.test('requests an answer whole after a stream that ends with nothing, and charges nothing for an empty one', async (t) => {
  const { gateway, account, server, post } = await setUp(t, () => ({ output: [], usage: null }))
  t.equal((await post('/v1/chat/completions', { messages, stream: true })).status, 200)
  t.same(
    server.requests.map(({ stream }) => stream),
    [true, undefined],
  )
  t.match(await gateway.listTurns(account), [{ credits: 0, inputTokens: 0 }])
})
