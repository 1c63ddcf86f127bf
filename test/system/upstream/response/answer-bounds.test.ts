/** Answers beyond what any honest one has fail before their parts are processed, and what is below takes linear time. */
import t from 'tap'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { MessageDecoder } from '../../../../src/codecs/messages/message-decoder.ts'
import { ResponseDecoder } from '../../../../src/codecs/responses/response-decoder.ts'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { hasTooManyParts, hasTooManyValues } from '../../../../src/codecs/answer-bounds.ts'
import { StreamAggregator } from '../../../../src/codecs/chat/stream-aggregator.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'
import { measureGrowth } from '../../../support/cpu-growth.ts'
import type { AnswerDecoder } from '../../../../src/codecs/answer-decoder.ts'

const chunk = (delta: object, more: object = {}) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: null, ...more }] })
const call = (index: number, more: object = {}) => ({
  index,
  id: `call_${index}`,
  function: { name: 'f', arguments: '{}' },
  ...more,
})
const range = <Item>(count: number, create: (index: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, index) => create(index))
const blockStart = (index: number, type = 'tool_use') => ({
  type: 'content_block_start',
  index,
  content_block: { type, id: `t${index}`, name: 'f', input: {} },
})
const item = (index: number) => ({
  type: 'response.output_item.added',
  output_index: index,
  item: { type: 'function_call', call_id: `c${index}`, name: 'f' },
})

const createReaders = (decoder: () => AnswerDecoder | null) => ({
  forwarded: () => createReader(decoder(), false),
  aggregated: () => createReader(decoder(), true),
})

function createReader(decoder: AnswerDecoder | null, isAggregated: boolean): StreamReader {
  const events = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'p', extraFields: [] },
    includeUsage: false,
    onEvent: null,
  })
  const sink = isAggregated ? new StreamAggregator() : events
  return new StreamReader({ bounds: { inputEstimate: 1, outputCap: 1e9 }, upstreamHost: 'host', sink, decoder })
}

function push(reader: StreamReader, events: readonly (object | string)[]): void {
  pushText(reader, toText(events))
}

function toText(events: readonly (object | string)[]): string {
  return events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
}

function pushText(reader: StreamReader, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 65_536) reader.push(bytes.subarray(at, at + 65_536))
}

const chat = createReaders(() => null)
const messages = createReaders(() => new MessageDecoder('mbr_1'))
const responses = createReaders(() => new ResponseDecoder('mbr_1'))

const many = 20_000
const tooLarge: Readonly<Record<string, readonly [typeof chat, readonly (object | string)[]]>> = {
  'calls in one event': [chat, [chunk({ tool_calls: range(many, call) })]],
  'calls in as many events': [chat, range(many, (index) => chunk({ tool_calls: [call(index)] }))],
  'calls without an index': [chat, range(many, (index) => chunk({ tool_calls: [{ ...call(index), index: undefined }] }))],
  'calls with one index': [chat, range(many, (index) => chunk({ tool_calls: [call(index, { index: 0 })] }))],
  'calls without index and id': [chat, range(many, () => chunk({ tool_calls: [{ function: { name: 'f', arguments: '{}' } }] }))],
  'pieces of one call in one event': [chat, [chunk({ tool_calls: range(many, () => call(0)) })]],
  choices: [chat, range(many, (index) => chunk({ content: 'a' }, { index }))],
  'choices in one event': [chat, [{ choices: range(many, (index) => ({ index, delta: {} })) }]],
  'an event of five megabytes': [chat, [chunk({ content: 'x'.repeat(5 * 2 ** 20) })]],
  'an event that never ends': [chat, ['x'.repeat(20 * 2 ** 20)]],
  'twenty megabytes of nesting': [chat, ['['.repeat(20 * 2 ** 20)]],
  'an event with a million values': [chat, [`{"choices":[],"x":[${'0,'.repeat(1e6)}0]}`]],
  'an event with as many objects': [chat, [`{"choices":[],"x":[${'{},'.repeat(1e6)}0]}`]],
  'calls of Messages': [messages, range(many, (index) => blockStart(index))],
  'ended calls of Messages': [
    messages,
    range(many, (index) => [blockStart(index), { type: 'content_block_stop', index }]).flat(),
  ],
  'blocks of Messages that do not end': [messages, range(many, (index) => blockStart(index, 'thinking'))],
  'an event of Messages': [messages, [{ type: 'content_block_delta', delta: { type: 'text_delta', text: 'x'.repeat(5e6) } }]],
  'a signature of Messages': [
    messages,
    [
      blockStart(0, 'thinking'),
      ...range(20, () => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'signature_delta', signature: 'x'.repeat(1e6) },
      })),
    ],
  ],
  'calls of Responses': [responses, range(many, item)],
  'items of Responses': [responses, range(many, (index) => ({ ...item(index), item: { type: 'message' } }))],
  'an end of Responses with as many calls': [
    responses,
    [{ type: 'response.completed', response: { output: range(many, (index) => item(index).item) } }],
  ],
}

/** A member can ask for these, so that what was forwarded before is charged. */
const tooManyCalls: ReadonlySet<string> = new Set([
  'calls in as many events',
  'calls without an index',
  'calls with one index',
  'calls without index and id',
  'ended calls of Messages',
  'an end of Responses with as many calls',
  'calls of Responses',
])

for (const [name, [readers, events]] of Object.entries(tooLarge))
  t.test(`${name}: fails as too large, forwarded and aggregated`, async (t) => {
    for (const create of [readers.forwarded, readers.aggregated]) {
      try {
        push(create(), events)
        t.fail('it is read')
      } catch (error) {
        t.ok(error instanceof UpstreamFailure)
        t.match((error as UpstreamFailure).facts, {
          kind: 'in_band',
          reason: tooManyCalls.has(name) ? 'too_many_calls' : 'too_large',
        })
      }
    }
  })

t.test('what honest answers have passes: hundreds of calls, a picture, and the logprobs of many tokens', async (t) => {
  for (const create of [chat.forwarded, chat.aggregated]) {
    const reader = create()
    push(
      reader,
      range(400, (index) => chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '' } }] })),
    )
    push(
      reader,
      range(400, (index) => chunk({ tool_calls: [{ index, function: { arguments: '{"a":1}' } }] })),
    )
    push(reader, [chunk({ images: [{ image_url: { url: `data:image/png;base64,${'A'.repeat(3 * 2 ** 20)}` } }] })])
    const logprob = {
      token: 'a',
      logprob: -1,
      bytes: [97],
      top_logprobs: range(20, () => ({ token: 'a', logprob: -1, bytes: [97] })),
    }
    push(reader, [
      chunk({ content: 'a' }, { logprobs: { content: range(200, () => logprob) } }),
      chunk({}, { finish_reason: 'stop' }),
    ])
    t.equal(reader.allChoicesFinished, true)
  }
})

t.test('whole answers have the same bounds', async (t) => {
  const choice = { message: { tool_calls: range(many, call) } }
  t.ok(hasTooManyParts({ choices: [choice] }))
  t.ok(hasTooManyParts({ choices: range(many, () => ({})) }))
  t.notOk(hasTooManyParts({ choices: [{ message: { tool_calls: range(400, call) } }] }))
  t.ok(hasTooManyParts({ choices: range(2, () => ({ message: { tool_calls: range(400, call) } })) }), 'calls of all choices')
  t.ok(hasTooManyValues(`[${'[],'.repeat(1e6)}0]`))
  t.notOk(hasTooManyValues(JSON.stringify({ text: ',[{'.repeat(1e6), other: '\\",'.repeat(1e6) })), 'a text is one value')
})

const maxGrowth = 2.6

t.test('assembles text, arguments and indexed items in linear time', async (t) => {
  const kinds: Readonly<Record<string, (index: number) => object>> = {
    text: () => chunk({ content: 'word ' }),
    arguments: () => chunk({ tool_calls: [{ index: 0, function: { arguments: '"}{"' } }] }),
    'arguments with a repeated name': (index) =>
      chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: index === 0 ? '{"a":"' : '}' } }] }),
    'indexed items': (index) => chunk({ reasoning_details: [{ index, type: `t${index % 3}`, text: 'word' }] }),
    'items of many types': (index) => chunk({ reasoning_details: [{ index: 0, type: `t${index}`, text: 'word' }] }),
    logprobs: () => chunk({ content: 'a' }, { logprobs: { content: [{ token: 'a', logprob: -1 }] } }),
    'early citations': () => chunk({ annotations: [{ url_citation: { start_index: 0, end_index: 1e6 } }] }),
  }
  for (const [name, create] of Object.entries(kinds)) {
    const { growth } = measureGrowth((size) => {
      const text = toText(range(size, create))
      return () => pushText(chat.aggregated(), text)
    }, maxGrowth)
    t.ok(growth <= maxGrowth, `${name}: ${growth.toFixed(1)} times the time for twice as much`)
  }
  const { growth } = measureGrowth((size) => {
    const text = toText([
      chunk({ annotations: range(size, () => ({ type: 'x', url_citation: { start_index: 0, end_index: 9 } })) }),
    ])
    return () => pushText(chat.forwarded(), text)
  }, maxGrowth)
  t.ok(growth <= maxGrowth, `citations in one event: ${growth.toFixed(1)} times the time for twice as many`)
})
