/** Chunks of chat completions, and the events of the Responses API that they become. */
import t from 'tap'
import { GatewayError } from '../../../../src/errors.ts'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { toChunk } from '../../../support/formats/random-chunks.ts'
import { createEncoder, pushChunk, encodeStream, parseEvents, usageChunk, writeWhole } from '../../formats/responses/translate.ts'
import type { ResponseEvent } from '../../formats/responses/translate.ts'

const piece = (index: number, fields: JsonObject) => ({ index, type: 'function', ...fields })
const begin = (index: number, id: string, name: string, args = '') => piece(index, { id, function: { name, arguments: args } })
const more = (index: number, args: string) => piece(index, { function: { arguments: args } })
const tools = [
  { type: 'function', name: 'look' },
  { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] },
  { type: 'tool_search', execution: 'client' },
]

/** Types without `response.`, with what they add. */
function outline(events: readonly ResponseEvent[]): readonly string[] {
  return events.map(({ type, ...event }) => {
    const added = event['delta'] ?? (event['item'] as JsonObject | undefined)?.['type'] ?? event['text'] ?? event['arguments']
    return type.replace('response.', '') + (added === undefined ? '' : ` ${String(added)}`)
  })
}

const encode = (chunks: readonly JsonObject[], request: JsonObject = {}) =>
  parseEvents(encodeStream(chunks, { tools, ...request }))
const getOutput = (events: readonly ResponseEvent[]) =>
  (events.at(-1) as unknown as { response: { output: JsonObject[] } }).response.output
const getItemsDone = (events: readonly ResponseEvent[]) =>
  events.flatMap((event) => (event.type === 'response.output_item.done' ? [event['item'] as JsonObject] : []))

t.test('streams reasoning, text and calls as items', async (t) => {
  const events = encode([
    toChunk({ role: 'assistant', content: '' }),
    toChunk({ reasoning_content: 'Hm' }),
    toChunk({ content: 'Hel' }),
    toChunk({ content: 'lo', tool_calls: [] }),
    toChunk({ tool_calls: [begin(0, 'call_a', 'look', '{"a"')] }),
    toChunk({ tool_calls: [more(0, ':1}')] }),
    toChunk({}, 'tool_calls'),
  ])
  t.same(outline(events), [
    'created',
    'in_progress',
    'output_item.added reasoning',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta Hm',
    'reasoning_summary_text.done Hm',
    'reasoning_summary_part.done',
    'output_item.done reasoning',
    'output_item.added message',
    'content_part.added',
    'output_text.delta Hel',
    'output_text.delta lo',
    'output_text.done Hello',
    'content_part.done',
    'output_item.done message',
    'output_item.added function_call',
    'function_call_arguments.delta {"a"',
    'function_call_arguments.delta :1}',
    'function_call_arguments.done {"a":1}',
    'output_item.done function_call',
    'completed',
  ])
  t.same(
    events.map((event) => event.sequence_number),
    events.map((_, i) => i),
  )
  t.match(events.at(-1)?.['response'], {
    id: 'resp_1',
    status: 'completed',
    completed_at: 1_700_000_001,
    store: false,
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 27,
    },
  })
  t.same(getOutput(events), getItemsDone(events), 'the last event repeats the items')
  t.same(getOutput(events), [
    {
      id: 'rs_1_0',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Hm' }],
      encrypted_content: 'sealed:svc-2.1\nreasoning_content\nHm',
      status: 'completed',
    },
    {
      id: 'msg_1_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
    },
    { id: 'fc_1_2', type: 'function_call', call_id: 'call_a', name: 'look', arguments: '{"a":1}', status: 'completed' },
  ])
  t.match(encodeStream([toChunk({ content: 'x' }, 'stop')]), /data: \[DONE\]\n\n$/)
})

t.test('the whole answer has the items of the stream', async (t) => {
  const message = { role: 'assistant', content: 'Hello', reasoning: 'Hm', tool_calls: [begin(0, 'call_a', 'look', '{}')] }
  const whole = JSON.parse(
    writeWhole(createEncoder({ tools, instructions: 'Be short.' }), {
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: usageChunk.usage,
    }),
  ) as { output: unknown; tools: unknown[]; instructions: string }
  const streamed = encode([
    toChunk({ reasoning: 'Hm' }),
    toChunk({ content: 'Hello' }),
    toChunk(message, null),
    toChunk({}, 'stop'),
  ])
  t.match(getOutput(streamed)[0], { encrypted_content: 'sealed:svc-2.1\nreasoning\nHm' })
  t.same(whole.output, getOutput(encode([toChunk(message, 'tool_calls')])))
  t.equal(whole.instructions, 'Be short.')
  t.same(whole.tools[0], { type: 'function', name: 'look', description: null, parameters: null, strict: null })
})

t.test('restores names, namespaces and types of tools', async (t) => {
  for (const [name, args, expected] of [
    ['look', '{"a":1}', { type: 'function_call', name: 'look', arguments: '{"a":1}' }],
    ['look', '', { type: 'function_call', name: 'look', arguments: '{}' }],
    [
      'functions__exec',
      '{"input":"a\\n\\"b\\""}',
      { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: 'a\n"b"' },
    ],
    ['functions.exec', '{"input":"a"}', { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: 'a' }],
    ['exec', '{ "input" : "a" }', { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: 'a' }],
    ['exec', 'text("x")', { type: 'custom_tool_call', input: 'text("x")' }],
    ['exec', '', { type: 'custom_tool_call', input: '' }],
    ['exec', '{"input":"\\ud83d\\ude00 \\u00e4 \\ud83d"}', { type: 'custom_tool_call', input: '😀 ä \ufffd' }],
    ['tool_search', '{"query":"q"}', { type: 'tool_search_call', execution: 'client', arguments: { query: 'q' } }],
    ['unknown', '{}', { type: 'function_call', name: 'unknown' }],
  ] as const) {
    // In pieces of one character, so that an escape is cut everywhere.
    const pieces = [...args].map((letter) => toChunk({ tool_calls: [more(0, letter)] }))
    const events = encode([toChunk({ tool_calls: [begin(0, 'call_a', name)] }), ...pieces, toChunk({}, 'tool_calls')])
    t.hasStrict(getOutput(events)[0], { ...expected, call_id: 'call_a', status: 'completed' }, `${name} ${args}`)
    t.same(getOutput(events), getItemsDone(events))
    const deltas = events.flatMap(({ type, delta }) => (type.endsWith('.delta') ? [String(delta)] : [])).join('')
    const item = getOutput(events)[0] ?? {}
    if (item['type'] !== 'tool_search_call') t.equal(deltas, item['input'] ?? item['arguments'], 'the pieces are the whole')
  }
})

t.test('assembles calls however their pieces are marked', async (t) => {
  const args = (events: readonly ResponseEvent[]) =>
    getOutput(events).map((item) => `${String(item['call_id'])} ${String(item['arguments'])}`)
  for (const [name, pieces, expected] of [
    [
      'one after the other',
      [begin(0, 'a', 'look', '{"x":1}'), begin(1, 'b', 'look', '{"y"'), more(1, ':2}')],
      ['a {"x":1}', 'b {"y":2}'],
    ],
    [
      'interleaved',
      [begin(0, 'a', 'look', '{"x"'), begin(1, 'b', 'look', '{"y"'), more(0, ':1}'), more(1, ':2}')],
      ['a {"x":1}', 'b {"y":2}'],
    ],
    [
      'the same index with a new id',
      [begin(0, 'a', 'look', '{"x":1}'), begin(0, 'b', 'look', '{"y":2}')],
      ['a {"x":1}', 'b {"y":2}'],
    ],
    ['the name in every piece', [begin(0, 'a', 'look', '{"x"'), begin(0, 'a', 'look', ':1}')], ['a {"x":1}']],
    ['no index', [{ id: 'a', function: { name: 'look', arguments: '{' } }, { function: { arguments: '}' } }], ['a {}']],
    ['no id', [piece(0, { function: { name: 'look', arguments: '{}' } })], ['call_mbr_1_0 {}']],
    ['one id twice', [begin(0, 'a', 'look', '{}'), begin(1, 'a', 'look', '{}')], ['a {}', 'a_mbr_1_1 {}']],
    ['an object as arguments', [piece(0, { id: 'a', function: { name: 'look', arguments: { x: 1 } } })], ['a {"x":1}']],
  ] as const) {
    const events = encode([...pieces.map((each) => toChunk({ tool_calls: [each] })), toChunk({}, 'tool_calls')])
    t.same(args(events), expected, name)
    t.same(getOutput(events), getItemsDone(events), name)
  }
  const legacy = encode([toChunk({ function_call: { name: 'look', arguments: '{}' } }), toChunk({}, 'function_call')])
  t.same(args(legacy), ['call_1_0 {}'], 'a call of the older form')
})

t.test('a complete call ends when the next begins, so that the client can start it', async (t) => {
  const encoder = createEncoder({ stream: true, tools })
  encoder.start()
  pushChunk(encoder, toChunk({ tool_calls: [begin(0, 'a', 'look', '{"x":1}')] }))
  const events = parseEvents(pushChunk(encoder, toChunk({ tool_calls: [begin(1, 'b', 'look', '{')] })))
  t.same(outline(events), [
    'function_call_arguments.done {"x":1}',
    'output_item.done function_call',
    'output_item.added function_call',
    'function_call_arguments.delta {',
  ])
})

t.test('marks an answer that ended early', async (t) => {
  const cut = encode([toChunk({ content: 'Hel' }), toChunk({}, 'length')])
  t.match(cut.at(-1), {
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, completed_at: null },
  })
  t.match(getOutput(cut), [{ status: 'incomplete', content: [{ text: 'Hel' }] }])
  t.match(getOutput(encode([toChunk({ reasoning_content: 'Hm' }, 'length')])), [{ type: 'reasoning', status: 'incomplete' }])
  t.match(encode([toChunk({ content: 'Hel' }, 'content_filter')]).at(-1), {
    type: 'response.incomplete',
    response: { incomplete_details: { reason: 'content_filter' } },
  })
})

t.test('a client does not receive the end of a call that was cut', async (t) => {
  for (const [name, args] of [
    ['look', '{"a":'],
    ['look', ''],
    ['functions__exec', '{"input":"rm -r /tmp/a'],
    ['functions__exec', 'rm -r /tmp/a'],
  ] as const) {
    const events = encode([toChunk({ tool_calls: [begin(0, 'a', name, args)] }), toChunk({}, 'length')])
    t.same(getItemsDone(events), [], `${name} ${args}`)
    t.match(getOutput(events), [{ call_id: 'a', status: 'incomplete' }])
  }
  const complete = encode([toChunk({ tool_calls: [begin(0, 'a', 'look', '{}')] }), toChunk({}, 'length')])
  t.match(getItemsDone(complete), [{ call_id: 'a', status: 'completed' }])
})

t.test('Codex receives a filtered answer as complete, with a sentence', async (t) => {
  const client_metadata = { 'x-codex-window-id': 'w' }
  for (const [chunks, text] of [
    [[toChunk({ content: 'Hel' }), toChunk({}, 'content_filter')], 'Hel\n\nThe answer was stopped by the content policy.'],
    [[toChunk({}, 'content_filter')], 'The answer was stopped by the content policy.'],
  ] as const) {
    const events = encode(chunks, { client_metadata })
    t.match(events.at(-1), { type: 'response.completed', response: { status: 'completed', incomplete_details: null } })
    t.match(getOutput(events).at(-1), { content: [{ text }] })
  }
  const cut = encode([toChunk({ tool_calls: [begin(0, 'a', 'exec', '{"input":"rm')] }), toChunk({}, 'content_filter')], {
    client_metadata,
  })
  t.match(getItemsDone(cut), [{ type: 'message' }], 'it runs no cut call')
})

t.test('shows a refusal as text', async (t) => {
  const events = encode([toChunk({ refusal: 'I will not.' }), toChunk({}, 'stop')])
  t.match(getOutput(events), [{ content: [{ type: 'output_text', text: 'I will not.' }] }])
})

t.test('adds citations to the text', async (t) => {
  const citation = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 } }
  const events = encode([toChunk({ content: 'Hi' }), toChunk({ annotations: [citation, { type: 'file' }] }, 'stop')])
  const expected = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 }
  t.match(
    events.find(({ type }) => type.endsWith('annotation.added')),
    { annotation_index: 0, annotation: expected, item_id: 'msg_1_0' },
  )
  t.match(getOutput(events), [{ content: [{ annotations: [expected] }] }])
})

t.test('takes the last of several finish reasons, and what comes between them', async (t) => {
  const events = encode([toChunk({ content: 'Hi' }, 'stop'), toChunk({ content: '!' }, 'stop'), toChunk({}, 'length')])
  t.equal(events.at(-1)?.type, 'response.incomplete')
  t.hasStrict(getOutput(events), [{ content: [{ text: 'Hi!' }] }])
})

t.test('seals a reasoning text once', async (t) => {
  let sealed = 0
  const encoder = createEncoder({ stream: true }, () => `container ${++sealed}`)
  encoder.start()
  pushChunk(encoder, toChunk({ reasoning_content: 'Hm' }))
  const events = parseEvents(pushChunk(encoder, toChunk({ content: 'Hi' }, 'stop')) + encoder.end())
  t.same(getOutput(events), getItemsDone(events))
  t.equal(sealed, 1)
})

t.test('drops reasoning after a call', async (t) => {
  const events = encode([
    toChunk({ tool_calls: [begin(0, 'a', 'look', '{}')] }),
    toChunk({ reasoning_content: 'late' }),
    toChunk({}, 'tool_calls'),
  ])
  t.same(
    getOutput(events).map((item) => item['type']),
    ['function_call'],
  )
})

t.test('a second stretch of reasoning or text is an item of its own', async (t) => {
  const events = encode([
    toChunk({ reasoning_content: 'a' }),
    toChunk({ content: 'b' }),
    toChunk({ reasoning_content: 'c' }),
    toChunk({ content: 'd' }, 'stop'),
  ])
  t.same(
    getOutput(events).map((item) => item['id']),
    ['rs_1_0', 'msg_1_1', 'rs_1_2', 'msg_1_3'],
  )
})

t.test('keeps a connection open with events', async (t) => {
  const encoder = createEncoder({ stream: true })
  encoder.start()
  const [first] = parseEvents(encoder.heartbeat())
  t.match(first, { type: 'response.in_progress', sequence_number: 2, response: { id: 'resp_1', output: [] } })
  pushChunk(encoder, toChunk({ content: 'Hi' }))
  t.match(parseEvents(encoder.heartbeat()), [{ type: 'keepalive', sequence_number: 6 }])
})

t.test('a failed stream ends as failed, with open items left open', async (t) => {
  const x = { id: 'mbr_1', debug: {}, names: {}, startedAt: 0, inbound: { headers: {} } } as never
  const fail = (failure: GatewayError) => {
    const encoder = createEncoder({ stream: true, tools })
    encoder.start()
    pushChunk(encoder, toChunk({ content: 'Hi' }))
    pushChunk(encoder, toChunk({ tool_calls: [begin(0, 'a', 'look', '{"a":1}')] }))
    const text = encoder.fail(x, failure)
    t.match(text, /data: \[DONE\]\n\n$/)
    return parseEvents(text)
  }
  for (const [failure, error] of [
    [
      new GatewayError('upstream_error'),
      { code: 'server_error', message: 'The model service failed to answer. You were not charged.' },
    ],
    [new GatewayError('upstream_error', { shouldRetry: false }), { code: 'invalid_prompt' }],
    [new GatewayError('upstream_not_configured'), { code: 'invalid_prompt' }],
    [new GatewayError('context_length_exceeded'), { code: 'context_length_exceeded' }],
    [new GatewayError('quota_exceeded'), { code: 'insufficient_quota' }],
    [
      new GatewayError('upstream_rate_limited', { retryAfter: 2.5 }),
      { code: 'rate_limit_exceeded', message: /Please try again in 3s\.$/ },
    ],
    [new GatewayError('content_filter'), { code: 'invalid_prompt' }],
  ] as const) {
    const events = fail(failure)
    t.match(events, [{ type: 'response.failed', response: { status: 'failed', completed_at: null, error } }], failure.code)
    t.equal(events.length, 1)
    t.match(getOutput(events), [{ type: 'message', status: 'completed' }], 'only what has ended is in the output')
    t.equal(getOutput(events).length, 1)
  }
})

t.test('a failure after the end of the chunks leaves out a cut call', async (t) => {
  const encoder = createEncoder({ stream: true, tools })
  encoder.start()
  pushChunk(encoder, toChunk({ content: 'Hi' }))
  pushChunk(encoder, toChunk({ tool_calls: [begin(0, 'a', 'look', '{"a"')] }, 'length'))
  const events = parseEvents(encoder.fail({} as never, new GatewayError('internal_error')))
  t.same(
    getOutput(events).map((item) => item['type']),
    ['message'],
  )
})

t.test('chunks of any shape are accepted', async (t) => {
  const strange = [null, 7, 'x', [], {}, { a: 1 }]
  for (const value of strange)
    for (const chunk of [
      { choices: value },
      { choices: [value] },
      { choices: [{ delta: value, finish_reason: value }] },
      { choices: [{ delta: { content: value, tool_calls: value, annotations: value, reasoning_details: value } }] },
      { choices: [{ delta: { tool_calls: [value], function_call: value, annotations: [value] } }] },
      { choices: [{ delta: { tool_calls: [{ index: value, id: value, function: value }] } }] },
      { choices: [], usage: value },
    ]) {
      const events = encode([chunk as JsonObject])
      t.equal(events.at(-1)?.type, 'response.completed', JSON.stringify(chunk))
    }
})
