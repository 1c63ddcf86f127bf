/** A streamed answer as a table of bytes: what the client sees, what it costs, and every way it can end badly. */
import t from 'tap'
import { UpstreamFailure } from '../../src/upstream/failure.ts'
import { StreamReader } from '../../src/upstream/stream-reader.ts'

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'vendor/big-model-2026',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }
const sse = (...events: (object | string)[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
const good = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: '你好' }),
  chunk({ content: ' "quoted\\" }\n' }),
  chunk({}, 'stop'),
]
const usageChunk = { ...chunk({}), choices: [], usage }

interface ReadOptions {
  readonly includeUsage?: boolean
  readonly size?: number
  readonly onEvent?: (json: string) => void
}

/** What a client receives for these upstream bytes, and the usage. */
function read(text: string, { includeUsage = false, size, onEvent }: ReadOptions = {}) {
  const reader = new StreamReader({
    productId: 'svc-2.1',
    includeUsage,
    inputEstimate: 99,
    upstreamHost: 'u',
    onEvent: onEvent ?? null,
  })
  const bytes = Buffer.from(text)
  let out = ''
  for (let at = 0; at < bytes.length && !reader.done; at += size ?? bytes.length)
    out += reader.push(bytes.subarray(at, at + (size ?? bytes.length)))
  if (!reader.done) out += reader.end()
  const seen = Buffer.from(out, 'latin1').toString('utf8') + reader.tail()
  return { seen, usage: reader.usage(), chunks: chunksOf(seen) }
}

function chunksOf(seen: string): Record<string, unknown>[] {
  return seen
    .split('\n\n')
    .filter((frame) => frame !== '' && frame !== 'data: [DONE]')
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as Record<string, unknown>)
}

function failureOf(text: string, options: ReadOptions = {}): string {
  try {
    read(text, options)
  } catch (error) {
    if (error instanceof UpstreamFailure && error.facts.kind === 'in_band') return error.facts.reason
    throw error
  }
  return 'none'
}

t.test('a good stream passes with the product in the place of the model, wherever it is cut', async (t) => {
  const text = sse(...good, usageChunk, '[DONE]')
  const expected = sse(...good.map((event) => ({ ...event, model: 'svc-2.1' })), '[DONE]')
  for (const size of [undefined, ...Array.from({ length: 70 }, (_, i) => i + 1)]) {
    const { seen, usage } = read(text, size === undefined ? {} : { size })
    t.equal(seen, expected, `in pieces of ${size ?? 'all'}`)
    t.same(usage, { inputTokens: 12, outputTokens: 3, estimated: false })
  }
})

t.test('the model id of the upstream is in no chunk, however it is spelled', async (t) => {
  const spaced = good.map((event) => JSON.stringify(event).replace('"model":', '"model": '))
  const first = { ...chunk({ role: 'assistant' }), model: '' }
  const unnamed = { ...chunk({ role: 'assistant' }), model: undefined }
  const escaped = good.map((event) => ({ ...event, model: 'vendor/"odd" 模型' }))
  for (const [name, text] of [
    ['compact', sse(...good, '[DONE]')],
    ['with spaces', sse(...spaced, '[DONE]')],
    ['named only after the first', sse(first, ...good, '[DONE]')],
    ['not named at first', sse(unnamed, ...good, '[DONE]')],
    ['with quotes in it', sse(...escaped, '[DONE]')],
    ['changed on the way', sse(...good.map((event, i) => ({ ...event, model: `vendor/${i}` })), '[DONE]')],
    [
      'spelled in pretty print',
      good
        .map((event) =>
          JSON.stringify(event, null, 1)
            .split('\n')
            .map((line) => `data: ${line}\n`)
            .join(''),
        )
        .join('\n') + '\ndata: [DONE]\n\n',
    ],
  ] as const) {
    const { seen, chunks } = read(text)
    t.notMatch(seen, /vendor|模型/, name)
    t.ok(
      chunks.every(({ model }) => model === undefined || model === 'svc-2.1'),
      name,
    )
  }
})

t.test('a model id inside the text is text', async (t) => {
  const { seen } = read(sse(chunk({ content: 'I am "model":"vendor/big-model-2026"' }), chunk({}, 'stop'), '[DONE]'))
  t.match(chunksOf(seen)[0], { choices: [{ delta: { content: 'I am "model":"vendor/big-model-2026"' } }] })
})

t.test('usage is shown only if it was asked for, once, last', async (t) => {
  const every = good.map((event) => ({ ...event, usage }))
  for (const [name, text] of [
    ['in a chunk of its own', sse(...good, usageChunk, '[DONE]')],
    ['twice', sse(...good, usageChunk, usageChunk, '[DONE]')],
    ['on the finish', sse(...good.slice(0, -1), { ...chunk({}, 'stop'), usage }, '[DONE]')],
    ['on every chunk', sse(...every, '[DONE]')],
    ['null on every chunk, then its own', sse(...good.map((event) => ({ ...event, usage: null })), usageChunk, '[DONE]')],
  ] as const) {
    const unasked = read(text)
    t.notMatch(unasked.seen, /prompt_tokens/, `${name}: not asked, not shown`)
    t.same(unasked.usage, { inputTokens: 12, outputTokens: 3, estimated: false }, name)
    t.equal(unasked.chunks.filter(({ choices }) => (choices as unknown[]).length === 0).length, 0, 'no chunk without a choice')

    const asked = read(text, { includeUsage: true })
    t.equal(asked.seen.match(/prompt_tokens"/g)?.length, 1, `${name}: asked, shown once`)
    t.match(asked.chunks.at(-1), { choices: [], usage, model: 'svc-2.1', object: 'chat.completion.chunk', id: 'c1' })
    t.match(asked.seen, /\[DONE\]\n\n$/)
  }
})

t.test('an upstream that reports nothing is counted as its text passed', async (t) => {
  const text = sse(
    chunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: 10 }, () => chunk({ content: ' word' })),
    chunk({}, 'stop'),
    '[DONE]',
  )
  t.same(read(text).usage, { inputTokens: 99, outputTokens: 10, estimated: true })
  t.match(read(text, { includeUsage: true }).chunks.at(-1), {
    usage: { prompt_tokens: 99, completion_tokens: 10, total_tokens: 109 },
  })
  const large = sse(chunk({ content: 'x'.repeat(4_000) }), chunk({}, 'stop'), '[DONE]')
  t.same(read(large).usage, { inputTokens: 99, outputTokens: 1_000, estimated: true }, 'four bytes a token in large pieces')
})

t.test('of an answer that is cut off, what passed since the last report counts as well', async (t) => {
  const words = Array.from({ length: 10 }, () => chunk({ content: ' word' }))
  const opening = { ...chunk({ role: 'assistant', content: '' }), usage: { prompt_tokens: 12, completion_tokens: 0 } }
  const cut = (...events: object[]) => {
    const reader = new StreamReader({
      productId: 'svc-2.1',
      includeUsage: false,
      inputEstimate: 99,
      upstreamHost: 'u',
      onEvent: null,
    })
    reader.push(Buffer.from(sse(...events)))
    return reader.usageSoFar()
  }
  t.same(cut(opening, ...words), { inputTokens: 12, outputTokens: 10, estimated: true }, 'reported at the beginning')
  t.same(cut(opening), { inputTokens: 12, outputTokens: 0, estimated: false }, 'nothing has passed')
  t.same(
    cut(...words.map((event, i) => ({ ...event, usage: { prompt_tokens: 12, completion_tokens: i + 1 } }))),
    { inputTokens: 12, outputTokens: 10, estimated: false },
    'reported with every chunk',
  )
  t.same(cut(...words, usageChunk), { inputTokens: 12, outputTokens: 3, estimated: false }, 'reported at the end')
  t.same(cut(...words), { inputTokens: 99, outputTokens: 10, estimated: true }, 'not reported')
})

t.test('hostile usage numbers charge nothing that is not in the rules', async (t) => {
  for (const bad of [
    { prompt_tokens: -5, completion_tokens: 3 },
    { prompt_tokens: 12, completion_tokens: -3 },
    { prompt_tokens: '12', completion_tokens: '3' },
    { prompt_tokens: 12 },
    { completion_tokens: 3 },
    { prompt_tokens: 1e308, completion_tokens: 3 },
    { prompt_tokens: 12, completion_tokens: 1e308 },
    { prompt_tokens: null, completion_tokens: null },
    {},
    [],
    'many',
    7,
  ]) {
    const { usage, seen } = read(sse(...good, { ...usageChunk, usage: bad }, '[DONE]'))
    t.same(usage, { inputTokens: 99, outputTokens: usage.outputTokens, estimated: true }, JSON.stringify(bad))
    t.ok(Number.isSafeInteger(usage.outputTokens) && usage.outputTokens > 0)
    t.notMatch(seen, /prompt_tokens|completion_tokens/)
  }
  t.same(read(sse(...good, { ...usageChunk, usage: { prompt_tokens: 1.2, completion_tokens: 2.5 } }, '[DONE]')).usage, {
    inputTokens: 2,
    outputTokens: 3,
    estimated: false,
  })
})

t.test('every bad ending is a failure, wherever the bytes are cut', async (t) => {
  const error = { message: 'boom', code: 500 }
  for (const [name, text, reason] of [
    ['nothing at all', '', 'empty'],
    ['only comments', ': keep-alive\n\n: keep-alive\n\n', 'empty'],
    ['only the end mark', sse('[DONE]'), 'empty'],
    ['no finish reason, end of bytes', sse(...good.slice(0, -1)), 'no_finish'],
    ['no finish reason, end mark', sse(...good.slice(0, -1), '[DONE]'), 'no_finish'],
    ['an error first', sse({ error }), 'error_object'],
    ['an error first, then the end mark', sse({ error }, '[DONE]'), 'error_object'],
    ['an error in the middle', sse(good[0] ?? '', { error }, '[DONE]'), 'error_object'],
    ['an error after the finish', sse(...good, { error }), 'error_object'],
    ['an error in a choice', sse(good[0] ?? '', { ...chunk({}), choices: [{ index: 0, delta: {}, error }] }), 'error_object'],
    ['an error beside a choice', sse(good[0] ?? '', { ...chunk({}, 'stop'), error }), 'error_object'],
    ['an error of the flat kind', sse(good[0] ?? '', { object: 'error', message: 'boom' }), 'error_object'],
    ['an error of another family', sse({ type: 'error', message: 'boom' }), 'error_object'],
    [
      'an error event whose data does not say so',
      `${sse(good[0] ?? '')}event: error\ndata: {"message":"secret trouble"}\n\n`,
      'no_finish',
    ],
    ['a finish of error', sse(good[0] ?? '', chunk({}, 'error'), '[DONE]'), 'bad_finish'],
    ['a finish of abort', sse(good[0] ?? '', chunk({}, 'abort'), '[DONE]'), 'bad_finish'],
    ['the upstream ran out of resources', sse(good[0] ?? '', chunk({}, 'insufficient_system_resource'), '[DONE]'), 'bad_finish'],
    ['no JSON first', sse('<html>'), 'not_json'],
    ['no JSON in the middle', sse(good[0] ?? '', '{"choices":[{"mod'), 'not_json'],
    ['a number', sse('42'), 'not_json'],
    ['an array', sse('[]'), 'not_json'],
  ] as const) {
    for (const size of [undefined, 1, 7, 64])
      t.equal(failureOf(text, size === undefined ? {} : { size }), reason, `${name}, pieces of ${size ?? 'all'}`)
  }
})

t.test('what an upstream says beside its chunks does not reach the client', async (t) => {
  const stray = { detail: 'internal host 10.0.0.1 said no' }
  const ping = { type: 'ping' }
  const { seen } = read(sse(ping, good[0] ?? '', stray, ping, ...good.slice(1), { usage }, '[DONE]'))
  t.equal(seen, read(sse(...good, '[DONE]')).seen, 'an event without choices is no part of an answer')
  t.match(
    read(sse(ping, ...good, '[DONE]'), { includeUsage: true }).chunks.at(-1),
    { id: 'c1' },
    'nor is it what the usage chunk is made after',
  )
  t.equal(failureOf(sse(good[0] ?? '', stray)), 'no_finish')
  t.equal(failureOf(sse(ping, ping)), 'no_finish')
  const azure = read(sse({ ...chunk({}), choices: [], prompt_filter_results: [{ prompt_index: 0 }] }, ...good, '[DONE]'))
  t.equal(azure.chunks.length, good.length + 1, 'an empty list of choices is one')
  const verdict = { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [{ prompt_index: 0 }] }
  t.match(
    read(sse(verdict, ...good, usageChunk, '[DONE]'), { includeUsage: true }).chunks.at(-1),
    { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'svc-2.1', choices: [], usage },
    'but the usage chunk is made after the answer',
  )
})

t.test('nothing after the end mark counts', async (t) => {
  const { seen } = read(sse(...good, '[DONE]', { error: { message: 'late' } }))
  t.notMatch(seen, /late/)
})

t.test('an ending without [DONE], or without its blank line, is whole when it has a finish reason', async (t) => {
  const expected = read(sse(...good, '[DONE]')).seen
  t.equal(read(sse(...good)).seen, expected)
  t.equal(read(sse(...good).trimEnd()).seen, expected)
  t.equal(read(sse(...good, '[DONE]').trimEnd()).seen, expected)
})

t.test('a listener hears each event as text, and only events', async (t) => {
  const heard: string[] = []
  read(`: x\n\n${sse(...good, usageChunk, '[DONE]')}`, { onEvent: (json) => heard.push(json) })
  t.equal(heard.length, good.length)
  t.match(JSON.parse(heard[1] ?? ''), { choices: [{ delta: { content: '你好' } }] })
})

t.test('tool calls, reasoning and vendor fields pass untouched', async (t) => {
  const events = [
    chunk({
      role: 'assistant',
      content: null,
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":"\\"}' } }] }),
    chunk({ reasoning_content: 'thinking' }, null, { obfuscation: 'xyz', service_tier: 'default' }),
    chunk({}, 'tool_calls'),
  ]
  const { chunks } = read(sse(...events, '[DONE]'))
  t.same(
    chunks,
    events.map((event) => ({ ...event, model: 'svc-2.1' })),
  )
})
