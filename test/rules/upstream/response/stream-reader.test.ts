/** Streamed responses as a table of bytes: what the client receives and what is charged. */
import t from 'tap'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { MessageDecoder } from '../../../../src/codecs/messages/message-decoder.ts'
import { ResponseDecoder } from '../../../../src/codecs/responses/response-decoder.ts'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { toPublicUsage } from '../../../../src/upstream/response/usage.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'vendor/big-model-2026',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
/** Chunks of a second choice. */
const other = (delta: object, finish: string | null = null) => ({
  ...chunk({}),
  choices: [{ index: 1, delta, finish_reason: finish }],
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
  readonly productId?: string
  readonly outputCap?: number
}

const deaf = { consume: () => '', push: () => '', acceptTemplate: () => true, consumeTemplated: () => '' }
const bounds = { inputEstimate: 99, outputCap: 1_000 }

/** The client's frames for these upstream bytes, and the usage. */
function read(text: string, { includeUsage = false, size, onEvent, productId = 'svc-2.1', outputCap = 1_000 }: ReadOptions = {}) {
  const frames = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId, extraFields: [] },
    includeUsage,
    onEvent: onEvent ?? null,
  })
  const reader = new StreamReader({ bounds: { ...bounds, outputCap }, upstreamHost: 'u', sink: frames })
  const bytes = Buffer.from(text)
  let seen = ''
  for (let at = 0; at < bytes.length && !reader.isDone; at += size ?? bytes.length)
    seen += reader.push(bytes.subarray(at, at + (size ?? bytes.length)))
  if (!reader.isDone) seen += reader.end()
  seen += frames.buildTrailer(toPublicUsage(reader.report, reader.getUsage()))
  return { seen, usage: reader.getUsage(), chunks: chunksOf(seen), isCutOff: reader.isCutOff }
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

t.test('sends nothing of a choice after its finish reason', (t) => {
  const empty = { ...chunk({}), choices: [{ index: 0, delta: {} }] }
  const finished = good.length
  for (const [name, ...more] of [
    ['usage beside an empty choice', { ...empty, usage }],
    ['an empty delta', empty],
    ['a role without a text, and nulls', { ...empty, choices: [{ index: 0, delta: { role: 'assistant', content: null } }] }],
  ] as const) {
    const { chunks, usage: measured } = read(sse(...good, ...more, '[DONE]'))
    t.equal(chunks.length, finished, name)
    t.equal(measured.outputTokens > 0, true)
  }
  const first = { ...chunk({ role: 'assistant', content: '' }), usage: { ...usage, completion_tokens: 0 } }
  t.equal(read(sse(first, ...good.slice(1), '[DONE]')).chunks.length, finished, 'usage with every chunk keeps the role')
  t.end()
})

t.test('passes a good stream with the product as its model, wherever it is cut', async (t) => {
  const text = sse(...good, usageChunk, '[DONE]')
  const expected = sse(...good.map((event) => ({ ...event, model: 'svc-2.1' })), '[DONE]')
  for (const size of [undefined, ...Array.from({ length: 70 }, (_, i) => i + 1)]) {
    const { seen, usage } = read(text, size === undefined ? {} : { size })
    t.equal(seen, expected, `in pieces of ${size ?? 'all'}`)
    t.same(usage, { inputTokens: 12, outputTokens: 3, estimated: false })
  }
})

t.test('hides the upstream’s model id in every chunk, however it is spelled', async (t) => {
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

t.test('leaves a model id inside the text', async (t) => {
  const { seen } = read(sse(chunk({ content: 'I am "model":"vendor/big-model-2026"' }), chunk({}, 'stop'), '[DONE]'))
  t.match(chunksOf(seen)[0], { choices: [{ delta: { content: 'I am "model":"vendor/big-model-2026"' } }] })
})

t.test('sends usage only if it was requested, once, last', async (t) => {
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

t.test('counts the text of an upstream that reports nothing', async (t) => {
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
  t.same(read(large).usage, { inputTokens: 99, outputTokens: 1_000, estimated: true }, 'four bytes per token in large pieces')
})

t.test('adds what passed since the last report of an interrupted response', async (t) => {
  const words = Array.from({ length: 10 }, () => chunk({ content: ' word' }))
  const opening = { ...chunk({ role: 'assistant', content: '' }), usage: { prompt_tokens: 12, completion_tokens: 0 } }
  const cutAt = (outputCap: number, ...events: object[]) => {
    const reader = new StreamReader({ bounds: { ...bounds, outputCap }, upstreamHost: 'u', sink: deaf })
    reader.push(Buffer.from(sse(...events)))
    return reader.getUsageSoFar()
  }
  const cut = (...events: object[]) => cutAt(1_000, ...events)
  t.same(cut(opening, ...words), { inputTokens: 12, outputTokens: 10, estimated: true }, 'reported at the beginning')
  t.same(cut(opening), { inputTokens: 12, outputTokens: 0, estimated: false }, 'nothing has passed')
  t.same(
    cut(...words.map((event, i) => ({ ...event, usage: { prompt_tokens: 12, completion_tokens: i + 1 } }))),
    { inputTokens: 12, outputTokens: 10, estimated: false },
    'reported with every chunk',
  )
  t.same(cut(...words, usageChunk), { inputTokens: 12, outputTokens: 3, estimated: false }, 'reported at the end')
  t.same(cut(...words), { inputTokens: 99, outputTokens: 10, estimated: true }, 'not reported')
  t.same(cutAt(8, opening, ...words), { inputTokens: 12, outputTokens: 8, estimated: true }, 'what passed counts up to the cap')
  const overCap = { ...opening, usage: { prompt_tokens: 12, completion_tokens: 9 } }
  t.same(cutAt(8, overCap, ...words), { inputTokens: 12, outputTokens: 9, estimated: true }, 'a report above the cap stays')
})

t.test('charges nothing outside the rules for hostile usage numbers', async (t) => {
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

t.test('fails every bad ending, wherever the bytes are cut', async (t) => {
  const error = { message: 'boom', code: 500 }
  const named = '{"model":"vendor/big-model-2026",'
  const nameless = good.map((event) => ({ ...event, model: undefined }))
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
      'error_object',
    ],
    ['an error event after the finish', `${sse(...good)}event: error\ndata: no JSON\n\n`, 'error_object'],
    ['half an event that has choices', sse(...good, `${named}"choices":[{"delta":{"content":"x"`, '[DONE]'), 'not_json'],
    ['a web page that speaks of choices', sse(...good, `<html>${named}"choices"</html>`, '[DONE]'), 'not_json'],
    ['an end mark with more behind it', sse(...good, `[DONE] ${named}"choices":[]}`, '[DONE]'), 'not_json'],
    ['half an event of an upstream that names no model', sse(...nameless, '{"choices":[{"delta":', '[DONE]'), 'not_json'],
    ['text after the first event', sse(good[0] ?? '', 'upstream says "choices" here', ...good.slice(1)), 'not_json'],
    ['an empty finish reason', sse(good[0] ?? '', chunk({}, ''), '[DONE]'), 'no_finish'],
    ['one choice of two without an end', sse(...good, other({ content: 'x' }), '[DONE]'), 'no_finish'],
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

t.test('hides what an upstream sends beside its chunks', async (t) => {
  const stray = { detail: 'internal host 10.0.0.1 said no' }
  const ping = { type: 'ping' }
  const { seen } = read(sse(ping, good[0] ?? '', stray, ping, ...good.slice(1), { usage }, '[DONE]'))
  t.equal(seen, read(sse(...good, '[DONE]')).seen, 'skips an event without choices')
  t.match(
    read(sse(ping, ...good, '[DONE]'), { includeUsage: true }).chunks.at(-1),
    { id: 'c1' },
    'nor is the usage chunk made from it',
  )
  t.equal(failureOf(sse(good[0] ?? '', stray)), 'no_finish')
  t.equal(failureOf(sse(ping, ping)), 'no_finish')
  const azure = read(sse({ ...chunk({}), choices: [], prompt_filter_results: [{ prompt_index: 0 }] }, ...good, '[DONE]'))
  t.equal(azure.chunks.length, good.length + 1, 'treats an empty list of choices as a choice list')
  const verdict = { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [{ prompt_index: 0 }] }
  t.match(
    read(sse(verdict, ...good, usageChunk, '[DONE]'), { includeUsage: true }).chunks.at(-1),
    { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'svc-2.1', choices: [], usage },
    'but the usage chunk is made from the response',
  )
})

t.test('ignores everything after [DONE]', async (t) => {
  const { seen } = read(sse(...good, '[DONE]', { error: { message: 'late' } }))
  t.notMatch(seen, /late/)
})

t.test('accepts an ending without [DONE] or blank line if there is a finish reason', async (t) => {
  const expected = read(sse(...good, '[DONE]')).seen
  t.equal(read(sse(...good)).seen, expected)
  t.equal(read(sse(...good).trimEnd()).seen, expected)
  t.equal(read(sse(...good, '[DONE]').trimEnd()).seen, expected)
})

t.test('passes each event to a listener as text, and only events', async (t) => {
  const heard: string[] = []
  read(`: x\n\n${sse(...good, usageChunk, '[DONE]')}`, { onEvent: (json) => heard.push(json) })
  t.equal(heard.length, good.length)
  t.match(JSON.parse(heard[1] ?? ''), { choices: [{ delta: { content: '你好' } }] })
})

t.test('passes tool calls, reasoning and vendor fields unchanged', async (t) => {
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

t.test('accepts streams that begin or end slightly differently', async (t) => {
  const expected = read(sse(...good, '[DONE]')).seen
  for (const [name, text] of [
    ['a byte order mark', `\uFEFF${sse(...good, '[DONE]')}`],
    ['blanks behind the end mark', sse(...good, '[DONE]  ')],
    ['an end mark with CR LF', sse(...good, '[DONE]').replaceAll('\n', '\r\n')],
    ['ids and times of reconnection', sse(...good, '[DONE]').replaceAll('data:', 'id: 1\nretry: 5\ndata:')],
    ['an event of blanks', sse(good[0] ?? '', ' ', ...good.slice(1), '[DONE]')],
  ] as const) {
    for (const size of [undefined, 1, 5]) t.equal(read(text, size === undefined ? {} : { size }).seen, expected, name)
  }
})

t.test('sends null for an empty finish reason', async (t) => {
  const { chunks } = read(sse(chunk({ content: 'a' }, ''), chunk({ content: 'b' }, ''), chunk({}, 'stop'), '[DONE]'))
  t.match(chunks, [{ choices: [{ finish_reason: null }] }, { choices: [{ finish_reason: null }] }, {}])
})

t.test('finishes several choices separately', async (t) => {
  const { chunks } = read(sse(chunk({ content: 'a' }), other({ content: 'b' }), other({}, 'length'), chunk({}, 'stop'), '[DONE]'))
  t.equal(chunks.length, 4)
})

t.test('cuts off a stream that ignores the cap, and finishes its open choices with `length`', async (t) => {
  const words = (count: number) => Array.from({ length: count }, (_, index) => chunk({ content: index === 0 ? 'one' : ' more' }))
  // Half as much again and 16 events; then the bytes of as many tokens.
  for (const size of [undefined, 7, 1_000]) {
    const { chunks, usage: charged, isCutOff } = read(sse(...words(1_000), usageChunk), { outputCap: 5, ...(size && { size }) })
    t.equal(isCutOff, true)
    t.equal(chunks.length, 25, '24 words and the finish')
    t.match(chunks.at(-1), { id: 'c1', model: 'svc-2.1', choices: [{ index: 0, delta: {}, finish_reason: 'length' }] })
    t.same(charged, { inputTokens: 99, outputTokens: 5, estimated: true, ignoredCap: true })
  }
  const both = sse(
    chunk({ content: 'a' }),
    other({ content: 'b' }),
    chunk({}, 'stop'),
    ...Array.from({ length: 99 }, () => other({ content: ' more' })),
  )
  const { chunks } = read(both, { outputCap: 10 })
  t.match(chunks.at(-1), { choices: [{ index: 1, finish_reason: 'length' }] })
  t.equal(
    chunks.filter(({ choices }) => JSON.stringify(choices).includes('"index":0,"delta":{}')).length,
    1,
    'a finished choice stays',
  )
  for (const [name, events] of [
    ['letters are less than a token', Array.from({ length: 100 }, () => chunk({ content: 'x' }))],
    ['long tokens', Array.from({ length: 20 }, () => chunk({ content: '-'.repeat(16) }))],
    ['short of the margin', words(45)],
  ] as const)
    t.equal(read(sse(...events, chunk({}, 'stop'), '[DONE]'), { outputCap: 20 }).isCutOff, false, name)
  const huge = sse(chunk({ content: 'y'.repeat(10_000) }), chunk({ content: 'z' }))
  t.equal(read(huge, { outputCap: 20 }).isCutOff, true, 'many tokens in one event')
})

t.test('takes choices as finished that an upstream leaves open when all else is complete', async (t) => {
  const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }
  const start = [chunk({ content: 'a' }), other({ content: 'b' }), { ...other(call), choices: [{ index: 2, delta: call }] }]
  const { chunks, usage: charged } = read(sse(...start, chunk({}, 'stop'), usageChunk, '[DONE]'))
  t.match(chunks.at(-1), {
    choices: [
      { index: 1, delta: {}, finish_reason: 'stop' },
      { index: 2, delta: {}, finish_reason: 'tool_calls' },
    ],
  })
  t.same(charged, { inputTokens: 12, outputTokens: 3, estimated: false })
  for (const [name, events] of [
    ['no choice has finished', [...start, usageChunk, '[DONE]']],
    ['no report', [...start, chunk({}, 'stop'), '[DONE]']],
    ['no [DONE]', [...start, chunk({}, 'stop'), usageChunk]],
  ] as const)
    t.equal(failureOf(sse(...events)), 'no_finish', name)
})

t.test('accepts a product name in any script, and an event of any size', async (t) => {
  const { chunks } = read(sse(chunk({ content: 'x'.repeat(1_000_000) }), chunk({ content: '额度 🎉' }), chunk({}, 'stop')), {
    productId: '模型-é',
    size: 60_000,
    outputCap: 100_000,
  })
  t.ok(chunks.every(({ model }) => model === '模型-é'))
  t.match(chunks[1], { choices: [{ delta: { content: '额度 🎉' } }] })
})

t.test('removes the operator’s data from every event, wherever it is', async (t) => {
  const extras = {
    provider: 'Vendor',
    cost: 0.1,
    x_groq: { id: 'req', usage },
    usage: { ...usage, cost: 0.1, cost_details: { upstream: 0.1 }, is_byok: true },
  }
  const spoken = chunk({ content: 'model', provider_specific_fields: { model: 'vendor/x' } }, null, extras)
  const nested = chunk({ content: 'a', audio: { model: 'vendor/big-model-2026' } }, null, { metadata: [{ model: 'vendor/y' }] })
  const first = JSON.stringify(nested).replace('"id":"c1",', '"id":"c1","note":{"model":"vendor/big-model-2026"},')
  const ending = { ...chunk({}, 'stop'), choices: [{ index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'eos' }] }
  const { seen, chunks, usage: charged } = read(sse(first, spoken, nested, ending, '[DONE]'), { includeUsage: true })
  t.notMatch(seen, /vendor|Vendor|cost|is_byok|native|provider|x_groq|"note"/)
  t.match(chunks[1], { choices: [{ delta: { content: 'model' } }] }, 'a word is a word')
  t.match(chunks[2], {
    model: 'svc-2.1',
    metadata: [{ model: 'svc-2.1' }],
    choices: [{ delta: { audio: { model: 'svc-2.1' } } }],
  })
  t.match(chunks.at(-1), { usage })
  t.same(charged, { inputTokens: 12, outputTokens: 3, estimated: false })
})

t.test('finds usage where vendors put it, and keeps it if a later report has less', async (t) => {
  const inChoice = { ...chunk({}, 'stop'), choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }
  for (const [name, text] of [
    ['in the choice', sse(...good.slice(0, -1), inChoice, '[DONE]')],
    ['beside Groq’s own', sse(...good.slice(0, -1), chunk({}, 'stop', { x_groq: { usage } }), '[DONE]')],
    ...[{}, null, [], 'many', true, { prompt_tokens: 0, completion_tokens: 0 }, { prompt_tokens: 12, completion_tokens: 0 }].map(
      (later) => [`then ${JSON.stringify(later)}`, sse(...good, usageChunk, { ...usageChunk, usage: later }, '[DONE]')] as const,
    ),
  ] as const) {
    const { seen, usage: charged, chunks } = read(text)
    t.same(charged, { inputTokens: 12, outputTokens: 3, estimated: false }, name)
    t.notMatch(seen, /usage|x_groq|many/, `${name}: nothing of it is shown`)
    t.equal(chunks.length, good.length, `${name}: no chunk without a choice`)
  }
})

t.test('replaces an empty report beside output by our own count', async (t) => {
  const words = Array.from({ length: 500 }, () => chunk({ content: ' word' }))
  const zero = { ...usageChunk, usage: { prompt_tokens: 0, completion_tokens: 0 } }
  t.same(read(sse(...words, chunk({}, 'stop'), zero, '[DONE]')).usage, {
    inputTokens: 99,
    outputTokens: 500,
    estimated: true,
    disputed: { inputTokens: 0, outputTokens: 0 },
  })
  const nearly = { ...usageChunk, usage: { prompt_tokens: 12, completion_tokens: 1 } }
  const { usage: charged, chunks } = read(sse(...words, chunk({}, 'stop'), nearly, '[DONE]'), { includeUsage: true })
  t.same(charged, {
    inputTokens: 12,
    outputTokens: 500,
    estimated: true,
    disputed: { inputTokens: 12, outputTokens: 1 },
  })
  t.match(
    chunks.at(-1),
    { usage: { prompt_tokens: 12, completion_tokens: 500, total_tokens: 512 } },
    'the client sees what it pays for',
  )
})

t.test('clamps citations of a stream to its text, also those that precede it', async (t) => {
  const cite = (start: number, end: number) => ({
    type: 'url_citation',
    url_citation: { url: 'u', start_index: start, end_index: end },
  })
  const { chunks } = read(
    sse(
      chunk({ annotations: [cite(0, 5), cite(0, 1e9)] }),
      chunk({ content: 'Hello' }),
      chunk({ annotations: [cite(1, 4), cite(5, 2)] }),
      chunk({ content: ' there' }, 'stop'),
      '[DONE]',
    ),
  )
  const places = chunks.map(({ choices }) => {
    const [choice] = choices as { delta: { annotations?: { url_citation: { start_index: number; end_index: number } }[] } }[]
    return choice?.delta.annotations?.map(({ url_citation: at }) => [at.start_index, at.end_index])
  })
  t.same(places, [
    undefined,
    undefined,
    [[1, 4]],
    [
      [0, 5],
      [0, 0],
      [0, 0],
    ],
  ])
})

t.test('fails at an error in the events of another API', async (t) => {
  for (const [createDecoder, text, reason] of [
    [() => new MessageDecoder('mbr_1'), 'data: {"type":"error","error":{"type":"overloaded_error"}}', 'error_object'],
    [() => new MessageDecoder('mbr_1'), 'event: error\ndata: {"error":{}}', 'error_object'],
    [() => new MessageDecoder('mbr_1'), 'data: null', 'not_json'],
    [() => new MessageDecoder('mbr_1'), 'data: {', 'not_json'],
    [() => new ResponseDecoder('mbr_1'), 'data: {"type":"error","code":"server_error"}', 'error_object'],
    [() => new ResponseDecoder('mbr_1'), 'data: {"type":"response.failed","response":{}}', 'error_object'],
    [() => new ResponseDecoder('mbr_1'), 'data: []', 'not_json'],
  ] as const) {
    const reader = new StreamReader({ bounds, upstreamHost: 'u', sink: deaf, decoder: createDecoder() })
    try {
      reader.push(Buffer.from(`${text}\n\n`))
      t.fail(`${text} is read`)
    } catch (error) {
      t.match(error, { facts: { kind: 'in_band', reason }, upstreamHost: 'u' }, text)
    }
  }
})
