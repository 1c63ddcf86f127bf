/** What an upstream with `responses: true` receives: tools, reasoning, images, settings, and what it rejects. */
import t from 'tap'
import { expectErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import { setUpResponsesGateway as setUp } from '../../../../support/gateway/scripted-gateway.ts'
import type { Item, ResponsesAnswer } from '../../../../support/upstream/responses-server.ts'
import { startScriptedModel } from '../../../clients/support/scripted-model.ts'

const messages = [{ role: 'user', content: 'Hello!' }]
const parameters = { type: 'object', properties: { at: { type: 'string' } } }
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

t.test('serves a loop of parallel tools for chat completions', async (t) => {
  const { server, post } = await setUp(t, (_, before) =>
    before % 2 === 0
      ? {
          output: [
            { type: 'message', text: 'Two calls.' },
            { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"x"}' },
            { type: 'function_call', call_id: 'call_2', name: 'look', arguments: '{}' },
          ],
        }
      : {},
  )
  const tools = [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters } }]
  const first = (await (await post('/v1/chat/completions', { messages, tools, tool_choice: 'required' })).json()) as {
    choices: { message: { tool_calls: { id: string }[] } }[]
  }
  const { message } = first.choices[0]!
  const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Seen.' }))
  const system = { role: 'system', content: 'Be brief.' }
  t.equal((await post('/v1/chat/completions', { messages: [system, ...messages, message, ...results], tools })).status, 200)
  t.match(server.requests[0], {
    tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters, strict: false }],
    tool_choice: 'required',
  })
  t.equal(server.requests[1]?.instructions, 'Be brief.')
  t.same(server.requests[1]?.input, [
    { type: 'message', role: 'user', content: 'Hello!' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Two calls.', annotations: [] }] },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"x"}' },
    { type: 'function_call', call_id: 'call_2', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Seen.' },
    { type: 'function_call_output', call_id: 'call_2', output: 'Seen.' },
  ])
  t.same(server.rejected, [])
})

const reasoned: ResponsesAnswer = {
  output: [
    { type: 'reasoning', summary: [], encrypted_content: 'gAAAAhidden' },
    {
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'Let me see.' },
        { type: 'summary_text', text: 'The hat, then.' },
      ],
      encrypted_content: 'gAAAAshown',
    },
    { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'a "quoted"\n🎩 line' },
    { type: 'function_call', call_id: 'call_2', namespace: 'files', name: 'look', arguments: '{"at":"x"}' },
  ],
}
const [hidden, shown] = reasoned.output as [Item, Item]

t.test('passes reasoning items and tools of a Responses client without loss, sealed', async (t) => {
  const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
  const tools = [
    { type: 'custom', name: 'patch', description: 'Patches.', format: grammar },
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'look', parameters }] },
  ]
  const settings = {
    tools,
    reasoning: { effort: 'high', summary: 'detailed' },
    text: { verbosity: 'low' },
    instructions: 'Be brief.',
  }
  for (const padding of ['', ' word'.repeat(30_000)])
    for (const stream of [false, true]) {
      const { server, post } = await setUp(t, (_, before) => (before === 0 ? reasoned : {}))
      const start = { role: 'user', content: `Go.${padding}` }
      const response = await post('/v1/responses', { ...settings, stream, input: [start] })
      const output = stream ? readItems(await response.text()) : ((await response.json()) as { output: Item[] }).output
      t.match(output, [
        { type: 'reasoning', summary: [] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see.\n\nThe hat, then.' }] },
        { type: 'custom_tool_call', name: 'patch', input: 'a "quoted"\n🎩 line', status: 'completed' },
        { type: 'function_call', namespace: 'files', name: 'look', arguments: '{"at":"x"}' },
      ])
      t.equal(output.length, 4)
      t.notMatch(JSON.stringify(output), /gAAAA/, 'sealed')
      const results = [
        { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done.' },
        { type: 'function_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: 'Seen.' }] },
      ]
      t.equal((await post('/v1/responses', { ...settings, stream, input: [start, ...output, ...results] })).status, 200)
      t.match(server.requests[1], {
        instructions: 'Be brief.',
        reasoning: { effort: 'high', summary: 'detailed' },
        text: { verbosity: 'low' },
        tools,
      })
      t.same(server.requests[1]?.input.slice(1), [hidden, shown, ...output.slice(2), ...results])
      t.same(server.rejected, [])
    }
})

t.test('keeps the encrypted reasoning for clients of the Messages API and of chat completions', async (t) => {
  const output = [hidden, shown, { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }]
  for (const stream of [false, true]) {
    const { server, post } = await setUp(t, (_, before) => (before % 2 === 0 ? { output } : {}))
    const settings = { stream, max_tokens: 200, tools: [{ name: 'look', input_schema: parameters }] }
    const response = await post('/v1/messages', { ...settings, messages, thinking: { type: 'enabled', budget_tokens: 5_000 } })
    const content = stream ? readBlocks(await response.text()) : ((await response.json()) as { content: object[] }).content
    t.match(content, [
      { type: 'redacted_thinking' },
      { type: 'thinking', thinking: 'Let me see.\n\nThe hat, then.' },
      { type: 'tool_use' },
    ])
    t.notMatch(JSON.stringify(content), /gAAAA/)
    const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'Seen.' }
    const history = [...messages, { role: 'assistant', content }, { role: 'user', content: [result] }]
    t.equal((await post('/v1/messages', { ...settings, messages: history })).status, 200)
    t.match(server.requests[0], { reasoning: { effort: 'medium', summary: 'auto' } })
    t.match(server.requests[1]?.input.slice(1), [hidden, shown, { type: 'function_call' }, { type: 'function_call_output' }])
    t.same(server.rejected, [])
  }
  const { server, post } = await setUp(t, (_, before) => (before === 0 ? { output } : {}))
  const chat = (await (await post('/v1/chat/completions', { messages })).json()) as { choices: { message: object }[] }
  const { message } = chat.choices[0]!
  t.match(message, { responses_reasoning: [hidden, shown], reasoning_content: 'Let me see.\n\nThe hat, then.' })
  const tool = { role: 'tool', tool_call_id: 'call_1', content: 'Seen.' }
  t.equal((await post('/v1/chat/completions', { messages: [...messages, message, tool] })).status, 200)
  t.match(server.requests[1]?.input.slice(1), [hidden, shown, { type: 'function_call' }, { type: 'function_call_output' }])
})

t.test('sends a turn again without encrypted reasoning that the target cannot read', async (t) => {
  const unreadable = 'The encrypted content for item rs_1 could not be verified.'
  const { gateway, account, server, post } = await setUp(t, ({ input }) =>
    typeof input !== 'string' && input.some(({ type }) => type === 'reasoning')
      ? { failure: { status: 400, code: 'invalid_encrypted_content', message: unreadable } }
      : { output: [shown, { type: 'message', text: 'Fine.' }] },
  )
  const first = (await (await post('/v1/responses', { input: 'Hi' })).json()) as { output: Item[] }
  for (const padding of ['', ' word'.repeat(30_000)]) {
    const input = [{ role: 'user', content: 'Hi' }, ...first.output, { role: 'user', content: `And?${padding}` }]
    t.equal((await post('/v1/responses', { input })).status, 200)
    t.match(await gateway.listTurns(account), [{ state: 'settled' }])
  }
  t.equal(server.requests.length, 5, 'each turn anew: reasoning of later answers may be readable')
})

const rejections: readonly (readonly [
  name: string,
  body: object,
  field: string,
  failure: { message: string; param?: string },
])[] = [
  ['encrypted reasoning', {}, 'include', { message: 'Encrypted content is not supported with this model.', param: 'include' }],
  [
    'the summary of an organisation that is not verified',
    { reasoning_effort: 'low' },
    '"summary"',
    { message: 'Your organization must be verified to generate reasoning summaries.', param: 'reasoning.summary' },
  ],
  [
    'an effort',
    { reasoning_effort: 'low' },
    'effort',
    { message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.", param: 'reasoning.effort' },
  ],
  [
    'a temperature',
    { temperature: 0.5 },
    'temperature',
    { message: "Unsupported parameter: 'temperature' is not supported with this model.", param: 'temperature' },
  ],
]

for (const [name, body, field, failure] of rejections)
  t.test(`leaves out ${name} that the model rejects, and remembers it`, async (t) => {
    const { server, post } = await setUp(t, (request) =>
      JSON.stringify(request).includes(field) ? { failure: { status: 400, ...failure } } : {},
    )
    for (let i = 0; i < 2; i++) t.equal((await post('/v1/chat/completions', { messages, ...body })).status, 200)
    t.equal(server.requests.length, 3)
  })

t.test('sends tools with free text as functions to a model that has none', async (t) => {
  const { server, post } = await setUp(t, ({ tools = [] }, before) =>
    tools.some(({ type }) => type === 'custom')
      ? { failure: { status: 400, message: "Unsupported Responses tool type: 'custom'" } }
      : before === 1
        ? { output: [{ type: 'function_call', call_id: 'call_1', name: 'patch', arguments: '{"input":"x"}' }] }
        : {},
  )
  const tools = [{ type: 'custom', name: 'patch', description: 'Patches.' }]
  const { output } = (await (await post('/v1/responses', { input: 'Hi', tools })).json()) as { output: Item[] }
  t.match(output, [{ type: 'custom_tool_call', name: 'patch', input: 'x' }])
  const result = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done.' }
  const start = { role: 'user', content: `Hi${' word'.repeat(30_000)}` }
  t.equal((await post('/v1/responses', { input: [start, ...output, result], tools })).status, 200)
  t.equal(server.requests.length, 3, 'the rejection is remembered')
  t.match(server.requests.at(-1)?.input, [
    {},
    { type: 'function_call', arguments: '{"input":"x"}' },
    { type: 'function_call_output' },
  ])
  t.same(server.rejected, [])
})

t.test('serves tools with free text of chat completions', async (t) => {
  const output = [{ type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'free text' }]
  const { server, post } = await setUp(t, (_, before) => (before < 2 ? { output } : {}))
  const grammar = { type: 'grammar', grammar: { syntax: 'regex', definition: 'x+' } }
  const tools = [{ type: 'custom', custom: { name: 'patch', format: grammar } }]
  const call = { id: 'call_1', type: 'custom', custom: { name: 'patch', input: 'free text' } }
  const request = { messages, tools, tool_choice: { type: 'custom', custom: { name: 'patch' } } }
  const streamed = await (await post('/v1/chat/completions', { ...request, stream: true })).text()
  t.match(streamed, /"custom":\{"name":"patch","input":""\}.*"custom":\{"input":"free text"\}.*"finish_reason":"tool_calls"/s)
  const chat = (await (await post('/v1/chat/completions', request)).json()) as { choices: { message: object }[] }
  const { message } = chat.choices[0]!
  t.match(message, { tool_calls: [call] })
  const result = { role: 'tool', tool_call_id: 'call_1', content: 'Done.' }
  t.equal((await post('/v1/chat/completions', { messages: [...messages, message, result], tools })).status, 200)
  t.match(server.requests[0], {
    tools: [{ type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'regex', definition: 'x+' } }],
    tool_choice: { type: 'custom', name: 'patch' },
  })
  t.match(server.requests[2]?.input.slice(1), [
    { type: 'custom_tool_call' },
    { type: 'custom_tool_call_output', output: 'Done.' },
  ])
  t.same(server.rejected, [])
})

t.test('sends images, files and a schema of the answer', async (t) => {
  const { server, post } = await setUp(t)
  const schema = { type: 'object', properties: {}, required: [], additionalProperties: false }
  const content = [
    { type: 'text', text: 'Look.' },
    { type: 'image_url', image_url: { url: pixel, detail: 'low' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
  ]
  const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
  t.equal((await post('/v1/chat/completions', { messages: [{ role: 'user', content }], response_format })).status, 200)
  t.match(server.requests[0], {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look.' },
          { type: 'input_image', image_url: pixel, detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
        ],
      },
    ],
    text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
  })
  const format = { type: 'json_schema', name: 'answer', schema, strict: true }
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: pixel }] }]
  t.equal((await post('/v1/responses', { input, text: { format } })).status, 200)
  t.match(server.requests[1], { input: [{ content: [{ type: 'input_image', image_url: pixel }] }], text: { format } })
})

t.test('names the fields that this upstream does not receive, and refuses several choices', async (t) => {
  const { gateway, account, server, post } = await setUp(t)
  const dropped = { seed: 7, stop: ['x'], frequency_penalty: 1, presence_penalty: 1, logit_bias: { 1: 1 } }
  const response = await post('/v1/chat/completions', { messages, ...dropped, user: 'me', n: 1 })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-svc-fields-dropped'), Object.keys(dropped).join(', '))
  t.match(server.requests[0], { user: /^[0-9a-f]{32}$/ })
  const refused = await post('/v1/chat/completions', { messages, n: 2 })
  const { error } = await expectErrorEnvelope(t, refused, { status: 400, code: 'invalid_request' })
  t.equal(error.param, 'n')
  const audio = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]
  const part = await post('/v1/chat/completions', { messages: [{ role: 'user', content: audio }] })
  t.equal((await expectErrorEnvelope(t, part, { status: 400, code: 'invalid_request' })).error.param, 'messages[0].content[0]')
  t.match(await gateway.listTurns(account), [{ state: 'refunded' }])
  t.equal(server.requests.length, 1)
})

t.test('sends log probabilities in the form of chat completions', async (t) => {
  const { server, post } = await setUp(t)
  t.equal((await post('/v1/chat/completions', { messages, logprobs: true, top_logprobs: 2 })).status, 200)
  t.match(server.requests[0], { include: [/./, 'message.output_text.logprobs'], top_logprobs: 2 })
})

t.test('lets fields pass that the operator names', async (t) => {
  const { server, post } = await setUp(t, () => ({}), {
    upstreams: { openai: { passRequestFields: ['truncation'], passCostFields: true } },
  })
  await post('/v1/chat/completions', { messages, truncation: 'auto', service_tier: 'flex', store: true })
  t.match(server.requests[0], { truncation: 'auto', service_tier: 'flex', store: false })
})

t.test('lowers a cap that the client did not set to the limit of the model', async (t) => {
  const { server, post } = await setUp(t, ({ max_output_tokens: cap }) =>
    Number(cap) <= 4_000
      ? {}
      : {
          failure: {
            status: 400,
            code: 'integer_above_max_value',
            param: 'max_output_tokens',
            message: `Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 4000, but got ${String(cap)} instead.`,
          },
        },
  )
  t.equal((await post('/v1/messages', { messages, max_tokens: 8_000 })).status, 200)
  t.equal(server.requests.at(-1)?.['max_output_tokens'], 4_000)
})

t.test('sends none of the private fields to an upstream of another kind', async (t) => {
  const model = await startScriptedModel(t, () => ({ text: 'Hello.' }))
  const { post } = await setUp(t, () => ({}), {
    upstreams: { other: { baseUrl: model.url } },
    products: { 'svc-2.1': { targets: [{ upstream: 'other', model: 'm' }] } },
  })
  const assistant = { role: 'assistant', content: 'Hm.', responses_reasoning: [shown] }
  for (const padding of ['', ' word'.repeat(30_000)]) {
    const reasoning = { effort: 'low', summary: 'auto' }
    const tools = [{ type: 'custom', name: 'patch' }]
    t.equal((await post('/v1/responses', { input: `Hi${padding}`, reasoning, tools })).status, 200)
    const user = { role: 'user', content: `Hi${padding}` }
    t.equal((await post('/v1/chat/completions', { messages: [user, assistant, user] })).status, 200)
  }
  t.equal(model.requests.length, 4)
  t.notMatch(JSON.stringify(model.requests), /responses_|gAAAA/)
})

/** The items of a streamed response. */
function readItems(text: string): Item[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, json = '']) => {
    const { type, item } = JSON.parse(json) as { type: string; item: Item }
    return type === 'response.output_item.done' ? [item] : []
  })
}

/** The blocks of a streamed message. */
function readBlocks(text: string): object[] {
  const blocks: Record<string, unknown>[] = []
  for (const [, json = ''] of text.matchAll(/^data: (.*)$/gm)) {
    const event = JSON.parse(json) as {
      type: string
      index: number
      content_block: Record<string, unknown>
      delta: Record<string, unknown>
    }
    if (event.type === 'content_block_start') blocks[event.index] = event.content_block
    if (event.type !== 'content_block_delta') continue
    const open = blocks[event.index]!
    const { thinking, signature } = event.delta
    if (thinking !== undefined) open['thinking'] = `${String(open['thinking'])}${String(thinking)}`
    if (signature !== undefined) open['signature'] = signature
  }
  return blocks
}

t.test('sends the translation to a server that has fewer types of tools, from its first rejection on', async (t) => {
  let rejected = 0
  const { server, post } = await setUp(t, ({ tools = [] }) => {
    if (!tools.some(({ type }) => type === 'namespace')) return {}
    rejected++
    return { failure: { status: 400, message: "Invalid value: 'namespace'. Supported values are: 'function' and 'custom'." } }
  })
  const body = {
    input: 'Hi',
    tools: [{ type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'look', parameters }] }],
  }
  for (let turn = 0; turn < 2; turn++) {
    t.equal((await post('/v1/responses', body)).status, 200)
    t.match(server.requests.at(-1)?.tools, [{ type: 'function', name: 'files__look' }])
    t.equal(rejected, 1)
  }
})
