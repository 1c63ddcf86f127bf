/** Events and whole answers of the Messages API become chunks and completions. */
import t from 'tap'
import { MessageDecoder } from '../../../src/upstream/anthropic/message-decoder.ts'
import { endOfAnswer } from '../../../src/upstream/upstream-format.ts'
import { toEvents } from '../../support/servers/anthropic-server.ts'
import type { AnthropicAnswer } from '../../support/servers/anthropic-server.ts'

interface Chunk {
  readonly choices: readonly {
    readonly delta: Readonly<Record<string, unknown>>
    readonly finish_reason: unknown
    readonly stop_reason?: string
  }[]
  readonly usage?: Readonly<Record<string, unknown>>
}

const request = { model: 'claude-one', max_tokens: 1, messages: [] }

function decode(events: readonly object[]): { readonly chunks: readonly Chunk[]; readonly isDone: boolean } {
  const decoder = new MessageDecoder(1_700_000_000_500)
  const decoded = events.flatMap((event) => decoder.decode(event as Record<string, unknown>))
  return {
    chunks: decoded.filter((chunk) => chunk !== endOfAnswer) as unknown[] as Chunk[],
    isDone: decoded.at(-1) === endOfAnswer,
  }
}

const deltasOf = (events: readonly object[]) => decode(events).chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
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

t.test('translates each kind of block', async (t) => {
  const { chunks, isDone } = decode(toEvents(request, answer))
  t.ok(isDone)
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
  const join = (field: string) => deltas.map((delta) => delta[field] ?? '').join('')
  t.equal(join('reasoning_content'), 'Let me see.')
  t.equal(join('content'), 'Looking.')
  t.same(
    deltas.flatMap((delta) => delta['anthropic_thinking'] ?? []),
    [
      { index: 0, type: 'redacted_thinking', data: 'xyz' },
      { index: 1, type: 'thinking', thinking: 'Let me see.', signature: 'sig' },
    ],
  )
  const calls = deltas.flatMap(
    (delta) => (delta['tool_calls'] as { index: number; id?: string; function: { arguments: string } }[]) ?? [],
  )
  for (const [index, args] of ['{"at":"x"}', '{}'].entries())
    t.equal(
      calls
        .filter((call) => call.index === index)
        .map((call) => call.function.arguments)
        .join(''),
      args,
    )
  t.match(calls[0], { id: 'toolu_1', type: 'function', function: { name: 'look' } })
  t.match(
    chunks.find(({ choices }) => choices[0]?.finish_reason !== null && choices.length > 0),
    { choices: [{ finish_reason: 'tool_calls' }] },
  )
  t.match(chunks.at(-1)?.usage, {
    prompt_tokens: 100,
    completion_tokens: 40,
    total_tokens: 140,
    prompt_tokens_details: { cached_tokens: 70, cache_creation_tokens: 25 },
    completion_tokens_details: { reasoning_tokens: 9 },
  })
})

t.test('reports the prompt at the start, so that an interrupted answer is charged for it', async (t) => {
  const { chunks } = decode(toEvents(request, answer).slice(0, 1))
  t.match(chunks.at(-1)?.usage, { prompt_tokens: 100, completion_tokens: 1 })
})

t.test('keeps the counts of the prompt where the last event has none, or zeros', async (t) => {
  const [start] = toEvents(request, answer)
  for (const usage of [{ output_tokens: 7 }, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 }])
    t.match(decode([start!, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }]).chunks.at(-1)?.usage, {
      prompt_tokens: 100,
      completion_tokens: 7,
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
    const { chunks } = decode(toEvents(request, { stopReason, stopSequence: 'END' }))
    const end = chunks.find(({ choices }) => typeof choices[0]?.finish_reason === 'string')
    t.match(end?.choices[0], { finish_reason: finish, stop_reason: 'END' })
    const whole = new MessageDecoder(0).toCompletion({ type: 'message', content: [], stop_reason: stopReason })
    t.match(whole, { choices: [{ finish_reason: finish }] })
  })

t.test('takes a whole answer for what its stream adds up to', async (t) => {
  const { content } = answer
  const whole = new MessageDecoder(1_700_000_000_500).toCompletion({
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: 'claude-one',
    content,
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: answer.usage,
  })
  t.match(whole, {
    id: 'msg_01',
    object: 'chat.completion',
    created: 1_700_000_000,
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          content: 'Looking.',
          reasoning_content: 'Let me see.',
          anthropic_thinking: [{ type: 'redacted_thinking' }, { type: 'thinking', signature: 'sig' }],
          tool_calls: [
            { id: 'toolu_1', function: { arguments: '{"at":"x"}' } },
            { id: 'toolu_2', function: { arguments: '{}' } },
          ],
        },
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 40 },
  })
})

t.test('sends nothing for other events', async (t) => {
  for (const event of [
    { type: 'ping' },
    { type: 'later' },
    {},
    { type: 'content_block_delta' },
    { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use' } },
    { type: 'content_block_stop', index: 9 },
  ])
    t.same(deltasOf([event]), [])
})

t.test('sends arguments that came with the start of the block', async (t) => {
  const events = [
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'look', input: { at: 'y' } } },
    { type: 'content_block_stop', index: 0 },
  ]
  t.match(deltasOf(events), [
    { tool_calls: [{ index: 0, id: 'a' }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"at":"y"}' } }] },
  ])
})
