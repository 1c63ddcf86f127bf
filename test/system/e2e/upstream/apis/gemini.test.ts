/** An upstream of `kind: 'gemini'` serves clients of every API format like any other upstream. */
import t from 'tap'
import { expectErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import { setUpGeminiGateway as setUp } from '../../../../support/gateway/scripted-gateway.ts'
import { geminiKey, startGeminiServer, toEvents } from '../../../../support/upstream/gemini-server.ts'
import type { GeminiAnswer } from '../../../../support/upstream/gemini-server.ts'
import { messages, requests, testAdapter } from './adapter-contract.ts'

const createFailure = (status: number, type: string, message: string, details: readonly object[] = [], headers = {}) => ({
  failure: { status, type, message, details },
  headers,
})
const parts = [
  { text: 'Hm.', thought: true },
  { text: 'Looking.' },
  { functionCall: { id: 'fc_1', name: 'look', args: { at: 'x' } }, thoughtSignature: 'SIG' },
]
const overloaded = createFailure(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.')
const quotaDetails = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }]

testAdapter(t, {
  setUp,
  startServer: startGeminiServer,
  upstream: 'google',
  model: 'gemini-one',
  spare: { model: 'gemini-two', upstream: { apiKey: geminiKey, kind: 'gemini' } },
  hidden: /gemini-one|AIza/,
  greeting: 'Hello from the Gemini API.',
  createText: (text, usage = {}): GeminiAnswer => {
    const { input_tokens: promptTokenCount = 20, output_tokens: candidatesTokenCount = 5 } = usage as Record<string, number>
    return { parts: [{ text }], usage: { promptTokenCount, candidatesTokenCount } }
  },
  call: { id: 'fc_1', answer: { parts } },
  overloaded,
  disconnect: { usage: { input_tokens: 30 }, turn: { inputTokens: 30 } },
  failures: [
    ['overloaded', overloaded, 'upstream_error', 502],
    ['a rate limit', createFailure(429, 'RESOURCE_EXHAUSTED', 'Quota', quotaDetails), 'upstream_rate_limited', 429],
    [
      'a rejected key',
      createFailure(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
      'upstream_not_configured',
      503,
    ],
    ['a key without rights', createFailure(403, 'PERMISSION_DENIED', 'Permission denied'), 'upstream_not_configured', 503],
    ['an invalid field', createFailure(400, 'INVALID_ARGUMENT', 'contents[0]: bad'), 'invalid_request', 400],
    [
      'a long prompt',
      createFailure(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      ),
      'context_length_exceeded',
      400,
    ],
    [
      'an unknown model',
      createFailure(404, 'NOT_FOUND', 'models/gemini-one is not found for API version v1beta, or is not supported.'),
      'upstream_model_unavailable',
      502,
    ],
    ['an internal error', createFailure(500, 'INTERNAL', 'An internal error has occurred.'), 'upstream_error', 502],
  ],
  cuts: {
    // The last event has the end.
    events: toEvents({ parts }).length,
    kinds: ['cutAfter', 'endAfter', 'errorAfter'],
    format: requests[1],
    end: 'event: message_stop',
  },
})

t.test('signs in with the key in its header', async (t) => {
  const { server, post } = await setUp(t)
  for (const stream of [false, true]) await (await post('/v1/chat/completions', { messages, stream })).text()
  for (const headers of server.headers) t.match(headers, { 'x-goog-api-key': geminiKey, authorization: undefined })
})

t.test('counts thoughts as output, and shows cached tokens as part of the prompt', async (t) => {
  const usage = {
    promptTokenCount: 100,
    cachedContentTokenCount: 70,
    toolUsePromptTokenCount: 10,
    candidatesTokenCount: 4,
    thoughtsTokenCount: 30,
  }
  const { gateway, account, post } = await setUp(t, () => ({ usage }))
  for (const stream of [false, true]) {
    const text = await (
      await post('/v1/chat/completions', { messages, ...(stream ? { stream, stream_options: { include_usage: true } } : {}) })
    ).text()
    const details = ['"prompt_tokens":110', '"completion_tokens":34', '"cached_tokens":70', '"reasoning_tokens":30']
    for (const detail of details) t.ok(text.includes(detail), `${detail} in ${text}`)
    const [turn] = await gateway.listTurns(account)
    t.match(turn, { inputTokens: 110, outputTokens: 34, cachedInputTokens: 70 })
  }
})

const chatTools = [
  {
    type: 'function',
    function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { at: { type: 'string' } } } },
  },
]
const twoCalls: GeminiAnswer = {
  parts: [
    { functionCall: { id: 'fc_1', name: 'look', args: { at: 'x' } }, thoughtSignature: 'SIG' },
    { functionCall: { id: 'fc_2', name: 'look', args: {} } },
  ],
}
const loop = (_: unknown, before: number): GeminiAnswer => (before % 2 === 0 ? twoCalls : {})

t.test('serves a loop of tools for chat completions, with the signature of the thoughts', async (t) => {
  const { server, post } = await setUp(t, loop)
  const first = (await (await post('/v1/chat/completions', { messages, tools: chatTools })).json()) as {
    choices: { finish_reason: string; message: { tool_calls: { id: string }[] } }[]
  }
  t.match(first.choices[0], {
    finish_reason: 'tool_calls',
    message: {
      tool_calls: [
        { id: 'fc_1', function: { arguments: '{"at":"x"}' }, extra_content: { google: { thought_signature: 'SIG' } } },
        { id: 'fc_2', function: { arguments: '{}' } },
      ],
    },
  })
  const message = first.choices[0]!.message
  const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Seen.' }))
  const second = await post('/v1/chat/completions', { messages: [...messages, message, ...results], tools: chatTools })
  t.equal(second.status, 200)
  t.same(server.requests[1]?.contents, [
    { role: 'user', parts: [{ text: 'Hello!' }] },
    { role: 'model', parts: twoCalls.parts },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'fc_1', name: 'look', response: { output: 'Seen.' } } },
        { functionResponse: { id: 'fc_2', name: 'look', response: { output: 'Seen.' } } },
      ],
    },
  ])
  t.same(server.requests[0]?.tools, [
    {
      functionDeclarations: [
        { name: 'look', description: 'Looks.', parametersJsonSchema: { type: 'object', properties: { at: { type: 'string' } } } },
      ],
    },
  ])
  t.same(server.rejected, [])
})

for (const stream of [false, true])
  t.test(`returns the signature through the Messages API, ${stream ? 'streamed' : 'whole'}`, async (t) => {
    const { server, post } = await setUp(t, loop)
    const request = { max_tokens: 200, tools: [{ name: 'look', input_schema: { type: 'object' } }], stream }
    const text = await (await post('/v1/messages', { ...request, messages })).text()
    t.notOk(text.includes('"SIG"'), 'it is sealed')
    const content = stream ? readBlocks(text) : (JSON.parse(text) as { content: Block[] }).content
    t.match(content, [{ type: 'redacted_thinking' }, { type: 'tool_use', id: 'fc_1' }, { type: 'tool_use', id: 'fc_2' }])
    const results = ['fc_1', 'fc_2'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'Seen.' }))
    const history = [...messages, { role: 'assistant', content }, { role: 'user', content: results }]
    t.equal((await post('/v1/messages', { ...request, messages: history })).status, 200)
    t.match(server.requests[1]?.contents[1]?.parts, [{ thoughtSignature: 'SIG', functionCall: { id: 'fc_1' } }, {}])
    t.equal(server.requests[1]?.contents[1]?.parts[1]?.['thoughtSignature'], undefined)
    t.same(server.rejected, [])
  })

interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

/** The blocks of a streamed message; the arguments of its calls do not matter. */
function readBlocks(text: string): Block[] {
  return [...text.matchAll(/data: (.*)/g)].flatMap(([, data = '{}']) => {
    const event = JSON.parse(data) as { type: string; content_block?: Block }
    return event.type === 'content_block_start' && event.content_block !== undefined ? [event.content_block] : []
  })
}

t.test('returns the signature through the Responses API', async (t) => {
  const { server, post } = await setUp(t, loop)
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }]
  const first = (await (await post('/v1/responses', { input: 'Hello!', tools, store: false })).json()) as {
    output: { type: string; call_id?: string }[]
  }
  const calls = first.output.filter(({ type }) => type === 'function_call')
  const results = calls.map(({ call_id: id }) => ({ type: 'function_call_output', call_id: id, output: 'Seen.' }))
  const input = [{ role: 'user', content: 'Hello!' }, ...first.output, ...results]
  t.equal((await post('/v1/responses', { input, tools, store: false })).status, 200)
  t.match(server.requests[1]?.contents[1]?.parts, [{ thoughtSignature: 'SIG' }, {}])
  t.same(server.rejected, [])
})

t.test('gives a call of another model the mark that the API requires in place of a signature', async (t) => {
  const { server, post } = await setUp(t)
  const call = { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const history = [
    ...messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'toolu_1', content: '{"seen":true}' },
  ]
  t.equal((await post('/v1/chat/completions', { messages: history })).status, 200)
  t.match(server.requests[0]?.contents[1]?.parts, [{ thoughtSignature: 'skip_thought_signature_validator' }])
  t.match(server.requests[0]?.contents[2]?.parts, [{ functionResponse: { response: { seen: true } } }])
})

t.test('fails a turn whose prompt is blocked, and charges nothing', async (t) => {
  const { gateway, account, post } = await setUp(t, () => ({ blockReason: 'PROHIBITED_CONTENT' }))
  for (const stream of [false, true]) {
    const response = await post('/v1/chat/completions', { messages, stream })
    await expectErrorEnvelope(t, response, { status: 400, code: 'content_filter' })
    t.match(await gateway.listTurns(account), [{ state: 'refunded' }])
  }
})

t.test('ends an answer that is stopped by a safety filter as filtered, and fails one that broke off', async (t) => {
  let finishReason = ''
  const { gateway, account, post } = await setUp(t, () => ({ finishReason }), { upstreams: { google: { restAfterFailures: 0 } } })
  for (const [reason, finish] of [
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['MODEL_ARMOR', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['OTHER', 'stop'],
  ] as const) {
    finishReason = reason
    t.match(await (await post('/v1/chat/completions', { messages })).json(), { choices: [{ finish_reason: finish }] }, reason)
  }
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MISSING_THOUGHT_SIGNATURE']) {
    finishReason = reason
    t.not((await post('/v1/chat/completions', { messages })).status, 200, reason)
    const [turn] = await gateway.listTurns(account)
    t.match(turn, { state: 'refunded' }, reason)
  }
})

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC'

t.test('sends pictures, files, audio and addresses in their places', async (t) => {
  const { server, post } = await setUp(t, undefined, { upstreams: { google: { mediaByAddress: 'any' } } })
  const content = [
    { type: 'text', text: 'Look:' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'image_url', image_url: { url: 'https://example.com/a.jpg' } },
  ]
  t.equal((await post('/v1/chat/completions', { messages: [{ role: 'user', content }] })).status, 200)
  t.same(server.requests[0]?.contents, [
    {
      role: 'user',
      parts: [
        { text: 'Look:' },
        { inlineData: { mimeType: 'image/png', data: pixel } },
        { text: 'File: a.pdf' },
        { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
        { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } },
        { fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/a.jpg' } },
      ],
    },
  ])
})

t.test('passes on a picture that the model draws', async (t) => {
  const { post } = await setUp(t, () => ({
    parts: [{ text: 'Here: ' }, { inlineData: { mimeType: 'image/png', data: pixel } }],
  }))
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } }
  t.match(await (await post('/v1/chat/completions', { messages })).json(), {
    choices: [{ message: { content: 'Here: ', images: [image] } }],
  })
  const text = await (await post('/v1/chat/completions', { messages, stream: true })).text()
  t.ok(text.includes(JSON.stringify(image)))
})

t.test('translates the settings of a request, and names those without a counterpart', async (t) => {
  const { server, post } = await setUp(t)
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const response = await post('/v1/chat/completions', {
    messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
    max_tokens: 4_000,
    temperature: 0.5,
    top_p: 0.9,
    seed: 7,
    stop: ['END'],
    n: 1,
    user: 'me',
    reasoning_effort: 'medium',
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    tools: chatTools,
    tool_choice: { type: 'function', function: { name: 'look' } },
  })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-svc-fields-dropped'), 'n, user')
  t.match(server.requests[0], {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } },
  })
  t.same(server.requests[0]?.generationConfig, {
    maxOutputTokens: 4_000,
    temperature: 0.5,
    topP: 0.9,
    seed: 7,
    stopSequences: ['END'],
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
    thinkingConfig: { thinkingBudget: 3_999, includeThoughts: true },
  })
})

t.test('leaves out a setting that the model rejects, and remembers it', async (t) => {
  const { server, post } = await setUp(t, ({ generationConfig }) =>
    generationConfig?.['thinkingConfig'] === undefined
      ? {}
      : createFailure(400, 'INVALID_ARGUMENT', 'Thinking budget is not supported for this model.'),
  )
  for (let i = 0; i < 2; i++) t.equal((await post('/v1/chat/completions', { messages, reasoning_effort: 'low' })).status, 200)
  t.equal(server.requests.length, 3)
})

t.test('sends a request that is parsed by a worker', async (t) => {
  const { server, post } = await setUp(t)
  const text = 'The quick brown fox. '.repeat(10_000)
  const chat = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: text },
  ]
  t.equal((await post('/v1/chat/completions', { messages: chat })).status, 200)
  t.match(server.requests.at(-1), {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [{ role: 'user', parts: [{ text }] }],
  })
})
