/** Requests of the Responses API, and the chat requests that they become. */
import t from 'tap'
import { createEncoder, findRefusal, seal, toMessages, translate } from './translate.ts'

const user = { role: 'user', content: 'Hello' }
const png = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=='
const image = { type: 'image_url', image_url: { url: png } }
const call = (id: string, name = 'look') => ({ type: 'function_call', call_id: id, name, arguments: '{"a":1}' })
const output = (id: string, text: unknown = 'found') => ({ type: 'function_call_output', call_id: id, output: text })
const toolCall = (id: string, name = 'look', args = '{"a":1}') => ({ id, type: 'function', function: { name, arguments: args } })

t.test('translates fields', async (t) => {
  for (const [name, body, expected] of [
    ['a text', {}, { model: 'svc-2.1', messages: [user] }],
    ['instructions', { instructions: 'Be short.' }, { messages: [{ role: 'system', content: 'Be short.' }, user] }],
    ['a stream', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ['no stream', { stream: false }, { stream: undefined }],
    ['the cap', { max_output_tokens: 9 }, { max_completion_tokens: 9, max_output_tokens: undefined }],
    ['sampling', { temperature: 0, top_p: 0.5 }, { temperature: 0, top_p: 0.5 }],
    ['effort', { reasoning: { effort: 'low', summary: 'auto' } }, { reasoning_effort: 'low', reasoning: undefined }],
    ['a summary only', { reasoning: { summary: 'auto' } }, { reasoning_effort: undefined, reasoning: undefined }],
    ['verbosity', { text: { verbosity: 'low' } }, { verbosity: 'low', text: undefined }],
    ['JSON', { text: { format: { type: 'json_object' } } }, { response_format: { type: 'json_object' } }],
    [
      'a schema',
      { text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } } },
      { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' }, strict: true } } },
    ],
    ['the cache key', { prompt_cache_key: 'k' }, { prompt_cache_key: 'k' }],
  ] as const)
    t.match(translate(body).chat, expected, name)
  t.notOk('verbosity' in translate({ text: {} }).chat, 'a field that was not sent is not in the chat request')
})

t.test('names the ignored fields that request something', async (t) => {
  for (const [body, expected] of [
    [{ store: false, include: ['reasoning.encrypted_content'], client_metadata: { a: 'b' }, metadata: {} }, []],
    [{ truncation: 'disabled', service_tier: 'auto', top_logprobs: 0, background: false, previous_response_id: null }, []],
    [{ store: true }, ['store']],
    [{ truncation: 'auto', service_tier: 'flex', max_tool_calls: 2 }, ['truncation', 'service_tier', 'max_tool_calls']],
    [{ a_new_field: 1 }, ['a_new_field']],
    [
      {
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'web_search_call', id: 'ws_1' },
        ],
      },
      ['input.web_search_call'],
    ],
    [{ tools: [{ type: 'function', name: 'look' }, { type: 'web_search' }] }, ['tools.web_search']],
  ] as const)
    t.same(translate(body).ignored, expected, JSON.stringify(body))
})

t.test('refuses what it cannot honour, with the path of the field', async (t) => {
  for (const [param, body] of [
    ['model', { model: '' }],
    ['input', { input: undefined }],
    ['input', { input: [] }],
    ['input', { input: 7 }],
    ['input[0]', { input: ['text'] }],
    ['input[0].type', { input: [{}] }],
    ['input[0].role', { input: [{ role: 'wizard', content: 'x' }] }],
    ['input[0].content', { input: [{ role: 'user', content: 7 }] }],
    [
      'input[0].content[1].type',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }, { type: 'hologram' }] }] },
    ],
    ['input[0].content[0].text', { input: [{ role: 'user', content: [{ type: 'input_text' }] }] }],
    ['input[0].content[0].file_id', { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }],
    ['input[0].content[0].image_url', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'red.png' }] }] }],
    [
      'input[0].content[0].image_url',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,aGVsbG8=' }] }] },
    ],
    ['input[0].content[0].image_url', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: `${png}%` }] }] }],
    ['input[0].content[0].file_url', { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://x' }] }] }],
    ['input[0].output[0].type', { input: [{ type: 'function_call_output', call_id: 'a', output: [{ type: 'x' }] }] }],
    ['input[0].call_id', { input: [{ type: 'function_call', name: 'a', arguments: '{}' }] }],
    ['input[0].name', { input: [{ type: 'function_call', call_id: 'a', arguments: '{}' }] }],
    ['input[0].arguments', { input: [{ type: 'function_call', call_id: 'a', name: 'a', arguments: {} }] }],
    ['input[0].input', { input: [{ type: 'custom_tool_call', call_id: 'a', name: 'a' }] }],
    [
      'input[1]',
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'item_reference', id: 'msg_1' },
        ],
      },
    ],
    ['input[0]', { input: [{ id: 'msg_1' }] }],
    ['input[0]', { input: [{ type: 'compaction', encrypted_content: 'x' }] }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'p' } }],
    ['background', { background: true }],
    ['context_management', { context_management: [{ type: 'compaction' }] }],
    ['stream', { stream: 'yes' }],
    ['max_output_tokens', { max_output_tokens: 0 }],
    ['temperature', { temperature: 'hot' }],
    ['parallel_tool_calls', { parallel_tool_calls: 'yes' }],
    ['instructions', { instructions: [] }],
    ['text.format.type', { text: { format: { type: 'xml' } } }],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'a' } } }],
    ['reasoning', { reasoning: 'high' }],
    ['tools', { tools: {} }],
    ['tools[0].type', { tools: [{}] }],
    ['tools[0].name', { tools: [{ type: 'function' }] }],
    ['tools[0].parameters', { tools: [{ type: 'function', name: 'a', parameters: 'x' }] }],
    ['tools[0].tools[0].name', { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }] }],
    ['tools[0]', { tools: [{ type: 'web_search' }] }],
    ['tool_choice', { tools: [{ type: 'function', name: 'a' }], tool_choice: { type: 'web_search' } }],
    ['tool_choice', { tools: [{ type: 'function', name: 'a' }], tool_choice: 'maybe' }],
    ['tool_choice.name', { tools: [{ type: 'function', name: 'a' }], tool_choice: { type: 'function', name: 'b' } }],
  ] as const)
    t.equal(findRefusal(body)?.param, param, JSON.stringify(body))
  t.match(findRefusal({ input: [{ type: 'item_reference', id: 'm' }] })?.message, /providerOptions\.openai\.store = false/)
  t.match(findRefusal({ previous_response_id: 'r' })?.message, /Send the whole conversation in `input`/)
})

t.test('writes a conversation as messages', async (t) => {
  for (const [name, items, expected] of [
    ['a message without a type', [{ role: 'user', content: 'Hello' }], [user]],
    [
      'leading developer messages as one system message',
      [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'A' }] },
        {
          type: 'message',
          role: 'system',
          content: [
            { type: 'input_text', text: 'B' },
            { type: 'input_text', text: 'C' },
          ],
        },
        { role: 'user', content: 'Hello' },
        { role: 'developer', content: 'D' },
      ],
      [{ role: 'system', content: 'A\n\nB\nC' }, user, { role: 'developer', content: 'D' }],
    ],
    [
      'an image between texts',
      [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'See' },
            { type: 'input_image', image_url: png, detail: 'original' },
          ],
        },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { ...image, image_url: { url: png, detail: 'high' } },
          ],
        },
      ],
    ],
    [
      'a file and a recording',
      [
        {
          role: 'user',
          content: [
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
            { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
          ],
        },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
            { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
          ],
        },
      ],
    ],
    [
      'text, parallel calls and results as one turn',
      [
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'Let me ' },
            { type: 'output_text', text: 'look.' },
          ],
        },
        call('a'),
        call('b'),
        output('b', 'second'),
        output('a', 'first'),
      ],
      [
        user,
        { role: 'assistant', content: 'Let me look.', tool_calls: [toolCall('a'), toolCall('b')] },
        { role: 'tool', tool_call_id: 'a', content: 'first' },
        { role: 'tool', tool_call_id: 'b', content: 'second' },
      ],
    ],
    [
      'results directly after their calls, whatever stands between them',
      [call('a'), { role: 'user', content: 'Hello' }, output('a')],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'found' },
        user,
      ],
    ],
    [
      'calls of two turns with one id',
      [call('a'), output('a', 'one'), call('a'), output('a', 'two')],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'one' },
        { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'two' },
      ],
    ],
    [
      'a result of the newest call of its id',
      [call('a'), { role: 'user', content: 'Hello' }, call('a'), output('a', 'two')],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'This call has no result.' },
        user,
        { role: 'assistant', content: null, tool_calls: [toolCall('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'two' },
      ],
    ],
    [
      'a call without arguments',
      [{ ...call('a'), arguments: '' }, output('a')],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a', 'look', '{}')] },
        { role: 'tool', tool_call_id: 'a', content: 'found' },
      ],
    ],
    [
      'two calls of one turn with one id',
      [call('a'), call('a'), output('a', 'one'), output('a', 'two')],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a'), toolCall('a_1')] },
        { role: 'tool', tool_call_id: 'a', content: 'one' },
        { role: 'tool', tool_call_id: 'a_1', content: 'two' },
      ],
    ],
    [
      'a call without a result, and an empty result',
      [call('a'), call('b'), output('b', '')],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a'), toolCall('b')] },
        { role: 'tool', tool_call_id: 'a', content: 'This call has no result.' },
        { role: 'tool', tool_call_id: 'b', content: '(no output)' },
      ],
    ],
    ['a result without a call', [output('z', 'late')], [{ role: 'user', content: 'Result of the tool call z:\nlate' }]],
    [
      'images of results after all results',
      [
        call('a'),
        call('b'),
        output('a', [
          { type: 'input_text', text: 'found x' },
          { type: 'input_image', image_url: png },
        ]),
        output('b'),
      ],
      [
        { role: 'assistant', content: null, tool_calls: [toolCall('a'), toolCall('b')] },
        { role: 'tool', tool_call_id: 'a', content: 'found x\nThe result is attached below.' },
        { role: 'tool', tool_call_id: 'b', content: 'found' },
        { role: 'user', content: [{ type: 'text', text: 'Attached to the result of the tool call a:' }, image] },
      ],
    ],
    [
      'a message to another agent of Codex',
      [
        {
          type: 'agent_message',
          author: '/root',
          content: [
            { type: 'input_text', text: 'Payload:' },
            { type: 'encrypted_content', encrypted_content: 'SUBTASK' },
          ],
        },
      ],
      [{ role: 'user', content: 'Payload:\nSUBTASK' }],
    ],
    [
      'a shell call of older versions of Codex',
      [
        { type: 'local_shell_call', call_id: 'a', action: { type: 'exec', command: ['ls'] } },
        { type: 'local_shell_call_output', id: 'a', output: 'x' },
      ],
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [toolCall('a', 'local_shell', '{"type":"exec","command":["ls"]}')],
        },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
    ],
  ] as const)
    t.same(toMessages(...items), expected, name)
})

t.test('returns reasoning to the model, and drops what it cannot read', async (t) => {
  const reasoning = (container: unknown) => ({
    type: 'reasoning',
    id: 'r',
    summary: [],
    content: null,
    encrypted_content: container,
  })
  const own = seal('svc-2.1\nreasoning_content\nI think so.\nYes.')
  const turn = { role: 'assistant', content: null, tool_calls: [toolCall('a')] }
  const result = { role: 'tool', tool_call_id: 'a', content: 'found' }
  t.same(toMessages(reasoning(own), call('a'), output('a')), [{ ...turn, reasoning_content: 'I think so.\nYes.' }, result])
  t.same(
    toMessages(reasoning(seal('svc-2.1\nreasoning\nHm.')), call('a'), output('a')),
    [{ ...turn, reasoning: 'Hm.' }, result],
    'in the field of the upstream that wrote it',
  )
  const plain = [{ ...turn, reasoning_content: 'I think so.' }, result]
  for (const [name, item] of [
    ['of another model', reasoning(seal('svc-2.1-fast\nreasoning_content\nI think so.'))],
    ['a summary of another service', { ...reasoning('gAAAA'), summary: [{ type: 'summary_text', text: 'I think so.' }] }],
    ['a text of open weights', { ...reasoning(null), content: [{ type: 'reasoning_text', text: 'I think so.' }] }],
  ] as const)
    t.same(toMessages(item, call('a'), output('a')), plain, name)
  for (const [name, container] of [
    ['of another service', 'gAAAA'],
    ['of an unknown field', seal('svc-2.1\ncontent\nI think so.')],
    ['none', null],
  ] as const)
    t.same(toMessages(reasoning(container), call('a'), output('a')), [turn, result], name)
})

t.test('translates tools, and restores their names and types', async (t) => {
  const custom = {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  }
  const { chat } = translate({
    tools: [
      { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: false },
      { type: 'function', name: 'bare', parameters: null },
      { type: 'namespace', name: 'mcp__docs', description: '', tools: [{ type: 'function', name: 'search' }, custom] },
      { type: 'tool_search', execution: 'client', description: 'Finds tools.' },
      custom,
      { type: 'web_search' },
    ],
    parallel_tool_calls: false,
    tool_choice: { type: 'custom', name: 'apply_patch' },
  })
  t.match(chat, {
    tools: [
      { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: false } },
      { type: 'function', function: { name: 'bare', parameters: { type: 'object', properties: {} } } },
      { type: 'function', function: { name: 'mcp__docs__search' } },
      { type: 'function', function: { name: 'mcp__docs__apply_patch', parameters: { required: ['input'] } } },
      { type: 'function', function: { name: 'tool_search', description: 'Finds tools.' } },
      { type: 'function', function: { name: 'apply_patch', description: /^Edits files\.[^]*lark grammar:\nstart: "x"$/ } },
    ],
    parallel_tool_calls: false,
    tool_choice: { type: 'function', function: { name: 'apply_patch' } },
  })
  t.equal((chat['tools'] as unknown[]).length, 6)
})

t.test('a tool that is declared twice is one, and its own name comes before that of a namespace', async (t) => {
  const exec = { type: 'function', name: 'exec' }
  const { chat } = translate({
    tools: [exec, { type: 'namespace', name: 'functions', tools: [exec] }, exec],
    input: [{ ...call('a', 'exec') }, output('a')],
  })
  t.same(
    (chat['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name),
    ['exec', 'functions__exec'],
  )
  t.hasStrict(chat['messages'], [{ tool_calls: [{ function: { name: 'exec' } }] }])
})

t.test('shortens names that no server accepts, without mixing them up', async (t) => {
  const long = 'x'.repeat(60)
  const { chat, state } = translate({
    tools: [
      {
        type: 'namespace',
        name: 'mcp.täst',
        tools: [
          { type: 'function', name: `${long}a` },
          { type: 'function', name: `${long}b` },
        ],
      },
    ],
  })
  const names = (chat['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name)
  t.equal(new Set(names).size, 2)
  for (const name of names) t.match(name, /^[\w-]{1,64}$/)
  t.same(
    [...state.tools.values()].map(({ name }) => name),
    [`${long}a`, `${long}b`],
  )
})

t.test('keeps the tools that may be called', async (t) => {
  const tools = [{ type: 'function', name: 'a' }, { type: 'function', name: 'b' }, { type: 'web_search' }]
  const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }, { type: 'web_search' }] }
  const { chat } = translate({ tools, tool_choice: choice })
  t.match(chat, { tools: [{ function: { name: 'b' } }], tool_choice: 'required' })
  t.equal((chat['tools'] as unknown[]).length, 1)
  const none = translate({ tools: [{ type: 'web_search' }], tool_choice: 'none', parallel_tool_calls: true })
  t.notOk('tools' in none.chat || 'tool_choice' in none.chat || 'parallel_tool_calls' in none.chat)
})

t.test('reads tools that stand in the input', async (t) => {
  const { chat } = translate({
    input: [
      {
        type: 'additional_tools',
        role: 'developer',
        tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }],
      },
      { role: 'user', content: 'Hello' },
      { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'q' } },
      { type: 'tool_search_output', call_id: 's', execution: 'client', tools: [{ type: 'function', name: 'found' }] },
      { type: 'custom_tool_call', call_id: 'c', name: 'exec', input: 'text("x")' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
    ],
  })
  t.match(chat, {
    tools: [{ function: { name: 'functions__exec' } }, { function: { name: 'found' } }],
    messages: [
      user,
      { tool_calls: [{ function: { name: 'tool_search', arguments: '{"query":"q"}' } }] },
      { role: 'tool', tool_call_id: 's', content: /found/ },
      // The history has the name without its namespace; only one tool has it.
      { tool_calls: [{ function: { name: 'functions__exec', arguments: '{"input":"text(\\"x\\")"}' } }] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
  })
})

t.test('the state of a request can be sent to another thread', async (t) => {
  const { state } = translate({ tools: [{ type: 'function', name: 'look' }], metadata: { a: 'b' } })
  t.same(structuredClone(state), state)
  t.ok(createEncoder({ tools: [{ type: 'function', name: 'look' }] }))
})
