/** Events and whole answers of the Responses API become events of an answer. */
import t from 'tap'
import { ResponseDecoder } from '../../../../src/codecs/responses/response-decoder.ts'
import { readResponseUsage } from '../../../../src/codecs/responses/response-usage.ts'
import type { DecodedEvent } from '../../../../src/codecs/answer-decoder.ts'
import { AnswerCollector } from '../../../../src/conversation/collect-answer.ts'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import { toEvents } from '../../../support/upstream/responses-server.ts'
import type { ResponsesAnswer } from '../../../support/upstream/responses-server.ts'

const request = { model: 'gpt-one', input: 'x' }

function decode(events: readonly object[]): readonly DecodedEvent[] {
  const decoder = new ResponseDecoder('mbr_1')
  return events.flatMap((event) => decoder.decode(event as Record<string, unknown>))
}

/** The events in larger pieces, without the first, which names id and model. */
function collect(events: readonly DecodedEvent[]): readonly AnswerEvent[] {
  const collector = new AnswerCollector()
  collector.push(events.filter((event) => event.kind !== 'end' && event.kind !== 'error' && event.kind !== 'start'))
  return collector.events
}

const reasoning = {
  type: 'reasoning',
  summary: [
    { type: 'summary_text', text: 'One.' },
    { type: 'summary_text', text: 'Two.' },
  ],
  encrypted_content: 'gAAAA1',
}
const message = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"x"}' }
const answer: ResponsesAnswer = {
  output: [reasoning, { type: 'message', text: 'Looking.' }, call],
  usage: {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 70, cache_write_tokens: 5 },
    output_tokens: 40,
    output_tokens_details: { reasoning_tokens: 9 },
  },
}

const content = [
  { kind: 'reasoning', text: 'One.\n\nTwo.', field: 'reasoning_content' },
  { kind: 'signed-reasoning', signed: { field: 'responses_reasoning', value: reasoning } },
  { kind: 'text', text: 'Looking.' },
  { kind: 'call', index: 0, id: 'call_1', name: 'look', arguments: '{"at":"x"}' },
]
const usage = {
  kind: 'usage',
  usage: {
    prompt_tokens: 100,
    completion_tokens: 40,
    total_tokens: 140,
    prompt_tokens_details: { cached_tokens: 70, cache_creation_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 9 },
  },
}

t.test('reads each kind of item, in a stream and in a whole answer', async (t) => {
  const streamed = decode(toEvents(request, answer))
  t.same(streamed[0], { kind: 'start', id: 'resp_01', model: 'gpt-one-2026-01-01' })
  t.equal(streamed.at(-1)?.kind, 'end')
  t.same(collect(streamed), [...content, { kind: 'finish', reason: 'tool_calls' }, usage])
  const { response } = toEvents(request, answer).at(-1) as unknown as { response: Record<string, unknown> }
  const whole = new ResponseDecoder('mbr_1').decodeWhole(response) ?? []
  t.same(whole[0], { kind: 'start', id: 'resp_01', model: 'gpt-one-2026-01-01' })
  t.same(collect(whole), [...content, { kind: 'finish', reason: 'tool_calls' }, usage])
})

t.test('takes no other document for an answer', async (t) => {
  for (const other of [{}, { object: 'response', output: 7 }, { object: 'response', status: 'queued', output: [] }])
    t.equal(new ResponseDecoder('mbr_1').decodeWhole(other), null)
})

t.test('reads an answer of which only finished items arrive, or only its end', async (t) => {
  const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } }
  const output = [reasoning, message('Looking.'), call, { ...call, type: 'custom_tool_call', call_id: 'call_2', input: 'free' }]
  for (const events of [
    [...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })), completed],
    [{ ...completed, response: { ...completed.response, output } }],
  ])
    t.same(collect(decode(events)), [
      ...content,
      { kind: 'call', index: 1, id: 'call_2', name: 'look', arguments: 'free', isCustom: true, isComplete: true },
      { kind: 'finish', reason: 'tool_calls' },
    ])
})

t.test(
  'reads a text and reasoning once where the beginning of the item is left out, or the reasoning comes in two forms',
  async (t) => {
    const completed = {
      type: 'response.completed',
      response: { id: 'resp_1', status: 'completed', output: [message('Looking.')] },
    }
    const delta = (type: string, fields: object) => ({ type, output_index: 0, content_index: 0, ...fields })
    t.same(collect(decode([delta('response.output_text.delta', { delta: 'Looking.' }), completed])), [
      { kind: 'text', text: 'Looking.' },
      { kind: 'finish', reason: 'stop' },
    ])
    const unsigned = { ...reasoning, encrypted_content: null, content: [{ type: 'reasoning_text', text: 'One.' }] }
    const forms = ['response.reasoning_text.delta', 'response.reasoning_summary_text.delta']
    for (const types of [forms, forms.toReversed(), forms.slice(1), forms.slice(0, 1)])
      for (const begun of [
        [],
        [{ type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', summary: [] } }],
      ])
        t.same(
          collect(
            decode([
              ...begun,
              ...['On', 'e.'].flatMap((piece) => types.map((type) => delta(type, { delta: piece }))),
              { type: 'response.output_item.done', output_index: 0, item: unsigned },
            ]),
          ),
          [{ kind: 'reasoning', text: 'One.', field: 'reasoning_content' }],
        )
  },
)

t.test('reads the items of a server that sends no index', async (t) => {
  const [text, first, second] = [
    { ...message('Hi'), id: 'm' },
    { ...call, id: 'f1' },
    { ...call, id: 'f2', call_id: 'call_2' },
  ]
  const expected = [
    { kind: 'text', text: 'Hi' },
    { kind: 'call', index: 0, id: 'call_1', name: 'look', arguments: '{"at":"x"}' },
    { kind: 'call', index: 1, id: 'call_2', name: 'look', arguments: '{"at":"x"}' },
    { kind: 'finish', reason: 'tool_calls' },
  ]
  const end = { type: 'response.completed', response: { status: 'completed', output: [text, first, second] } }
  for (const hasIds of [true, false]) {
    const write = (item: typeof text | typeof first, delta: object) => {
      const { id, ...rest } = item
      return [
        { type: 'response.output_item.added', item: { ...rest, content: [], arguments: '', ...(hasIds ? { id } : {}) } },
        { ...delta, ...(hasIds ? { item_id: id } : {}) },
        { type: 'response.output_item.done', item: hasIds ? item : rest },
      ]
    }
    const events = [
      ...write(text, { type: 'response.output_text.delta', delta: 'Hi' }),
      ...write(first, { type: 'response.function_call_arguments.delta', delta: '{"at":"x"}' }),
      ...write(second, { type: 'response.function_call_arguments.delta', delta: '{"at":"x"}' }),
    ]
    t.strictSame(collect(decode([...events, end])), expected, hasIds ? 'with ids' : 'without ids')
  }
  const [added, delta] = [
    { type: 'response.output_item.added', output_index: 0, item: { ...message(''), content: [] } },
    { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' },
  ]
  t.strictSame(collect(decode([added, delta, end])), expected, 'calls at the end alone')
})

t.test('counts reasoning that the total has beside the output', async (t) => {
  const read = (fields: object) =>
    readResponseUsage({ input_tokens: 100, output_tokens: 5, output_tokens_details: { reasoning_tokens: 50 }, ...fields })
      ?.completion_tokens
  t.equal(read({ total_tokens: 155 }), 55)
  t.equal(read({ total_tokens: 105 }), 5, 'a part of the output')
  t.equal(read({}), 5)
  t.equal(read({ total_tokens: 125 }), 25, 'room for a part of it')
  t.equal(read({ total_tokens: 155, output_tokens_details: null }), 5, 'nothing explains the total')
})

t.test('passes free text as it is, and where it ends', async (t) => {
  for (const input of ['', 'a "quoted"\n\\ line', '🎩'.repeat(7)]) {
    const output = [{ type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input }]
    t.match(collect(decode(toEvents(request, { output })))[0], { arguments: input, isCustom: true, isComplete: true })
  }
  const cut = { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'half', status: 'incomplete' }
  const [called] = collect(decode([{ type: 'response.output_item.done', output_index: 0, item: cut }]))
  t.match(called, { arguments: 'half', isComplete: undefined }, 'a text that was cut stays open')
})

t.test('separates the texts of two messages, and of two summaries without a signature', async (t) => {
  const output = [
    { type: 'message', text: 'First.' },
    { type: 'message', text: 'Second.' },
  ]
  t.match(collect(decode(toEvents(request, { output }))), [
    { kind: 'text', text: 'First.' },
    { kind: 'text-break', separator: '\n\n' },
    { kind: 'text', text: 'Second.' },
  ])
  const unsigned = { ...reasoning, encrypted_content: null }
  const done = [0, 1].map((output_index) => ({ type: 'response.output_item.done', output_index, item: unsigned }))
  t.same(collect(decode(done)), [{ kind: 'reasoning', text: 'One.\n\nTwo.\n\nOne.\n\nTwo.', field: 'reasoning_content' }])
})

t.test('reads a refusal and log probabilities', async (t) => {
  const refusal = toEvents(request, { output: [{ type: 'message', refusal: 'I cannot do that.' }] })
  const texts = decode(refusal).map((event) => (event.kind === 'refusal' ? event.text : ''))
  t.equal(texts.join(''), 'I cannot do that.')
  const list = [{ token: 'Hi', logprob: -0.1, top_logprobs: [] }]
  const logprobs = { content: [{ bytes: null, ...list[0] }], refusal: null }
  const delta = { type: 'response.output_text.delta', output_index: 0, delta: 'Hi', logprobs: list }
  t.same(decode([delta]), [{ kind: 'text', text: 'Hi', logprobs }])
  const item = { type: 'message', content: [{ type: 'output_text', text: 'Hi', logprobs: list }] }
  t.same(decode([{ type: 'response.output_item.done', output_index: 0, item }]), [{ kind: 'text', text: 'Hi', logprobs }])
})

t.test('names the reason of an answer that ended early', async (t) => {
  for (const [incomplete, reason] of [
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ] as const)
    t.match(
      decode(toEvents(request, { incomplete })).find(({ kind }) => kind === 'finish'),
      { reason },
    )
})

t.test('turns a failure into an error', async (t) => {
  const failed = (response: object) => decode([{ type: 'response.failed', response }])
  const error = { code: 'server_error', message: 'Broke.' }
  t.same(failed({ error }), [{ kind: 'error', error }])
  t.match(failed({}), [{ kind: 'error', error: { code: 'server_error' } }])
})

t.test('gives ids to calls where the upstream sends none, or one twice', async (t) => {
  const items = [{}, { call_id: 'a' }, { call_id: 'a' }, { id: 'b' }].map((fields, output_index) => ({
    type: 'response.output_item.added',
    output_index,
    item: { type: 'function_call', name: 'look', ...fields },
  }))
  t.same(
    decode(items).map((event) => (event.kind === 'call' ? event.id : null)),
    ['call_mbr_1_0', 'a', 'a_mbr_1_2', 'b'],
  )
})

t.test('survives events of any shape', async (t) => {
  const types = [
    ...new Set(toEvents(request, answer).map((event) => (event as { type: string }).type)),
    'keepalive',
    'response.new',
  ]
  const values = [
    undefined,
    null,
    7,
    'x',
    [],
    {},
    { type: 'message' },
    { type: 'function_call' },
    { type: 'reasoning', summary: 7 },
  ]
  for (const type of types)
    for (const value of values)
      t.doesNotThrow(() => decode([{ type, response: value, item: value, delta: value, output_index: value, logprobs: value }]))
})
