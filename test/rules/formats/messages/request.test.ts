/** Requests of the Messages API, as chat completion requests. */
import t from 'tap'
import { seal, findRefusedField, toMessages, translate } from '../../../support/formats/messages/translate.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const imageBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
const imagePart = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })
const toolUse = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'look', input })
const toolResult = (id: string, content?: unknown, rest: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...rest,
})
const call = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'look', arguments: args } })
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })

t.test('translates the fields of a request', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  for (const [name, body, expected] of [
    ['only what is required', {}, { model: 'svc-2.1', max_tokens: 100 }],
    ['a stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ['no stream', { stream: false }, {}],
    ['numbers', { temperature: 0.5, top_p: 0.9, top_k: 3 }, { temperature: 0.5, top_p: 0.9, top_k: 3 }],
    ['null for an absent field', { temperature: null, tools: null, stop_sequences: null, system: null }, {}],
    ['stop sequences', { stop_sequences: ['</block>'] }, { stop: ['</block>'] }],
    ['the default effort', { output_config: { effort: 'high' }, thinking: { type: 'adaptive', display: 'omitted' } }, {}],
    ['a low effort', { output_config: { effort: 'low' } }, { reasoning_effort: 'low' }],
    ['the highest effort', { output_config: { effort: 'max' } }, { reasoning_effort: 'high' }],
    ['an effort beside disabled thinking', { output_config: { effort: 'low' }, thinking: { type: 'disabled' } }, {}],
    ['a small budget', { thinking: { type: 'enabled', budget_tokens: 1024 } }, { reasoning_effort: 'low' }],
    ['a medium budget', { thinking: { type: 'enabled', budget_tokens: 8192 } }, { reasoning_effort: 'medium' }],
    ['a large budget', { thinking: { type: 'enabled', budget_tokens: 30_000 } }, { reasoning_effort: 'high' }],
    ['an unknown effort', { output_config: { effort: 'constructor' } }, {}],
    [
      'an output format',
      { output_config: { format: { type: 'json_schema', schema } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } } },
    ],
    [
      'an output format with an optional property, by its earlier name',
      { output_format: { type: 'json_schema', schema: { ...schema, required: [] } } },
      { response_format: { type: 'json_schema', json_schema: { strict: false } } },
    ],
    [
      'an output format that allows other properties',
      { output_config: { format: { type: 'json_schema', schema: { ...schema, additionalProperties: true } } } },
      { response_format: { type: 'json_schema', json_schema: { strict: false } } },
    ],
  ] as const) {
    const { chat, ignored } = translate(body)
    const { messages: _, model, max_tokens: cap, ...rest } = chat
    const { model: expectedModel = model, max_tokens: expectedCap = cap, ...expectedRest } = expected as typeof chat
    t.match(rest, expectedRest, name)
    t.same(Object.keys(rest), Object.keys(expectedRest), name)
    t.same([model, cap], [expectedModel, expectedCap], name)
    t.same(ignored, [], name)
  }
})

t.test('names the fields that it leaves out', async (t) => {
  const { ignored } = translate({
    safeguards: [{ type: 'dangerous_tool_use' }],
    speed: 'fast',
    inference_geo: null,
    metadata: { user_id: 'u' },
    context_management: {},
    tools: [
      { name: 'look', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
    messages: [user([{ type: 'mystery' }, { type: 'text', text: 'Hi' }]), assistant([{ type: 'server_tool_use', id: 's' }])],
  })
  t.same(ignored.toSorted(), ['messages.mystery', 'messages.server_tool_use', 'safeguards', 'speed', 'tools.web_search_20250305'])
})

t.test('joins the system prompt and leaves out the line that names the version of Claude Code', async (t) => {
  const chat = translate({
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.330; cc_entrypoint=cli;' },
      { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be brief.' },
    ],
  }).chat
  t.match(chat['messages'], [
    { role: 'system', content: 'You are an agent.\n\nBe brief.' },
    { role: 'user', content: 'Hello' },
  ])
  t.match(translate({ system: 'Be brief.' }).chat['messages'], [{ role: 'system', content: 'Be brief.' }])
})

t.test('builds a conversation that model servers accept', async (t) => {
  for (const [name, messages, expected] of [
    ['a string', [user('Hi')], [{ role: 'user', content: 'Hi' }]],
    [
      'text blocks, of which one is empty',
      [
        user([
          { type: 'text', text: 'One' },
          { type: 'text', text: '' },
          { type: 'text', text: 'Two' },
        ]),
      ],
      [{ role: 'user', content: 'One\n\nTwo' }],
    ],
    ['an image', [user([{ type: 'text', text: 'Look' }, imageBlock])], [user([{ type: 'text', text: 'Look' }, imagePart])]],
    [
      'an image at an address',
      [user([{ type: 'image', source: { type: 'url', url: 'https://images.example/a.png' } }])],
      [user([{ type: 'image_url', image_url: { url: 'https://images.example/a.png' } }])],
    ],
    [
      'documents',
      [
        user([
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Plain' } },
          { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Blocks' }] } },
          { type: 'search_result', title: 'Title', source: 'https://a.example', content: [{ type: 'text', text: 'Found' }] },
        ]),
      ],
      [user('Plain\n\nBlocks\n\nTitle\nhttps://a.example\nFound')],
    ],
    [
      'a document of texts and pictures',
      [
        user([
          {
            type: 'document',
            source: {
              type: 'content',
              content: [
                { type: 'text', text: 'One' },
                { type: 'text', text: 'Two' },
                imageBlock,
                { type: 'text', text: 'Three' },
              ],
            },
          },
        ]),
      ],
      [user([{ type: 'text', text: 'One\nTwo' }, imagePart, { type: 'text', text: 'Three' }])],
    ],
    [
      'a document of one picture',
      [user([{ type: 'document', source: { type: 'content', content: [imageBlock] } }])],
      [user([imagePart])],
    ],
    [
      'a PDF document',
      [user([{ type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }])],
      [user([{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }])],
    ],
    [
      'a system message within the conversation',
      [user('Hi'), { role: 'system', content: [{ type: 'text', text: 'One' }] }, assistant('Yes')],
      [user('Hi\n\n<system>\nOne\n</system>'), assistant('Yes')],
    ],
    [
      'the same message as the string that it becomes later',
      [user('Hi'), { role: 'system', content: 'One' }, assistant('Yes')],
      [user('Hi\n\n<system>\nOne\n</system>'), assistant('Yes')],
    ],
    [
      'a system message before all others',
      [{ role: 'system', content: 'One' }, user('Hi')],
      [{ role: 'system', content: 'One' }, user('Hi')],
    ],
    [
      'parallel calls with results in another order, and text after them',
      [
        user('Hi'),
        assistant([{ type: 'text', text: 'Two.' }, toolUse('a', { x: 1 }), toolUse('b')]),
        user([toolResult('b', 'B'), { type: 'text', text: 'Go on' }, toolResult('a', [{ type: 'text', text: 'A' }])]),
      ],
      [
        user('Hi'),
        { role: 'assistant', content: 'Two.', tool_calls: [call('a', '{"x":1}'), call('b')] },
        result('a', 'A'),
        result('b', 'B'),
        user('Go on'),
      ],
    ],
    [
      'results that are an error, empty, or absent',
      [
        user('Hi'),
        assistant([toolUse('a'), toolUse('b'), toolUse('c')]),
        user([toolResult('a', 'no', { is_error: true }), toolResult('b', [])]),
      ],
      [
        user('Hi'),
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b'), call('c')] },
        result('a', 'Error: no'),
        result('b', '(no output)'),
        result('c', '(no output)'),
      ],
    ],
    [
      'a result with an image',
      [user('Hi'), assistant([toolUse('a')]), user([toolResult('a', [{ type: 'text', text: 'Drawn' }, imageBlock])])],
      [
        user('Hi'),
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        result('a', 'Drawn\nThe result is attached below.'),
        user([{ type: 'text', text: 'Attached to the result of the tool call a:' }, imagePart]),
      ],
    ],
    [
      'a result with a PDF document',
      [
        user('Hi'),
        assistant([toolUse('a')]),
        user([
          toolResult('a', [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }]),
        ]),
      ],
      [
        user('Hi'),
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        result('a', 'The result is attached below.'),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Attached to the result of the tool call a:' },
            { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          ],
        },
      ],
    ],
    [
      'a result that names tools',
      [user('Hi'), assistant([toolUse('a')]), user([toolResult('a', [{ type: 'tool_reference', tool_name: 'mcp__x' }])])],
      [user('Hi'), { role: 'assistant', content: null, tool_calls: [call('a')] }, result('a', 'Tool: mcp__x')],
    ],
    [
      'a result of a call that the history does not have',
      [user([toolResult('gone', 'old')]), assistant('Yes')],
      [user('Result of the tool call gone:\nold'), assistant('Yes')],
    ],
    [
      'a call without an id, which Claude Code did not run',
      [user('Hi'), assistant([toolUse('')]), user([toolResult('', 'not run', { is_error: true })])],
      [user('Hi'), { role: 'assistant', content: null, tool_calls: [call('call_0')] }, result('call_0', 'Error: not run')],
    ],
    [
      'two calls of the same id',
      [user('Hi'), assistant([toolUse('a'), toolUse('a')]), user([toolResult('a', 'one'), toolResult('a', 'two')])],
      [
        user('Hi'),
        { role: 'assistant', content: null, tool_calls: [call('a'), call('a_1')] },
        result('a', 'one'),
        result('a_1', 'two'),
      ],
    ],
    [
      'two messages of the assistant in a row, and a beginning of its answer',
      [
        user('Hi'),
        assistant('One'),
        assistant([{ type: 'text', text: 'Two' }, toolUse('a')]),
        user([toolResult('a', 'A')]),
        assistant('So'),
      ],
      [user('Hi'), { role: 'assistant', content: 'One\n\nTwo', tool_calls: [call('a')] }, result('a', 'A'), assistant('So')],
    ],
    [
      'a message of the assistant with an empty text',
      [user('Hi'), assistant([{ type: 'text', text: '' }]), user('Go on')],
      [user('Hi'), user('Go on')],
    ],
  ] as const)
    t.same(toMessages(...messages), expected, name)
})

t.test('returns reasoning to the model that wrote it, in the field that it used', async (t) => {
  const container = seal('svc-2.1\nreasoning_content\nI think.\nSo.')
  const answer = (...blocks: readonly object[]) => [
    user('Hi'),
    assistant([...blocks, toolUse('a')]),
    user([toolResult('a', 'A')]),
  ]
  const getTurn = (messages: readonly unknown[]) => (toMessages(...messages) as unknown[])[1]
  for (const [name, blocks, fields] of [
    ['its own', [{ type: 'thinking', thinking: 'x', signature: container }], { reasoning_content: 'I think.\nSo.' }],
    ['in another field', [{ type: 'thinking', thinking: '', signature: seal('svc-2.1\nreasoning\nHm.') }], { reasoning: 'Hm.' }],
    [
      'two stretches',
      [
        { type: 'thinking', thinking: 'x', signature: container },
        { type: 'thinking', thinking: 'x', signature: seal('svc-2.1\nreasoning_content\nMore.') },
      ],
      { reasoning_content: 'I think.\nSo.\n\nMore.' },
    ],
    [
      'of another model',
      [{ type: 'thinking', thinking: 'x', signature: seal('svc-1\nreasoning_content\nI think.') }],
      { reasoning_content: 'I think.' },
    ],
    ['of another service', [{ type: 'thinking', thinking: 'x', signature: 'EqQBCgIYAhIM' }], { reasoning_content: 'x' }],
    ['without a signature', [{ type: 'thinking', thinking: 'x', signature: '' }], { reasoning_content: 'x' }],
    ['without a text', [{ type: 'thinking', thinking: '', signature: 'EqQBCgIYAhIM' }], {}],
    ['redacted', [{ type: 'redacted_thinking', data: 'EqQB' }], {}],
  ] as const)
    t.same(getTurn(answer(...blocks)), { role: 'assistant', content: null, ...fields, tool_calls: [call('a')] }, name)
  t.match(
    getTurn([user('Hi'), assistant('One.'), ...answer({ type: 'thinking', thinking: 'x', signature: container }).slice(1)]),
    { content: 'One.', reasoning_content: 'I think.\nSo.' },
    'two messages in a row',
  )
  const [first, second] = [answer({ type: 'thinking', thinking: 'x', signature: container }), [assistant('Done.'), user('Next')]]
  t.same(
    (toMessages(...first, ...second) as unknown[]).slice(0, 3),
    toMessages(...first),
    'a later request begins with the same messages, for the cache of the upstream',
  )
})

t.test('translates tools and the choice of a tool', async (t) => {
  const schema = { type: 'object', properties: { word: { type: 'string' } } }
  const look = { name: 'look', description: 'Looks.', input_schema: schema }
  const lookFunction = { type: 'function', function: { name: 'look', description: 'Looks.', parameters: schema } }
  const longName = `mcp__server__${'x'.repeat(80)}`
  for (const [name, body, expected] of [
    ['a tool', { tools: [look] }, { tools: [lookFunction] }],
    [
      'a tool of the type custom',
      { tools: [{ type: 'custom', ...look, strict: true }] },
      { tools: [{ function: { strict: true } }] },
    ],
    [
      'fields that only Anthropic’s servers need',
      { tools: [{ ...look, defer_loading: true, input_examples: [], cache_control: { type: 'ephemeral' } }] },
      { tools: [lookFunction] },
    ],
    ['a tool without a schema', { tools: [{ name: 'look' }] }, { tools: [{ function: { parameters: { type: 'object' } } }] }],
    [
      'a hosted tool beside others',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }, look] },
      { tools: [lookFunction] },
    ],
    ['any tool', { tools: [look], tool_choice: { type: 'any' } }, { tools: [lookFunction], tool_choice: 'required' }],
    ['no tool', { tools: [look], tool_choice: { type: 'none' } }, { tools: [lookFunction], tool_choice: 'none' }],
    [
      'one call at a time',
      { tools: [look], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      { tools: [lookFunction], tool_choice: 'auto', parallel_tool_calls: false },
    ],
    [
      'a certain tool',
      { tools: [look], tool_choice: { type: 'tool', name: 'look' } },
      { tools: [lookFunction], tool_choice: { type: 'function', function: { name: 'look' } } },
    ],
    ['a choice without tools', { tool_choice: { type: 'auto' } }, {}],
  ] as const) {
    const { messages: _, model: _model, max_tokens: _cap, ...rest } = translate(body).chat
    t.match(rest, expected, name)
    t.same(Object.keys(rest), Object.keys(expected), name)
  }
  const { chat, state } = translate({
    tools: [{ name: longName }],
    tool_choice: { type: 'tool', name: longName },
    messages: [user('Hi'), assistant([{ ...toolUse('a'), name: longName }]), user([toolResult('a', 'A')])],
  })
  const [short] = state.toolNames.keys()
  t.equal(short?.length, 64)
  t.equal(state.toolNames.get(short ?? ''), longName)
  t.match(chat, {
    tools: [{ function: { name: short } }],
    tool_choice: { function: { name: short } },
    messages: [{}, { tool_calls: [{ function: { name: short } }] }],
  })
})

t.test('names the field that it refuses', async (t) => {
  const inUser = (block: unknown) => ({ messages: [user([block])] })
  const inAssistant = (block: unknown) => ({ messages: [user('Hi'), assistant([block])] })
  const webSearch = { type: 'web_search_20250305', name: 'web_search' }
  for (const [path, body] of [
    ['model', { model: '' }],
    ['model', { model: undefined }],
    ['max_tokens', { max_tokens: undefined }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: '5' }],
    ['messages', { messages: [] }],
    ['messages', { messages: 'Hi' }],
    ['messages[0]', { messages: ['Hi'] }],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'Hi' }] }],
    ['messages[0].content', { messages: [user(7)] }],
    ['messages[0].content[0]', inUser('Hi')],
    ['messages[0].content[0]', inUser({ text: 'Hi' })],
    ['messages[0].content[0].text', inUser({ type: 'text' })],
    ['messages[0].content[0].source', inUser({ type: 'image' })],
    ['messages[0].content[0].source', inUser({ type: 'image', source: { type: 'file', file_id: 'f' } })],
    ['messages[0].content[0].source', inUser({ ...imageBlock, source: { ...imageBlock.source, type: 'other' } })],
    [
      'messages[0].content[0].source.media_type',
      inUser({ type: 'image', source: { ...imageBlock.source, media_type: 'text/html' } }),
    ],
    ['messages[0].content[0].source.data', inUser({ type: 'image', source: { ...imageBlock.source, data: 'PHN2Zz4=' } })],
    ['messages[0].content[0].source.url', inUser({ type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } })],
    ['messages[0].content[0].source', inUser({ type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } })],
    ['messages[0].content[0]', inUser({ type: 'container_upload', file_id: 'f' })],
    ['messages[0].content[0].tool_use_id', inUser({ type: 'tool_result', content: 'x' })],
    ['messages[0].content[0].content', inUser({ type: 'tool_result', tool_use_id: 'a', content: 7 })],
    ['messages[0].content[0].content[0].source', inUser(toolResult('a', [{ type: 'image' }]))],
    ['messages[1].content[0].id', inAssistant({ type: 'tool_use', name: 'look', input: {} })],
    ['messages[1].content[0].name', inAssistant({ type: 'tool_use', id: 'a', input: {} })],
    ['messages[1].content[0].input', inAssistant(toolUse('a', 'text'))],
    ['messages[1].content[0].text', inAssistant({ type: 'text', text: null })],
    ['system[0].text', { system: [{ type: 'text' }] }],
    ['system', { system: 7 }],
    ['stream', { stream: 'yes' }],
    ['temperature', { temperature: '1' }],
    ['stop_sequences', { stop_sequences: 'x' }],
    ['stop_sequences[1]', { stop_sequences: ['x', ''] }],
    ['tools', { tools: {} }],
    ['tools[0]', { tools: ['look'] }],
    ['tools[0].name', { tools: [{}] }],
    ['tools[0].input_schema', { tools: [{ name: 'look', input_schema: 'x' }] }],
    ['tools[0].type', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
    ['tools[0].type', { tools: [webSearch] }],
    ['tool_choice.name', { tools: [webSearch, { name: 'look' }], tool_choice: { type: 'tool', name: 'web_search' } }],
    ['tool_choice.name', { tools: [{ name: 'look' }], tool_choice: { type: 'tool', name: 'other' } }],
    ['tool_choice.type', { tools: [{ name: 'look' }], tool_choice: { type: 'constructor' } }],
    ['tool_choice', { tool_choice: 'auto' }],
    ['output_config.format.type', { output_config: { format: { type: 'text' } } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
    ['output_format', { output_format: 'json' }],
    ['container', { container: 'c' }],
    ['mcp_servers', { mcp_servers: [{ url: 'https://a.example' }] }],
  ] as const)
    t.equal(findRefusedField(body), path, `${path} of ${JSON.stringify(body)}`)
  t.equal(findRefusedField({ mcp_servers: [] }), null)
  const forced = { tools: [webSearch, { name: 'look' }], tool_choice: { type: 'tool', name: 'web_search' } }
  t.throws(() => translate(forced), { message: /a tool that this service does not run/ })
})
