/** Aggregates a whole response from streams of each family of upstreams. */
import t from 'tap'
import { repairStream } from '../../../support/formats/repair-stream.ts'
import { StreamAggregator } from '../../../../src/codecs/chat/stream-aggregator.ts'

const chunk = (delta: object | null, more: object = {}, choice: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'vendor/big',
  ...more,
  choices: delta === null ? [] : [{ index: 0, delta, finish_reason: null, ...choice }],
})

function assembled(...chunks: Record<string, unknown>[]) {
  const assembly = new StreamAggregator()
  for (const chunk of repairStream(chunks)) assembly.consume(chunk)
  return assembly.toDocument() as { choices: { message: Record<string, unknown>; finish_reason: unknown }[] } & Record<
    string,
    unknown
  >
}

const messageOf = (...deltas: object[]) => assembled(...deltas.map((delta) => chunk(delta))).choices[0]?.message

t.test('joins text, reasoning and refusal, and keeps the ending', async (t) => {
  t.same(
    assembled(
      chunk({ role: 'assistant', content: '' }, { system_fingerprint: 'fp', obfuscation: 'xyz', usage: null }),
      chunk({ reasoning_content: 'I ', reasoning: 'I ' }),
      chunk({ reasoning_content: 'think', reasoning: 'think', content: null }),
      chunk({ role: 'assistant', content: 'Hello ' }),
      chunk({ content: '你好' }, { service_tier: 'default' }),
      chunk({}, {}, { finish_reason: 'stop', stop_reason: 2, content_filter_results: { hate: { filtered: false } } }),
      chunk(null, { usage: { prompt_tokens: 1 } }),
    ),
    {
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'vendor/big',
      system_fingerprint: 'fp',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello 你好',
            refusal: null,
            reasoning_content: 'I think',
            reasoning: 'I think',
          },
          logprobs: null,
          finish_reason: 'stop',
          stop_reason: 2,
          content_filter_results: { hate: { filtered: false } },
        },
      ],
    },
  )
  t.same(messageOf({ refusal: 'I ' }, { refusal: 'cannot' }), { role: 'assistant', content: null, refusal: 'I cannot' })
})

t.test('gives an answer without output an empty text, and a call or a refusal none', async (t) => {
  t.equal(messageOf({ role: 'assistant' }, {})?.['content'], '')
  t.equal(messageOf({ role: 'assistant', content: '' }, {})?.['content'], '')
  t.equal(messageOf({ refusal: 'No.' })?.['content'], null)
  t.equal(messageOf({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] })?.['content'], null)
})

t.test('takes id and date from the response, not from a verdict before it', async (t) => {
  const verdict = { ...chunk(null), id: '', created: 0, model: '', prompt_filter_results: [{ prompt_index: 0 }] }
  t.match(assembled(verdict, chunk({ content: 'a' })), { id: 'c1', created: 1, prompt_filter_results: [{ prompt_index: 0 }] })
})

t.test('keeps choices in order, each with its own text', async (t) => {
  const { choices } = assembled(
    chunk({ content: 'b' }, {}, { index: 1 }),
    chunk({ content: 'a' }),
    chunk({ content: 'B' }, {}, { index: 1, finish_reason: 'length' }),
    chunk({}, {}, { finish_reason: 'stop' }),
  )
  t.match(choices, [
    { index: 0, message: { content: 'a' }, finish_reason: 'stop' },
    { index: 1, message: { content: 'bB' }, finish_reason: 'length' },
  ])
})

t.test('joins logprobs to one list', async (t) => {
  const logprob = (token: string) => ({ logprobs: { content: [{ token, logprob: -0.1 }], refusal: null } })
  const { choices } = assembled(chunk({ content: 'a' }, {}, logprob('a')), chunk({ content: 'b' }, {}, logprob('b')))
  t.match(choices[0], { logprobs: { content: [{ token: 'a' }, { token: 'b' }], refusal: null } })
})

t.test('joins tool calls however their vendor splits them', async (t) => {
  const f = (name: string | undefined, args: string) => ({
    function: { ...(name === undefined ? {} : { name }), arguments: args },
  })
  const two = [
    { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
    { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
  ]
  const nameless = two.map(({ type, function: called }) => ({ type, function: called }))
  const withIds = (calls: readonly (object | undefined)[]) => calls.map((call, i) => ({ ...call, id: `call_mbr_1_${i}` }))
  for (const [name, deltas, expected] of [
    [
      'by index (OpenAI)',
      [
        [{ index: 0, id: 'a', type: 'function', ...f('f', '') }],
        [{ index: 0, ...f(undefined, '{"x"') }],
        [{ index: 1, id: 'b', type: 'function', ...f('g', '') }],
        [
          { index: 0, ...f(undefined, ':1}') },
          { index: 1, ...f(undefined, '{}') },
        ],
      ],
      two,
    ],
    [
      'with id and name in every piece',
      [
        [{ index: 0, id: 'a', type: 'function', ...f('f', '{"x"') }],
        [{ index: 0, id: 'a', type: 'function', ...f('f', ':1}') }],
        [{ index: 1, id: 'b', type: 'function', ...f('g', '{}') }],
      ],
      two,
    ],
    [
      'with empty ids and names in later pieces',
      [
        [{ index: 0, id: 'a', type: 'function', ...f('f', '{"x"') }],
        [{ index: 0, id: '', type: 'function', ...f('', ':1}') }],
        [{ index: 1, id: 'b', type: 'function', ...f('g', '{}') }],
      ],
      two,
    ],
    ['whole, all with the same index', [[{ index: 0, ...two[0] }], [{ index: 0, ...two[1] }]], two],
    ['whole, in one piece without index', [two], two],
    ['whole, without index', [[two[0]], [two[1]]], two],
    ['whole, without index or id', [[nameless[0]], [nameless[1]]], withIds([two[0], two[1]])],
    ['whole, the same one twice, without index or id', [[nameless[0]], [nameless[0]]], withIds([two[0], two[0]])],
    [
      'in pieces without index or id',
      [[{ type: 'function', ...f('f', '{"x"') }], [f(undefined, ':1}')], [{ type: 'function', ...f('g', '{}') }]],
      withIds([two[0], two[1]]),
    ],
    [
      'of a custom tool',
      [[{ index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'SEL' } }], [{ index: 0, custom: { input: 'ECT' } }]],
      [{ id: 'a', type: 'custom', custom: { name: 'f', input: 'SELECT' } }],
    ],
  ] as const) {
    const message = messageOf(...deltas.map((calls) => ({ tool_calls: calls })))
    t.same(message?.['tool_calls'], expected, name)
    t.equal(message?.['content'], null, name)
  }
  t.match(messageOf({ function_call: { name: 'f', arguments: '{' } }, { function_call: { arguments: '}' } }), {
    function_call: { name: 'f', arguments: '{}' },
  })
})

t.test('merges everything else by its kind', async (t) => {
  const cited = { type: 'url_citation', url_citation: { url: 'https://a.example' } }
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' }, index: 0 }
  t.match(
    messageOf(
      {
        audio: { id: 'au', data: 'AA', transcript: 'He' },
        annotations: [cited],
        images: [image],
        vendor_note: 'a',
        vendor_count: 1,
      },
      {
        audio: { id: 'au', data: 'BB', transcript: 'llo', expires_at: 7 },
        annotations: [cited],
        vendor_note: 'b',
        vendor_count: 2,
      },
    ),
    {
      audio: { id: 'au', data: 'AABB', transcript: 'Hello', expires_at: 7 },
      annotations: [cited, cited],
      images: [image],
      vendor_note: 'ab',
      vendor_count: 2,
    },
  )
  t.match(
    messageOf(
      { reasoning_details: [{ type: 'reasoning.text', text: 'I ', index: 0, format: 'x' }] },
      { reasoning_details: [{ type: 'reasoning.text', text: 'think', index: 0, format: 'x' }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'zz', index: 0 }] },
    ),
    {
      reasoning_details: [
        { type: 'reasoning.text', text: 'I think', index: 0, format: 'x' },
        { type: 'reasoning.encrypted', data: 'zz', index: 0 },
      ],
    },
  )
  t.equal(messageOf({ content: 'a' }, { content: [{ type: 'text', text: 'b' }] })?.['content'], 'ab')
})

t.test('takes the last signature of a text whole', async (t) => {
  const signed = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } })
  t.match(messageOf({ content: 'a', ...signed('c2ln') }, { content: 'b' }, signed('c2lu')), { content: 'ab', ...signed('c2lu') })
  t.match(messageOf(signed('c2ln'), signed('')), signed('c2ln'))
})

t.test('does not repeat a message beside the delta, and uses it where there is no delta', async (t) => {
  const message = { role: 'assistant', content: 'Hello' }
  t.equal(
    assembled(chunk({ content: 'Hel' }, {}, { message }), chunk({ content: 'lo' }, {}, { message })).choices[0]?.message[
      'content'
    ],
    'Hello',
  )
  t.equal(assembled(chunk({}, {}, { delta: undefined, message })).choices[0]?.message['content'], 'Hello')
})

t.test('is safe from names of the language itself', async (t) => {
  const hostile = JSON.parse(
    '{"choices":[{"index":0,"delta":{"__proto__":{"x":1},"a":{"__proto__":{"x":1}},"content":"b"}}],"__proto__":{"x":1}}',
  )
  const document = assembled(hostile as Record<string, unknown>)
  t.equal((document as { x?: number }).x, undefined)
  t.equal(document.choices[0]?.message['x'], undefined)
  t.equal(({} as { x?: number }).x, undefined)
})

t.test('takes fields with names that every object has like any other field', async (t) => {
  const fields = { constructor: [{ type: 'text' }], toString: 'b', valueOf: { hasOwnProperty: 'c' } }
  t.same(messageOf({ content: 'a' }, fields, { toString: 'd', valueOf: { hasOwnProperty: 'e' } }), {
    role: 'assistant',
    content: 'a',
    refusal: null,
    constructor: [{ type: 'text' }],
    toString: 'bd',
    valueOf: { hasOwnProperty: 'ce' },
  })
})
