/** Events and whole answers of the Responses API become chunks and completions. */
import t from 'tap'
import { ResponseDecoder } from '../../../src/upstream/responses/response-decoder.ts'
import { endOfAnswer } from '../../../src/upstream/upstream-format.ts'
import { toEvents } from '../../support/servers/responses-server.ts'
import type { ResponsesAnswer } from '../../support/servers/responses-server.ts'

interface Chunk {
  readonly choices: readonly {
    readonly delta: Readonly<Record<string, unknown>>
    readonly logprobs: unknown
    readonly finish_reason: unknown
  }[]
  readonly usage?: Readonly<Record<string, unknown>>
}

const request = { model: 'gpt-one', input: 'x' }

function decodeAll(events: readonly object[], options: { readonly isTranslated?: boolean } = {}) {
  const decoder = new ResponseDecoder(1_700_000_000_500, options)
  return events.flatMap((event) => decoder.decode(event as Record<string, unknown>))
}

const decode = (events: readonly object[], options?: { readonly isTranslated?: boolean }): Chunk[] =>
  decodeAll(events, options).filter((chunk) => chunk !== endOfAnswer) as unknown[] as Chunk[]

const deltasOf = (events: readonly object[], options?: { readonly isTranslated?: boolean }) =>
  decode(events, options).flatMap(({ choices }) => choices.map(({ delta }) => delta))
const join = (deltas: readonly Readonly<Record<string, unknown>>[], field: string) =>
  deltas.map((delta) => delta[field] ?? '').join('')

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

t.test('translates each kind of item, and ends with reason and usage', async (t) => {
  t.equal(decodeAll(toEvents(request, answer)).at(-1), endOfAnswer)
  const chunks = decode(toEvents(request, answer))
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
  t.equal(join(deltas, 'reasoning_content'), 'One.\n\nTwo.')
  t.equal(join(deltas, 'content'), 'Looking.')
  t.same(
    deltas.flatMap((delta) => delta['responses_reasoning'] ?? []),
    [reasoning],
  )
  const pieces = deltas.flatMap((delta) => (delta['tool_calls'] as { id?: string; function: { arguments: string } }[]) ?? [])
  t.match(pieces[0], { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } })
  t.equal(pieces.map((piece) => piece.function.arguments).join(''), '{"at":"x"}')
  t.match(chunks.at(-2), { choices: [{ finish_reason: 'tool_calls' }] })
  t.match(chunks.at(-1), {
    choices: [],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 40,
      total_tokens: 140,
      prompt_tokens_details: { cached_tokens: 70, cache_creation_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 9 },
    },
  })
})

t.test('reads an answer of which only finished items arrive, or only its end', async (t) => {
  const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } }
  const output = [reasoning, message('Looking.'), call, { ...call, type: 'custom_tool_call', call_id: 'call_2', input: 'free' }]
  for (const events of [
    [...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })), completed],
    [{ ...completed, response: { ...completed.response, output } }],
  ]) {
    const deltas = deltasOf(events)
    t.equal(join(deltas, 'reasoning_content'), 'One.\n\nTwo.')
    t.equal(join(deltas, 'content'), 'Looking.')
    t.same(
      deltas.flatMap((delta) => delta['tool_calls'] ?? []),
      [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } },
        { index: 0, function: { arguments: '{"at":"x"}' } },
        { index: 1, id: 'call_2', type: 'custom', custom: { name: 'look', input: '' } },
        { index: 1, custom: { input: 'free' } },
      ],
    )
    t.match(decode(events).at(-1), { choices: [{ finish_reason: 'tool_calls' }] })
  }
})

t.test('joins free text to the arguments of a function for a client of another API', async (t) => {
  for (const input of ['', 'a "quoted"\n\\ line', '🎩'.repeat(7)]) {
    const output = [{ type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input }]
    const deltas = deltasOf(toEvents(request, { output }), { isTranslated: true })
    const pieces = deltas.flatMap((delta) => (delta['tool_calls'] as { function: { arguments: string } }[]) ?? [])
    const args = pieces.map((piece) => piece.function.arguments).join('')
    t.same(args === '' ? { input: '' } : JSON.parse(args), { input })
  }
})

t.test('separates the texts of two messages', async (t) => {
  const output = [
    { type: 'message', text: 'First.' },
    { type: 'message', text: 'Second.' },
  ]
  t.equal(join(deltasOf(toEvents(request, { output })), 'content'), 'First.\n\nSecond.')
})

t.test('translates a refusal and log probabilities', async (t) => {
  const refusal = toEvents(request, { output: [{ type: 'message', refusal: 'I cannot do that.' }] })
  t.equal(join(deltasOf(refusal), 'refusal'), 'I cannot do that.')
  const logprobs = [{ token: 'Hi', logprob: -0.1, top_logprobs: [] }]
  const [chunk] = decode([{ type: 'response.output_text.delta', output_index: 0, delta: 'Hi', logprobs }])
  t.same(chunk?.choices[0]?.logprobs, { content: [{ bytes: null, ...logprobs[0] }], refusal: null })
})

t.test('names the reason of an answer that ended early', async (t) => {
  for (const [incomplete, finish] of [
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
  ] as const)
    t.match(decode(toEvents(request, { incomplete })).at(-2), { choices: [{ finish_reason: finish }] })
})

t.test('turns a failure into an error', async (t) => {
  const failed = (response: object) => decodeAll([{ type: 'response.failed', response }])
  t.same(failed({ error: { code: 'server_error', message: 'Broke.' } }), [{ error: { code: 'server_error', message: 'Broke.' } }])
  t.match(failed({}), [{ error: { code: 'server_error' } }])
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
      t.doesNotThrow(() =>
        decodeAll([{ type, response: value, item: value, delta: value, output_index: value, logprobs: value }]),
      )
})

t.test('translates a whole answer like its stream', async (t) => {
  const { response } = toEvents(request, answer).at(-1) as unknown as { response: Record<string, unknown> }
  const completion = new ResponseDecoder(1_700_000_000_500).toCompletion(response)
  t.match(completion, {
    id: 'resp_01',
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Looking.',
          refusal: null,
          reasoning_content: 'One.\n\nTwo.',
          responses_reasoning: [reasoning],
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 40 },
  })
  for (const other of [{}, { object: 'response', output: 7 }, { object: 'response', status: 'queued', output: [] }])
    t.equal(new ResponseDecoder(0).toCompletion(other), other)
})
