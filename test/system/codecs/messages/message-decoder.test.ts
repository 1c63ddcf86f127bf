/** Events and whole answers of the Messages API become events of an answer. */
import t from 'tap'
import { MessageDecoder } from '../../../../src/codecs/messages/message-decoder.ts'
import type { DecodedEvent } from '../../../../src/codecs/answer-decoder.ts'
import { AnswerCollector } from '../../../../src/conversation/collect-answer.ts'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import { toEvents } from '../../../support/upstream/anthropic-server.ts'
import type { AnthropicAnswer } from '../../../support/upstream/anthropic-server.ts'

const request = { model: 'claude-one', max_tokens: 1, messages: [] }

function decode(events: readonly object[]): readonly DecodedEvent[] {
  const decoder = new MessageDecoder('mbr_1')
  return events.flatMap((event) => decoder.decode(event as Record<string, unknown>))
}

/** The events in larger pieces, without the reports of usage before the last. */
function collect(events: readonly DecodedEvent[]): readonly AnswerEvent[] {
  const collector = new AnswerCollector()
  const last = events.findLastIndex(({ kind }) => kind === 'usage')
  const kept = events.filter((event, at) => event.kind !== 'usage' || at === last)
  collector.push(kept.filter((event) => event.kind !== 'end' && event.kind !== 'error'))
  return collector.events
}

const answer: AnthropicAnswer = {
  content: [
    { type: 'redacted_thinking', data: 'xyz' },
    { type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
    { type: 'text', text: 'Looking.' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
    { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
  ],
  usage: {
    input_tokens: 5,
    cache_read_input_tokens: 70,
    cache_creation_input_tokens: 25,
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 9 },
  },
}

const expected = [
  {
    kind: 'signed-reasoning',
    signed: { field: 'anthropic_thinking', value: { index: 0, type: 'redacted_thinking', data: 'xyz' } },
  },
  { kind: 'reasoning', text: 'Let me see.', field: 'reasoning_content' },
  {
    kind: 'signed-reasoning',
    signed: { field: 'anthropic_thinking', value: { index: 1, type: 'thinking', thinking: 'Let me see.', signature: 'sig' } },
  },
  { kind: 'text', text: 'Looking.' },
  { kind: 'call', index: 0, id: 'toolu_1', name: 'look', arguments: '{"at":"x"}' },
  { kind: 'call', index: 1, id: 'toolu_2', name: 'look', arguments: '{}' },
  { kind: 'finish', reason: 'tool_calls' },
  {
    kind: 'usage',
    usage: {
      prompt_tokens: 100,
      completion_tokens: 40,
      total_tokens: 140,
      prompt_tokens_details: { cached_tokens: 70, cache_creation_tokens: 25 },
      completion_tokens_details: { reasoning_tokens: 9 },
    },
  },
]

t.test('reads each kind of block, in a stream and in a whole answer', async (t) => {
  const streamed = decode(toEvents(request, answer))
  t.equal(streamed.at(-1)?.kind, 'end')
  t.match(streamed[0], { kind: 'start', model: 'claude-one' })
  t.same(collect(streamed).slice(1), expected)
  const message = { id: 'msg_01', type: 'message', role: 'assistant', model: 'claude-one', content: answer.content }
  const whole = new MessageDecoder('mbr_1').decodeWhole({ ...message, stop_reason: 'tool_use', usage: answer.usage })
  t.same(collect(whole ?? []), [{ kind: 'start', id: 'msg_01', model: 'claude-one' }, ...expected])
})

t.test('takes no other document for an answer', async (t) => {
  for (const other of [{}, { type: 'message' }, { type: 'message', content: 'text' }, { choices: [] }])
    t.equal(new MessageDecoder('mbr_1').decodeWhole(other), null)
})

t.test('reports the prompt at the start, so that an interrupted answer is charged for it', async (t) => {
  t.match(decode(toEvents(request, answer).slice(0, 1)).at(-1), {
    kind: 'usage',
    usage: { prompt_tokens: 100, completion_tokens: 1 },
  })
})

t.test('counts no token of the prompt twice where the last event moves some to the cache', async (t) => {
  const [start] = toEvents(request, answer)
  for (const [prompt, tokens] of [
    [{ input_tokens: 0, cache_read_input_tokens: 100 }, 100],
    [{ input_tokens: 0, cache_read_input_tokens: 60, cache_creation_input_tokens: 40 }, 100],
    [{ input_tokens: 0, cache_creation_input_tokens: 90 }, 90],
    [{ input_tokens: 20, cache_read_input_tokens: 80 }, 100],
  ] as const) {
    const usage = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0, ...prompt, output_tokens: 7 }
    const events = decode([start!, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }])
    t.match(events.at(-1), { usage: { prompt_tokens: tokens, completion_tokens: 7 } })
  }
})

t.test('keeps the counts of the prompt where the last event has none, or zeros', async (t) => {
  const [start] = toEvents(request, answer)
  for (const usage of [{ output_tokens: 7 }, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 }])
    t.match(decode([start!, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }]).at(-1), {
      usage: { prompt_tokens: 100, completion_tokens: 7 },
    })
})

for (const [stopReason, finish] of [
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
  ['pause_turn', 'stop'],
  ['constructor', 'stop'],
] as const)
  t.test(`ends an answer that stopped by ${stopReason} with ${finish}`, async (t) => {
    const ending = [
      { kind: 'stop-sequence', sequence: 'END' },
      { kind: 'finish', reason: finish },
    ]
    const streamed = decode(toEvents(request, { stopReason, stopSequence: 'END' }))
    t.same(
      streamed.filter(({ kind }) => kind === 'stop-sequence' || kind === 'finish'),
      ending,
    )
    const whole = { type: 'message', content: [], stop_reason: stopReason, stop_sequence: 'END' }
    t.same(new MessageDecoder('mbr_1').decodeWhole(whole)?.slice(1), ending)
  })

t.test('yields nothing for other events', async (t) => {
  for (const event of [
    { type: 'ping' },
    { type: 'later' },
    {},
    { type: 'content_block_delta' },
    { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use' } },
    { type: 'content_block_stop', index: 9 },
  ])
    t.same(decode([event]), [])
})

const startCall = (index: number, fields: object) => ({
  type: 'content_block_start',
  index,
  content_block: { type: 'tool_use', name: 'look', ...fields },
})

t.test('ends the blocks that a server does not end', async (t) => {
  const events = decode([
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: 'Hm.', signature: 'sig' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'a', name: 'look', input: { at: 'x' } } },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'b', name: 'look', input: {} } },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
  ])
  const value = { index: 0, type: 'thinking', thinking: 'Hm.', signature: 'sig' }
  t.strictSame([...events].sort((a, b) => Number(a.kind === 'signed-reasoning') - Number(b.kind === 'signed-reasoning')).at(-1), {
    kind: 'signed-reasoning',
    signed: { field: 'anthropic_thinking', value },
  })
  const calls = events.flatMap((event) => (event.kind === 'call' ? [event] : []))
  t.strictSame(
    [0, 1].map((index) =>
      calls
        .filter((each) => each.index === index)
        .map((each) => each.arguments)
        .join(''),
    ),
    ['{"at":"x"}', '{}'],
  )
  t.equal(events.findLast(({ kind }) => kind !== 'usage')?.kind, 'finish')
})

t.test('reads arguments that a server sends as text', async (t) => {
  const read = (input: unknown) => {
    const content = [{ type: 'tool_use', id: 'a', name: 'look', input }]
    const events = new MessageDecoder('mbr_1').decodeWhole({ type: 'message', content, stop_reason: 'tool_use' }) ?? []
    return events.map((event) => (event.kind === 'call' ? event.arguments : '')).join('')
  }
  t.strictSame([read('{"at":"x"}'), read(''), read(' '), read(undefined)], ['{"at":"x"}', '{}', '{}', '{}'])
})

t.test('passes arguments that came with the start of the block', async (t) => {
  t.match(decode([startCall(0, { id: 'a', input: { at: 'y' } }), { type: 'content_block_stop', index: 0 }]), [
    { kind: 'call', index: 0, id: 'a', arguments: '' },
    { kind: 'call', index: 0, id: '', arguments: '{"at":"y"}' },
  ])
})

t.test('gives ids to calls where the upstream sends none, or one twice', async (t) => {
  const ids = decode([startCall(0, {}), startCall(1, { id: 'a' }), startCall(2, { id: 'a' }), startCall(3, { id: 7 })])
  t.same(
    ids.map((event) => (event.kind === 'call' ? event.id : null)),
    ['call_mbr_1_0', 'a', 'a_mbr_1_2', 'call_mbr_1_3'],
  )
})
