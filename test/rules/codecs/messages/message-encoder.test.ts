/** Answers of the Messages API: chunks of a chat completion in, events out. */
import t from 'tap'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import { GatewayError } from '../../../../src/errors.ts'
import type { FailedExchange, JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { deriveNames } from '../../../../src/exchange/brand-names.ts'
import { toChunk } from '../../../support/formats/random-chunks.ts'
import {
  createEncoder,
  pushChunk,
  encodeStream,
  messageUsage,
  parseEvents,
  seal,
  summarize,
  translate,
  usage,
  usageChunk,
  writeWhole,
} from '../../../support/formats/messages/translate.ts'

const text = (content: string) => toChunk({ content })
const think = (reasoning: string) => toChunk({ reasoning_content: reasoning })
const piece = (index: number, fields: { id?: string; name?: string; args?: string }) =>
  toChunk({
    tool_calls: [{ index, id: fields.id, type: 'function', function: { name: fields.name, arguments: fields.args } }],
  })
const signature = (reasoning: string, field = 'reasoning_content') => `signature_delta ${seal(`svc-2.1\n${field}\n${reasoning}`)}`
const caller = { type: 'direct' }
const emptyText = '(The model gave no answer.)'

t.test('writes the events of an answer in the order that clients require', async (t) => {
  const events = parseEvents(
    encodeStream([toChunk({ role: 'assistant', content: '' }), text('Hel'), text('lo.'), toChunk({}, 'stop')]),
  )
  t.same(events, [
    {
      type: 'message_start',
      message: {
        id: 'msg_mbr_1',
        type: 'message',
        role: 'assistant',
        model: 'svc-2.1',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        diagnostics: null,
        usage: {
          ...usage,
          ...messageUsage,
          input_tokens: 10,
          cache_read_input_tokens: 0,
          output_tokens: 1,
          output_tokens_details: { thinking_tokens: 0 },
        },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: null } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo.' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
      usage,
    },
    { type: 'message_stop' },
  ])
})

t.test('opens one block at a time', async (t) => {
  for (const [name, chunks, expected] of [
    [
      'reasoning, then text',
      [think('I '), think('think.'), text('So.')],
      [
        '0 start thinking',
        '0 thinking_delta I ',
        '0 thinking_delta think.',
        `0 ${signature('I think.')}`,
        '0 stop',
        '1 start text',
        '1 text_delta So.',
        '1 stop',
      ],
    ],
    [
      'reasoning in another field, and twice in one chunk',
      [toChunk({ reasoning: 'Hm.' }), toChunk({ reasoning: 'A', reasoning_details: [{ text: 'A' }] }), text('So.')],
      [
        '0 start thinking',
        '0 thinking_delta Hm.',
        '0 thinking_delta A',
        `0 ${signature('Hm.A', 'reasoning')}`,
        '0 stop',
        '1 start text',
        '1 text_delta So.',
        '1 stop',
      ],
    ],
    [
      'a second stretch of reasoning',
      [think('A'), text('B'), think('C'), text('D')],
      [
        '0 start thinking',
        '0 thinking_delta A',
        `0 ${signature('A')}`,
        '0 stop',
        '1 start text',
        '1 text_delta B',
        '1 stop',
        '2 start thinking',
        '2 thinking_delta C',
        `2 ${signature('C')}`,
        '2 stop',
        '3 start text',
        '3 text_delta D',
        '3 stop',
      ],
    ],
    [
      'text, then a call',
      [text('Look.'), piece(0, { id: 'a', name: 'look', args: '' }), piece(0, { args: '{"x"' }), piece(0, { args: ':1}' })],
      [
        '0 start text',
        '0 text_delta Look.',
        '0 stop',
        '1 start tool_use a look',
        '1 input_json_delta {"x"',
        '1 input_json_delta :1}',
        '1 stop',
      ],
    ],
    [
      'two calls whose pieces alternate',
      [
        piece(0, { id: 'a', name: 'look', args: '{' }),
        piece(1, { id: 'b', name: 'find', args: '{' }),
        piece(0, { args: '}' }),
        piece(1, { args: '}' }),
      ],
      [
        '0 start tool_use a look',
        '0 input_json_delta {',
        '0 input_json_delta }',
        '0 stop',
        '1 start tool_use b find',
        '1 input_json_delta {}',
        '1 stop',
      ],
    ],
    [
      'a call whose name and arguments come at the end',
      [piece(0, { id: 'a' }), piece(0, { name: 'look', args: '{"x":1}' })],
      ['0 start tool_use a look', '0 input_json_delta {"x":1}', '0 stop'],
    ],
    [
      'calls without an index and an id',
      [
        toChunk({ tool_calls: [{ function: { name: 'look', arguments: {} } }] }),
        toChunk({ tool_calls: [{ id: 'b', function: { name: 'find' } }] }),
      ],
      ['0 start tool_use call_mbr_1_0 look', '0 input_json_delta {}', '0 stop', '1 start tool_use b find', '1 stop'],
    ],
    [
      'a repeated index with another id',
      [piece(0, { id: 'a', name: 'look', args: '{}' }), piece(0, { id: 'b', name: 'look', args: '{}' })],
      [
        '0 start tool_use a look',
        '0 input_json_delta {}',
        '0 stop',
        '1 start tool_use b look',
        '1 input_json_delta {}',
        '1 stop',
      ],
    ],
    [
      'a legacy call',
      [toChunk({ function_call: { name: 'look', arguments: '{' } }), toChunk({ function_call: { arguments: '}' } })],
      ['0 start tool_use call_mbr_1_0 look', '0 input_json_delta {', '0 input_json_delta }', '0 stop'],
    ],
    [
      'text between the pieces of a call',
      [piece(0, { id: 'a', name: 'look', args: '{' }), text('Late.'), piece(0, { args: '}' })],
      [
        '0 start tool_use a look',
        '0 input_json_delta {',
        '0 input_json_delta }',
        '0 stop',
        '1 start text',
        '1 text_delta Late.',
        '1 stop',
      ],
    ],
    [
      'reasoning after a call, which clients refuse',
      [piece(0, { id: 'a', name: 'look', args: '{}' }), think('Late.')],
      ['0 start tool_use a look', '0 input_json_delta {}', '0 stop'],
    ],
    ['a refusal', [toChunk({ refusal: 'No.' })], ['0 start text', '0 text_delta No.', '0 stop']],
    [
      'white space before text and before a call',
      [text('\n'), think('A'), text('\nHi'), piece(0, { id: 'a', name: 'look', args: '{}' })],
      [
        '0 start thinking',
        '0 thinking_delta A',
        `0 ${signature('A')}`,
        '0 stop',
        '1 start text',
        '1 text_delta \n\nHi',
        '1 stop',
        '2 start tool_use a look',
        '2 input_json_delta {}',
        '2 stop',
      ],
    ],
    [
      'white space and a call',
      [text('\n\n'), piece(0, { id: 'a', name: 'look', args: '{}' })],
      ['0 start tool_use a look', '0 input_json_delta {}', '0 stop'],
    ],
    ['only white space', [text('\n'), text(' ')], ['0 start text', `0 text_delta ${emptyText}`, '0 stop']],
    ['nothing', [toChunk({ content: null, tool_calls: [] })], ['0 start text', `0 text_delta ${emptyText}`, '0 stop']],
    [
      'reasoning alone',
      [think('A')],
      [
        '0 start thinking',
        '0 thinking_delta A',
        `0 ${signature('A')}`,
        '0 stop',
        '1 start text',
        `1 text_delta ${emptyText}`,
        '1 stop',
      ],
    ],
    [
      'chunks of unknown shapes',
      [
        {},
        { choices: 'x' },
        { choices: [null] },
        { choices: [{ index: 1, delta: { content: 'no' } }] },
        toChunk({ tool_calls: 'x' }),
        text('A'),
      ],
      ['0 start text', '0 text_delta A', '0 stop'],
    ],
  ] as const)
    t.same(summarize(encodeStream(chunks as readonly JsonObject[])), expected, name)
})

t.test('gives the original name of a tool back', async (t) => {
  const name = `mcp__server__${'x'.repeat(80)}`
  const tools = [{ name }]
  const encoder = createEncoder({ tools })
  const [short] = translate({ tools }).state.toolNames.keys()
  t.match(pushChunk(encoder, piece(0, { id: 'a', name: short ?? '', args: '{}' })), `"name":"${name}"`)
})

t.test('states why the answer ended', async (t) => {
  const call = piece(0, { id: 'a', name: 'look', args: '{}' })
  const withStop = (chunk: JsonObject, stop: unknown) => ({
    choices: [{ ...(chunk['choices'] as JsonObject[])[0], stop_reason: stop }],
  })
  for (const [name, chunks, reason, sequence] of [
    ['stop', [text('A'), toChunk({}, 'stop')], 'end_turn', null],
    ['no reason', [text('A')], 'end_turn', null],
    ['an unknown reason', [text('A'), toChunk({}, 'eos')], 'end_turn', null],
    ['a call', [call, toChunk({}, 'tool_calls')], 'tool_use', null],
    ['a call with the reason stop, after which an agent would end', [call, toChunk({}, 'stop')], 'tool_use', null],
    ['the limit', [text('A'), toChunk({}, 'length')], 'max_tokens', null],
    ['the limit within a call', [call, toChunk({}, 'length')], 'max_tokens', null],
    [
      'a filter, whose own reason makes Claude Code repeat the turn',
      [text('A'), toChunk({}, 'content_filter')],
      'end_turn',
      null,
    ],
    ['a stop sequence', [text('A'), withStop(toChunk({}, 'stop'), '</block>')], 'stop_sequence', '</block>'],
    ['another text in its place', [text('A'), withStop(toChunk({}, 'stop'), 'eos')], 'end_turn', null],
  ] as const) {
    const request = { stop_sequences: ['</block>'] }
    const [end] = parseEvents(encodeStream(chunks, request)).slice(-2)
    t.match(end?.['delta'], { stop_reason: reason, stop_sequence: sequence }, name)
  }
  const filtered = encodeStream([toChunk({}, 'content_filter')])
  t.match(filtered, /withheld by the content policy/)
})

t.test('counts cached tokens apart', async (t) => {
  for (const [name, sent, expected] of [
    ['all fields', usageChunk.usage, usage],
    [
      'totals alone',
      { prompt_tokens: 3, completion_tokens: 2 },
      { input_tokens: 3, cache_read_input_tokens: 0, output_tokens: 2 },
    ],
    [
      'more cached than sent',
      { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 9 } },
      { input_tokens: 0, cache_read_input_tokens: 3 },
    ],
    ['no usage', undefined, { input_tokens: 10, output_tokens: 0 }],
    ['numbers that are none', { prompt_tokens: '9', completion_tokens: -1 }, { input_tokens: 10, output_tokens: 0 }],
  ] as const) {
    const encoder = createEncoder()
    encoder.start()
    const events = pushChunk(encoder, { choices: [], usage: sent }) + encoder.end()
    t.match(parseEvents(events).at(-2)?.['usage'], expected, name)
  }
})

t.test('never opens with a prompt of zero tokens, which Claude Code cannot count with', async (t) => {
  t.match(parseEvents(createEncoder({}, 0).start()), [{ message: { usage: { input_tokens: 1 } } }])
})

t.test('keeps an idle connection open with pings', async (t) => {
  t.same(parseEvents(createEncoder().heartbeat()), [{ type: 'ping' }])
})

const failedExchange: FailedExchange = {
  id: 'mbr_1',
  names: deriveNames('svc'),
  debug: {},
  startedAt: 1_700_000_000_000,
  inbound: { headers: {} },
}

t.test('leaves the open block open when the answer fails', async (t) => {
  const failure = new GatewayError('upstream_error')
  for (const chunk of [text('Half'), piece(0, { id: 'a', name: 'look', args: '{"x":' }), think('Half')]) {
    const encoder = createEncoder()
    const events = parseEvents(encoder.start() + pushChunk(encoder, chunk) + encoder.fail(failedExchange, failure))
    t.same(events.map(({ type }) => type).slice(-2), ['content_block_delta', 'error'])
    t.match(events.at(-1), {
      type: 'error',
      error: { type: 'api_error', message: failure.message, code: 'upstream_error' },
      request_id: 'mbr_1',
    })
  }
})

t.test('writes a whole answer', async (t) => {
  const message = {
    role: 'assistant',
    reasoning_content: 'I think.',
    content: 'Look.',
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'look', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'look', arguments: '' } },
      { id: 'c', type: 'function', function: { name: 'look', arguments: '[1' } },
    ],
  }
  const encodeWhole = (choice: JsonObject): JsonObject =>
    JSON.parse(writeWhole(createEncoder(), { choices: [choice], usage: usageChunk.usage })) as JsonObject
  t.same(encodeWhole({ index: 0, message, finish_reason: 'tool_calls' }), {
    id: 'msg_mbr_1',
    type: 'message',
    role: 'assistant',
    model: 'svc-2.1',
    content: [
      { type: 'thinking', thinking: 'I think.', signature: seal('svc-2.1\nreasoning_content\nI think.') },
      { type: 'text', text: 'Look.', citations: null },
      { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 }, caller },
      { type: 'tool_use', id: 'b', name: 'look', input: {}, caller },
      { type: 'tool_use', id: 'c', name: 'look', input: { invalid_arguments: '[1' }, caller },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: { ...usage, ...messageUsage },
  })
  for (const [name, choice, expected] of [
    ['no text', { message: { content: null }, finish_reason: 'stop' }, emptyText],
    ['white space', { message: { content: '\n' }, finish_reason: 'stop' }, emptyText],
    ['a filter', { message: { content: '' }, finish_reason: 'content_filter' }, 'The answer was withheld by the content policy.'],
    ['a refusal', { message: { refusal: 'No.' }, finish_reason: 'stop' }, 'No.'],
    [
      'a list of parts',
      {
        message: {
          content: [
            { type: 'text', text: 'A' },
            { type: 'text', text: 'B' },
          ],
        },
      },
      'AB',
    ],
  ] as const)
    t.match(encodeWhole(choice)['content'], [{ type: 'text', text: expected }], name)
})

t.test('a whole answer has its parts in the order of its stream', async (t) => {
  const events: readonly AnswerEvent[] = [
    { kind: 'text', text: 'First. ' },
    { kind: 'search', step: { phase: 'start', position: 1, query: 'x' } },
    { kind: 'search', step: { phase: 'end', position: 1, query: 'x', sources: [], fault: null } },
    { kind: 'reasoning', text: 'Hm.', field: 'reasoning_content' },
    { kind: 'text', text: 'Second.' },
    { kind: 'call', index: 0, id: 'a', name: 'look', arguments: '{"at":1}' },
    { kind: 'call', index: 1, id: 'b', name: 'patch', arguments: 'free "text"', isCustom: true },
    { kind: 'finish', reason: 'tool_calls' },
  ]
  const { content } = JSON.parse(createEncoder().whole(events)) as { content: readonly JsonObject[] }
  const streamed = parseEvents(createEncoder().push(events))
    .filter(({ type }) => type === 'content_block_start')
    .map(({ content_block: block }) => (block as JsonObject)['type'])
  t.same(
    content.map(({ type }) => type),
    ['text', 'server_tool_use', 'web_search_tool_result', 'thinking', 'text', 'tool_use', 'tool_use'],
  )
  t.same(
    streamed,
    content.slice(0, -1).map(({ type }) => type),
    'the second call is written at the end of the stream',
  )
  t.match(content.slice(-2), [
    { id: 'a', input: { at: 1 } },
    { id: 'b', input: { input: 'free "text"' } },
  ])
  t.match(content[1], { input: { query: 'x' } })
})
