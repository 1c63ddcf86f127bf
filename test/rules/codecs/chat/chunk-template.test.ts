/** Chunks that equal the previous one except for their text: recognized, and never assumed. */
import { isStringOneByteRepresentation } from 'node:v8'
import t from 'tap'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { StreamAggregator } from '../../../../src/codecs/chat/stream-aggregator.ts'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { learnTemplate, decodeJsonString, matchTemplate } from '../../../../src/codecs/chat/chunk-template.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'

const chunk = (delta: object, choice: object = {}, more: object = {}): Record<string, unknown> => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'vendor/big',
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
  ...more,
})

/** The text of the second chunk if it matches the first. */
function wordsAfter(first: string, second: string): string | null {
  const likeness = learnTemplate(JSON.parse(first) as Record<string, unknown>, first)
  const written = likeness === null ? null : matchTemplate(second, likeness)
  return written === null ? null : decodeJsonString(written)
}

t.test('matches a chunk that differs in its text only', async (t) => {
  for (const [name, make] of [
    ['text', (words: string) => JSON.stringify(chunk({ content: words }))],
    ['reasoning', (words: string) => JSON.stringify(chunk({ reasoning_content: words, content: null }))],
    ['a role each time', (words: string) => JSON.stringify(chunk({ role: 'assistant', content: words, refusal: null }))],
    ['the model behind the words', (words: string) => `{"choices":[{"delta":{"content":${JSON.stringify(words)}}}],"model":"m"}`],
    ['blanks', (words: string) => `{"choices": [{"index": 0, "delta": {"content": ${JSON.stringify(words)}}}]}`],
    ['what a router adds', (words: string) => JSON.stringify(chunk({ content: words }, {}, { provider: 'X', usage: null }))],
  ] as const) {
    for (const words of ['word', '', ' "quoted\\" }\n', '你好 😀', '"content":"x"', '}],"choices":[']) {
      t.equal(wordsAfter(make('first'), make(words)), words, `${name}: ${words}`)
      t.equal(wordsAfter(make('the "first"\\'), make(words)), words, `${name}, after one with quotes: ${words}`)
    }
  }
})

t.test('does not match a chunk that holds more than text, nor learn from it', async (t) => {
  const words = JSON.stringify(chunk({ content: 'word' }))
  for (const [name, other] of [
    ['its end', chunk({ content: 'word' }, { finish_reason: 'stop' })],
    ['another choice', chunk({ content: 'word' }, { index: 1 })],
    ['two choices', { ...chunk({}), choices: [0, 1].map((index) => ({ index, delta: { content: 'word' } })) }],
    ['probabilities', chunk({ content: 'word' }, { logprobs: { content: [{ token: 'word' }] } })],
    ['a call', chunk({ content: 'word', tool_calls: [{ index: 0, function: { arguments: 'word' } }] })],
    ['a citation', chunk({ content: 'word', annotations: [{ type: 'url_citation' }] })],
    ['reasoning as well', chunk({ content: 'word', reasoning: 'word' })],
    ['an error', chunk({ content: 'word' }, { error: { message: 'word' } })],
    ['parts', chunk({ content: [{ type: 'text', text: 'word' }] })],
    ['nothing', chunk({})],
  ] as const) {
    const text = JSON.stringify(other)
    t.equal(wordsAfter(words, text), null, `${name}, after words`)
    if (name === 'another choice' || name === 'an error') continue
    t.equal(wordsAfter(text, text), null, `${name}, twice`)
  }
  t.equal(wordsAfter('{"choices":[{"delta":{"content":"a","content":"b"}}]}', words), null, 'words that stand twice')
  t.equal(wordsAfter(JSON.stringify(chunk({ content: 'x'.repeat(20_000) })), words), null, 'nothing is learned from a huge chunk')
})

t.test('parses a chunk that only begins and ends like the template but holds no string', async (t) => {
  const [before = '', after = ''] = JSON.stringify(chunk({ content: '|' })).split('|')
  for (const [name, between] of [
    ['a field of its own', 'x"},"error":{"message":"y'],
    ['another string', 'x","role":"y'],
    ['half an escape', 'x\\'],
    ['an escape that is none', '\\x41'],
    ['a control character', 'x\u0001y'],
    ['a line break', 'x\ny'],
  ] as const) {
    t.equal(wordsAfter(`${before}word${after}`, before + between + after), null, name)
  }
})

const sse = (...events: string[]) => events.map((event) => `data: ${event}\n\n`).join('')
const bounds = { inputEstimate: 9, outputCap: 1_000 }

t.test('forwards, measures and aggregates templated chunks like parsed ones', async (t) => {
  const said = [' one', ' "two"\n', '', ' 三', '\u2028']
  const deltas = [
    { role: 'assistant', content: '' },
    ...said.map((words) => ({ reasoning_content: words })),
    ...said.map((content) => ({ content })),
    { tool_calls: [{ index: 0, id: 'call', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    ...said.map((content) => ({ content })),
  ]
  for (const more of [{}, { provider: 'the vendor' }]) {
    const events = [...deltas.map((delta) => chunk(delta, {}, more)), chunk({}, { finish_reason: 'tool_calls' }, more)]
    const text = Buffer.from(sse(...events.map((event) => JSON.stringify(event)), '[DONE]'))
    const told: string[] = []
    const frames = new ClientEvents({
      allowlist: { productId: 'ours', extraFields: [] },
      context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
      includeUsage: false,
      onEvent: (json) => told.push(json),
    })
    const shown = new StreamReader({ bounds, upstreamHost: 'u', sink: frames })
    const wanted = events.map((event) => JSON.stringify({ ...event, model: 'ours', provider: undefined }))
    t.equal(shown.push(text), sse(...wanted))
    t.same(told, wanted)

    const assembly = new StreamAggregator()
    const kept = new StreamReader({ bounds, upstreamHost: 'u', sink: assembly })
    kept.push(text)
    const parsed = new StreamAggregator()
    for (const event of events) parsed.consume(event)
    t.same(assembly.toDocument(), parsed.toDocument())
    for (const reader of [shown, kept]) {
      t.equal(reader.eventCount, events.length)
      t.equal(reader.countedTokens, 13, 'one event per token with content')
    }
  }
})

t.test('parses one chunk per kind, and gives up where none matches', async (t) => {
  const heard = { parsed: 0, expected: 0, alike: 0 }
  const counting = () => ({
    sink: {
      consume: () => (heard.parsed++, ''),
      acceptTemplate: () => (heard.expected++, true),
      consumeTemplated: () => (heard.alike++, ''),
      push: () => '',
    },
    bounds,
    upstreamHost: 'u',
  })
  const events = (count: number, more: (nth: number) => object) =>
    Buffer.from(sse(...Array.from({ length: count }, (_, nth) => JSON.stringify(chunk({ content: `${nth}` }, {}, more(nth))))))
  new StreamReader(counting()).push(events(50, () => ({})))
  t.same(heard, { parsed: 1, expected: 1, alike: 49 })
  Object.assign(heard, { parsed: 0, expected: 0, alike: 0 })
  new StreamReader(counting()).push(events(50, (nth) => ({ obfuscation: 'x'.repeat(nth + 1) })))
  t.same(heard, { parsed: 50, expected: 4, alike: 0 })
  Object.assign(heard, { parsed: 0, expected: 0, alike: 0 })
  new StreamReader(counting()).push(events(50, () => ({ usage: { prompt_tokens: 1, completion_tokens: 2 } })))
  t.same(heard, { parsed: 50, expected: 0, alike: 0 }, 'each report of usage is read')
})

t.test('accepts a citation into text of templated chunks', async (t) => {
  const citing = (end: number) => ({ annotations: [{ type: 'url_citation', url_citation: { start_index: 0, end_index: end } }] })
  const frames = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'ours', extraFields: [] },
    includeUsage: false,
    onEvent: null,
  })
  const reader = new StreamReader({ bounds, upstreamHost: 'u', sink: frames })
  const words = ['1234', '5678', '90'].map((content) => JSON.stringify(chunk({ content })))
  reader.push(Buffer.from(sse(...words)))
  t.match(reader.push(Buffer.from(sse(JSON.stringify(chunk(citing(10)))))), '"end_index":10')
  const none = reader.push(Buffer.from(sse(JSON.stringify(chunk(citing(11))))))
  t.notMatch(none, '"end_index":11', 'nor past it')
})

t.test('keeps strings of one byte per character one-byte', async (t) => {
  const frames = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'ours', extraFields: [] },
    includeUsage: false,
    onEvent: null,
  })
  const reader = new StreamReader({ bounds, upstreamHost: 'u', sink: frames })
  for (const content of ['one', 'two', 'three', 'four'])
    t.ok(isStringOneByteRepresentation(reader.push(Buffer.from(sse(JSON.stringify(chunk({ content })))))), content)
})

t.test('fails the stream at a damaged event among matching ones', async (t) => {
  const [before = '', after = ''] = JSON.stringify(chunk({ content: '|' })).split('|')
  const frames = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'ours', extraFields: [] },
    includeUsage: false,
    onEvent: null,
  })
  const reader = new StreamReader({ bounds, upstreamHost: 'u', sink: frames })
  reader.push(Buffer.from(sse(`${before}a${after}`, `${before}b${after}`)))
  t.throws(() => reader.push(Buffer.from(sse(`${before}\\q${after}`))), UpstreamFailure)
})
