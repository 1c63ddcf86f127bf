/** Answers in the forms of other vendors, as members of each API receive them. `src/codecs/vendors/README.md` has the vendors. */
import t from 'tap'
import { measureGrowth } from '../../../../support/cpu-growth.ts'
import type { AnswerEncoder, JsonObject } from '../../../../../src/exchange/api-format/api-format.ts'
import { AnswerRepair } from '../../../../../src/codecs/chat/repair/answer-repair.ts'
import { parseFinishReason } from '../../../../../src/codecs/chat/finish-reason.ts'
import type { UpstreamFailure } from '../../../../../src/exchange/upstream-failure.ts'
import { ClientEvents } from '../../../../../src/codecs/chat/client-events.ts'
import { StreamAggregator } from '../../../../../src/codecs/chat/stream-aggregator.ts'
import { repairContext } from '../../../../support/formats/repair-stream.ts'
import { CompletionAnswer } from '../../../../../src/upstream/response/whole-answer.ts'
import { StreamReader } from '../../../../../src/upstream/response/stream-reader.ts'
import type { AnswerSink } from '../../../../../src/codecs/answer-sink.ts'
import {
  createEncoder as createMessagesEncoder,
  parseEvents as parseMessageEvents,
  writeWhole,
} from '../../../../support/formats/messages/translate.ts'
import {
  createEncoder as createResponsesEncoder,
  parseEvents as parseResponseEvents,
} from '../../../formats/responses/translate.ts'

type Fields = Record<string, unknown>
interface ChatChoice {
  readonly finish_reason: string | null
  readonly delta: Fields
  readonly message: Fields
}

const head = { id: 'chatcmpl-x', object: 'chat.completion.chunk', created: 1_764_000_000, model: 'up' }
const chunk = (delta: object, finish: string | null = null) => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const usageChunk = { ...head, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }
const calls = (...pieces: readonly object[]) => chunk({ tool_calls: pieces })
const called = (name: string | undefined, args: unknown) => ({
  function: { ...(name === undefined ? {} : { name }), arguments: args },
})

function read(chunks: readonly object[], sink: AnswerSink): string {
  const reader = new StreamReader({
    bounds: { inputEstimate: 1, outputCap: 1_000 },
    upstreamHost: 'u',
    context: repairContext,
    sink,
  })
  const events = [...chunks, usageChunk, '[DONE]'].map(
    (event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`,
  )
  return reader.push(Buffer.from(events.join('')))
}

/** The choices of a forwarded stream. */
function stream(chunks: readonly object[]): readonly ChatChoice[] {
  const sink = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'p', extraFields: [] },
    includeUsage: false,
    onEvent: null,
  })
  return read(chunks, sink)
    .split('\n\n')
    .filter((frame) => frame !== '')
    .flatMap((frame) => (JSON.parse(frame.slice('data: '.length)) as { choices: ChatChoice[] }).choices)
}

/** The stream's choice as a whole completion, and the answer in the other formats: whole, and at the end of a stream. */
function readWhole(chunks: readonly object[]) {
  const sink = new StreamAggregator()
  read(chunks, sink)
  const completion = sink.toDocument() as JsonObject & { choices: readonly ChatChoice[] }
  return {
    choice: completion.choices[0],
    messages: [JSON.parse(writeWhole(createMessagesEncoder(), completion)) as Message, readStreamedMessage(chunks)],
    responses: [JSON.parse(writeWhole(createResponsesEncoder(), completion)) as Fields, readStreamedResponse(chunks)],
  }
}

interface Message {
  readonly content: readonly Fields[]
  readonly stop_reason: string
}

function streamIn(encoder: AnswerEncoder, chunks: readonly object[]): string {
  const sink = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'p', extraFields: [] },
    includeUsage: false,
    onEvent: null,
    encoder,
  })
  return encoder.start() + read(chunks, sink) + sink.buildTrailer({ prompt_tokens: 10, completion_tokens: 5 })
}

/** The message that a client puts together from the events. */
function readStreamedMessage(chunks: readonly object[]): Message {
  const content: Fields[] = []
  let reason = ''
  for (const { index, content_block: block, delta } of parseMessageEvents(
    streamIn(createMessagesEncoder({ stream: true }), chunks),
  ))
    if (block !== undefined) content[index as number] = { ...(block as Fields), json: '' }
    else if (index !== undefined && delta !== undefined) addDelta(content[index as number] ?? {}, delta as Fields)
    else if (delta !== undefined) reason = String((delta as Fields)['stop_reason'])
  const blocks = content.map(({ json, ...block }) =>
    json === '' ? block : { ...block, input: JSON.parse(String(json)) as unknown },
  )
  return { content: blocks, stop_reason: reason }
}

function addDelta(block: Fields, { type, text, thinking, partial_json: json }: Fields): void {
  if (type === 'text_delta') block['text'] = `${String(block['text'])}${String(text)}`
  if (type === 'thinking_delta') block['thinking'] = `${String(block['thinking'])}${String(thinking)}`
  if (type === 'input_json_delta') block['json'] = `${String(block['json'])}${String(json)}`
}

/** The response of the last event. The items of the events before it are the same. */
function readStreamedResponse(chunks: readonly object[]): Fields {
  const events = parseResponseEvents(streamIn(createResponsesEncoder({ stream: true }), chunks))
  const response = events.at(-1)?.['response'] as Fields
  const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  return { ...response, output: items }
}

const two = ['{"p":"a"}', '{"p":"b"}']
const whole = (id: string, args: unknown) => ({ id, type: 'function', ...called('read', args) })

/** Two calls of `read`, as vendors send them. */
const twoCalls: Readonly<Record<string, readonly object[]>> = {
  'without index': [calls(whole('a', two[0])), calls(whole('b', two[1]))],
  'with one index': [calls({ index: 0, ...whole('a', two[0]) }), calls({ index: 0, ...whole('b', two[1]) })],
  'with an index below zero': [
    calls({ index: -1, ...whole('a', '') }),
    calls({ index: -1, id: null, type: 'function', function: { name: null, arguments: two[0] } }),
    calls({ index: 0, ...whole('b', two[1]) }),
  ],
  'without index, in one event': [calls(whole('a', two[0]), whole('b', two[1]))],
  'with arguments as objects': [calls(whole('a', { p: 'a' }), whole('b', { p: 'b' }))],
  'with names and arguments beside the ids': [
    calls({ id: 'a', name: 'read', arguments: { p: 'a' } }, { id: 'b', name: 'read', arguments: two[1] }),
  ],
  'without types': [calls({ index: 0, id: 'a', ...called('read', two[0]) }, { index: 1, id: 'b', ...called('read', two[1]) })],
  'with the name in every piece': [
    calls({ index: 0, ...whole('a', '{"p"') }),
    calls({ index: 0, ...whole('a', ':"a"}') }),
    calls({ index: 1, ...whole('b', two[1]) }),
  ],
  'with one index, in pieces': [
    calls({ index: 0, ...whole('a', '') }),
    calls({ index: 0, ...called(undefined, '{"p":') }),
    calls({ index: 0, ...called(undefined, '"a"}') }),
    calls({ index: 0, ...whole('b', '{"p":') }),
    calls({ index: 0, ...called('', '"b"}') }),
  ],
  'with a new id in each piece': [
    calls({ index: 0, ...whole('a', '') }),
    calls({ index: 0, ...whole('c', '{"p":'), ...called(undefined, '{"p":') }),
    calls({ index: 0, id: 'd', ...called('', '"a"}') }, { index: 0, id: 'e', ...called(undefined, '') }),
    calls({ index: 1, ...whole('b', two[1]) }),
  ],
  'with a new id and the name in each piece': [
    calls({ index: 0, ...whole('a', '') }),
    calls({ index: 0, ...whole('c', '{"p"') }),
    calls({ index: 0, ...whole('d', ':"a"}') }),
    calls({ index: 1, ...whole('b', '{"p"') }, { index: 1, ...whole('e', ':"b"}') }),
  ],
  'with a finish reason in each piece': [
    calls({ index: 0, ...whole('a', '') }),
    calls({ index: 0, ...called(undefined, two[0]) }),
    calls({ index: 1, ...whole('b', '') }),
    calls({ index: 1, ...called(undefined, two[1]) }),
  ].map(({ choices: [choice], ...around }) => ({ ...around, choices: [{ ...choice, finish_reason: 'tool_calls' }] })),
  'with one further id for the later pieces of all': [
    calls({ index: 0, ...whole('a', '{"p":') }),
    calls({ index: 0, id: 'z', ...called(undefined, '"a"}') }),
    calls({ index: 1, ...whole('b', '{"p":') }),
    calls({ index: 1, id: 'z', ...called(undefined, '"b"}') }),
  ],
  'without index, with a new id in each piece': [
    calls({ ...whole('a', '{"p":') }),
    calls({ id: 'c', ...called(undefined, '"a"}') }),
    calls({ ...whole('b', '') }),
    calls({ id: 'd', ...called(undefined, two[1]) }),
  ],
  'with one index, in alternating pieces': [
    calls({ index: 0, ...whole('a', '{"p":') }),
    calls({ index: 0, ...whole('b', '{"p":') }),
    calls({ index: 0, id: 'a', ...called(undefined, '"a"}') }),
    calls({ index: 0, id: 'b', ...called(undefined, '"b"}') }),
  ],
  'with indexes from one': [calls({ index: 1, ...whole('a', two[0]) }), calls({ index: 2, ...whole('b', two[1]) })],
  'with the name after the arguments': [
    calls({ index: 0, id: 'a', ...called(undefined, two[0]) }),
    calls({ index: 0, ...called('read', '') }),
    calls({ index: 1, ...whole('b', two[1]) }),
  ],
  'as an object in place of a list': [
    chunk({ tool_calls: whole('a', two[0]) }),
    chunk({ content: '', tool_calls: whole('b', two[1]) }),
  ],
}

for (const [name, chunks] of Object.entries(twoCalls))
  t.test(`two calls ${name} are two calls in every format`, async (t) => {
    const choices = stream([...chunks, chunk({}, 'tool_calls')])
    const pieces = choices.flatMap(({ delta }) => (delta['tool_calls'] as Fields[] | undefined) ?? [])
    for (const [index, id] of ['a', 'b'].entries()) {
      const own = pieces.filter((piece) => piece['index'] === index)
      t.match(own[0], { id, type: 'function', function: { name: 'read' } })
      for (const later of own.slice(1)) t.same(Object.keys(later), ['index', 'function'], 'id, type and name come once')
      t.equal(own.map((piece) => (piece['function'] as Fields)['arguments']).join(''), two[index])
    }
    t.equal(choices.at(-1)?.finish_reason, 'tool_calls')
    const { choice, messages, responses } = readWhole([...chunks, chunk({}, 'tool_calls')])
    t.same(choice?.message['tool_calls'], [whole('a', two[0]), whole('b', two[1])])
    t.equal(choice?.finish_reason, 'tool_calls')
    for (const message of messages)
      t.match(message, {
        content: [
          { type: 'tool_use', id: 'a', input: { p: 'a' } },
          { type: 'tool_use', id: 'b', input: { p: 'b' } },
        ],
        stop_reason: 'tool_use',
      })
    for (const { output } of responses)
      t.match(output, [
        { call_id: 'a', arguments: two[0] },
        { call_id: 'b', arguments: two[1] },
      ])
  })

for (const reason of ['stop', 'STOP', 'end_turn'])
  t.test(`a call decides over the finish reason ${reason}`, async (t) => {
    const chunks = [calls({ index: 0, ...whole('a', '{}') }), chunk({}, reason)]
    t.equal(stream(chunks).at(-1)?.finish_reason, 'tool_calls')
    const { choice, messages, responses } = readWhole(chunks)
    t.match(choice, { message: { tool_calls: [whole('a', '{}')] }, finish_reason: 'tool_calls' })
    for (const message of messages)
      t.match(message, { content: [{ type: 'tool_use', id: 'a', input: {} }], stop_reason: 'tool_use' })
    for (const response of responses)
      t.match(response, { output: [{ call_id: 'a', arguments: '{}' }], status: 'completed', incomplete_details: null })
  })

t.test('gives ids where the vendor sends none, or the same twice', async (t) => {
  const ids = (...chunks: readonly object[]) =>
    stream([...chunks, chunk({}, 'tool_calls')])
      .flatMap(({ delta }) => (delta['tool_calls'] as Fields[] | undefined) ?? [])
      .map((piece) => piece['id'])
  const bare = called('read', '{}')
  t.same(ids(calls(bare), calls(bare)), ['call_mbr_1_0', 'call_mbr_1_1'])
  t.same(ids(calls({ index: 0, id: null, ...bare }, { index: 1, id: '', ...bare })), ['call_mbr_1_0', 'call_mbr_1_1'])
  t.same(ids(calls({ index: 0, id: 'x', ...bare }, { index: 1, id: 'x', ...bare })), ['x', 'x_mbr_1_1'])
  const namedPieces = ['{"p"', ':1}'].map((args) => calls({ index: 0, ...called('read', args) }))
  t.same(ids(...namedPieces), ['call_mbr_1_0', undefined], 'the name in every piece does not begin a call')
  const { choices } = new AnswerRepair(repairContext).repairCompletion({
    choices: [{ message: { tool_calls: [{ function: { name: 'read', arguments: { p: 1 } } }] }, finish_reason: 'stop' }],
  }) as { choices: readonly unknown[] }
  t.match(choices, [
    {
      index: 0,
      message: {
        role: 'assistant',
        tool_calls: [{ id: 'call_mbr_1_0', type: 'function', function: { name: 'read', arguments: '{"p":1}' } }],
      },
      finish_reason: 'tool_calls',
    },
  ])
})

t.test('completes a call without arguments, unless the answer was cut off', async (t) => {
  const args = (finish: string) =>
    stream([calls({ index: 0, ...whole('a', '') }), chunk({}, finish)])
      .flatMap(({ delta }) => (delta['tool_calls'] as Fields[] | undefined) ?? [])
      .map((piece) => (piece['function'] as Fields)['arguments'])
      .join('')
  t.equal(args('tool_calls'), '{}')
  t.equal(args('length'), '')
})

t.test('keeps what a vendor puts beside a call', async (t) => {
  const extra = { extra_content: { google: { thought_signature: 'S' } } }
  const [choice] = stream([calls({ index: 0, ...whole('a', '{}'), ...extra }), chunk({}, 'tool_calls')])
  t.match(choice?.delta['tool_calls'], [extra])
})

t.test('finish reasons of other vendors become those of each format', async (t) => {
  for (const [reasons, chat, stopReason, status, details] of [
    [['stop', 'STOP', 'end_turn', 'eos', 'eos_token', 'COMPLETE', 'stop_sequence'], 'stop', 'end_turn', 'completed', null],
    [
      ['length', 'MAX_TOKENS', 'max_tokens', 'model_length', 'model_context_window_exceeded', 'repetition'],
      'length',
      'max_tokens',
      'incomplete',
      { reason: 'max_output_tokens' },
    ],
    [
      ['content_filter', 'SAFETY', 'RECITATION', 'PROHIBITED_CONTENT', 'sensitive', 'guardrail_intervened', 'refusal'],
      'content_filter',
      'end_turn',
      'incomplete',
      { reason: 'content_filter' },
    ],
  ] as const)
    for (const reason of reasons) {
      const chunks = [chunk({ content: 'cut te' }), chunk({}, reason)]
      t.equal(stream(chunks).at(-1)?.finish_reason, chat, `${reason}, streamed`)
      const { choice, messages, responses } = readWhole(chunks)
      t.equal(choice?.finish_reason, chat, reason)
      for (const message of messages) t.equal(message.stop_reason, stopReason, reason)
      for (const response of responses) t.match(response, { status, incomplete_details: details }, reason)
    }
  for (const reason of ['tool_use', 'TOOL_CALL', 'toolCalls', 'function_calls']) t.equal(parseFinishReason(reason), 'tool_calls')
})

t.test('a failure told as a finish reason fails the turn', async (t) => {
  for (const reason of ['error', 'ERROR', 'abort', 'network_error', 'failed'])
    t.match(readFailure(reason), { kind: 'in_band', reason: 'bad_finish' }, reason)
})

t.test('output that the upstream cannot use has a reason of its own, because a member can ask for it', async (t) => {
  for (const reason of [
    'MALFORMED_FUNCTION_CALL',
    'function_call_filter: MALFORMED_FUNCTION_CALL',
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MISSING_THOUGHT_SIGNATURE',
    'malformed_model_output',
    'malformed_tool_use',
    'ERROR_LIMIT',
  ])
    t.match(readFailure(reason), { kind: 'in_band', reason: 'unusable_output' }, reason)
})

function readFailure(reason: string): unknown {
  try {
    stream([chunk({ content: 'a' }), chunk({}, reason)])
  } catch (error) {
    return (error as UpstreamFailure).facts
  }
  return null
}

for (const [name, roles] of Object.entries({
  'in no piece': [undefined, undefined, undefined],
  'in every piece': ['assistant', 'assistant', 'assistant'],
  'in the second piece': [undefined, 'assistant', undefined],
  'empty at first': ['', 'assistant', ''],
  'null in later pieces': ['assistant', null, null],
  'of another name': ['model', 'model', 'model'],
}))
  t.test(`the role ${name} is in the first piece alone`, async (t) => {
    const pieces = ['The answer', ' is', ' 42.'].map((content, at) =>
      chunk({ ...(roles[at] === undefined ? {} : { role: roles[at] }), content }),
    )
    t.same(
      stream([...pieces, chunk({}, 'stop')]).map(({ delta }) => delta),
      [{ role: 'assistant', content: 'The answer' }, { content: ' is' }, { content: ' 42.' }, {}],
    )
    t.match(readWhole([...pieces, chunk({}, 'stop')]).choice?.message, { role: 'assistant', content: 'The answer is 42.' })
  })

t.test('each choice has a role, and a whole message has one', async (t) => {
  const two = { ...head, choices: [0, 1].map((index) => ({ index, delta: { content: 'a' }, finish_reason: null })) }
  const choices = stream([
    two,
    two,
    { ...two, choices: two.choices.map((each) => ({ ...each, delta: {}, finish_reason: 'stop' })) },
  ])
  t.same(
    choices.map(({ delta }) => delta['role']),
    ['assistant', 'assistant', undefined, undefined, undefined, undefined],
  )
  for (const role of [undefined, null, '', 'model'])
    t.match(
      new AnswerRepair(repairContext).repairCompletion({ choices: [{ message: { role, content: 'a' }, finish_reason: 'stop' }] }),
      {
        choices: [{ message: { role: 'assistant', content: 'a' } }],
      },
    )
})

for (const delta of [null, undefined, 'none'])
  t.test(`an event with the delta ${delta} ends the answer`, async (t) => {
    const end = { ...head, choices: [{ index: 0, ...(delta === undefined ? {} : { delta }), finish_reason: 'MAX_TOKENS' }] }
    t.match(stream([chunk({ content: 'a' }), end]).at(-1), { delta: {}, finish_reason: 'length' })
    t.match(readWhole([chunk({ content: 'a' }), end]).choice, { message: { content: 'a' }, finish_reason: 'length' })
  })

t.test('a whole message in place of pieces is one', async (t) => {
  const message = { content: 'Both:', tool_calls: [whole('a', two[0]), whole('b', { p: 'b' })] }
  const only = { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const [choice, ...others] = stream([only])
  t.same(choice?.delta, {
    role: 'assistant',
    content: 'Both:',
    tool_calls: [
      { index: 0, ...whole('a', two[0]) },
      { index: 1, ...whole('b', two[1]) },
    ],
  })
  t.equal(choice?.finish_reason, 'tool_calls')
  t.same(others, [])
  t.match(readWhole([only]).choice, { message: { content: 'Both:' }, finish_reason: 'tool_calls' })
})

const said = ['The answer', ' is', ' 42.']

for (const [name, chunks, reason] of [
  ['in each piece', said.map((content) => chunk({ content }, 'stop')), 'stop'],
  [
    'in each piece and in an empty one',
    [...said.map((content) => chunk({ content }, 'STOP')), chunk({}, 'MAX_TOKENS')],
    'length',
  ],
  [
    'in an announcement',
    [chunk({ role: 'assistant', content: '' }, 'stop'), ...said.map((content) => chunk({ content }, 'stop'))],
    'stop',
  ],
  [
    'in the first pieces',
    [...said.slice(0, 2).map((content) => chunk({ content }, 'stop')), chunk({ content: said[2] }), chunk({}, 'stop')],
    'stop',
  ],
  [
    'again beside the usage',
    [...said.map((content) => chunk({ content })), chunk({}, 'stop'), { ...chunk({}, 'stop'), usage: {} }],
    'stop',
  ],
] as const)
  t.test(`the finish reason ${name} is in the last piece alone`, async (t) => {
    const choices = stream(chunks)
    t.same(choices.map(({ delta }) => delta['content'] ?? '').join(''), said.join(''))
    t.same(
      choices.map(({ finish_reason }) => finish_reason),
      [...choices.slice(1).map(() => null), reason],
    )
    const { choice, messages, responses } = readWhole(chunks)
    t.match(choice, { message: { content: said.join('') }, finish_reason: reason })
    for (const message of messages)
      t.match(message, { content: [{ text: said.join('') }], stop_reason: reason === 'stop' ? 'end_turn' : 'max_tokens' })
    for (const { output } of responses) t.match(output, [{ content: [{ text: said.join('') }] }])
  })

t.test('each of several choices finishes once, also where each of their pieces has a finish reason', async (t) => {
  const piece = (index: number, content: string) => ({ ...head, choices: [{ index, delta: { content }, finish_reason: 'stop' }] })
  const choices = stream([piece(0, 'a'), piece(1, 'b'), piece(1, 'c'), piece(0, 'd'), piece(1, 'e')])
  t.equal(choices.filter(({ finish_reason }) => finish_reason !== null).length, 2)
  t.equal(
    choices.map(({ delta }) => delta['content'] ?? '').join(''),
    'abcde'
      .split('')
      .toSorted(
        (a, b) =>
          choices.findIndex(({ delta }) => delta['content'] === a) - choices.findIndex(({ delta }) => delta['content'] === b),
      )
      .join(''),
  )
})

t.test('fields beside many choices are sent once, whole and streamed', async (t) => {
  const citations = ['https://a.example/'.repeat(1_000)]
  const context = { requestId: 'mbr_1', model: 'p', startedAt: 0 }
  const allowlist = { productId: 'p', extraFields: [] }
  const choices = Array.from({ length: 64 }, (_, index) => ({
    index,
    message: { role: 'assistant', content: 'a' },
    finish_reason: 'stop',
  }))
  const streamed = choices.map(({ message, ...choice }) => ({ ...choice, delta: message }))
  const sinks = [0, 1].map(() => new ClientEvents({ context, allowlist, includeUsage: false, onEvent: null }))
  const texts = [
    read([{ ...head, citations, choices: streamed }], sinks[0] as ClientEvents),
    new CompletionAnswer({ ...head, citations, choices }).writeTo(sinks[1] as ClientEvents),
  ]
  for (const text of texts) {
    t.equal(text.split(String(citations[0])).length, 2)
    t.equal(text.split('"finish_reason":"stop"').length, 65)
  }
})

t.test('an answer whose finish reasons prove nothing is cut off as one, and is not complete before its end', async (t) => {
  const sink = new StreamAggregator()
  const reader = new StreamReader({
    bounds: { inputEstimate: 1, outputCap: 40 },
    upstreamHost: 'u',
    context: repairContext,
    sink,
  })
  const push = (event: object) => reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
  push(chunk({ content: 'one' }, 'stop'))
  t.equal(reader.allChoicesFinished, true)
  push(chunk({ content: 'two' }, 'stop'))
  t.equal(reader.allChoicesFinished, false, 'more may follow')
  for (let i = 0; i < 300 && !reader.isDone; i++) push(chunk({ content: 'many more words, ' }, 'stop'))
  t.equal(reader.isCutOff, true)
  t.match(sink.toDocument(), { choices: [{ finish_reason: 'length' }] })
})

t.test('completes what a vendor leaves out of each chunk, and of a whole answer', async (t) => {
  const sink = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist: { productId: 'p', extraFields: [] },
    includeUsage: true,
    onEvent: null,
  })
  // Without the fields that are null, as SGLang leaves them out.
  const bare = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
  const call = { index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }
  const text = read(
    [bare({ content: 'a' }), bare({ content: 'b' }), bare({ tool_calls: [call] }), bare({}, { finish_reason: 'stop' })],
    sink,
  )
  const frames = (text + sink.buildTrailer({ prompt_tokens: 1, completion_tokens: 1 }))
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
  t.equal(frames.length, 5)
  for (const frame of frames)
    t.match(JSON.parse(frame.slice('data: '.length)), {
      id: 'chatcmpl-mbr_1',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'p',
    })
  const named = read(
    [{ ...bare({ content: 'a' }), id: 'x', created: 5 }, bare({ content: 'b' }), bare({}, { finish_reason: 'stop' })],
    new ClientEvents({
      context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
      allowlist: { productId: 'p', extraFields: [] },
      includeUsage: false,
      onEvent: null,
    }),
  )
  for (const frame of named.split('\n\n').filter((each) => each.startsWith('data: {')))
    t.match(JSON.parse(frame.slice('data: '.length)), { id: 'x', created: 5, model: 'p' }, 'as the first chunk has it')
  const answer = { message: { content: 'a' }, finish_reason: 'stop' }
  t.same(
    new AnswerRepair(repairContext).repairCompletion({
      choices: [answer, { index: 1, ...answer, message: { tool_calls: [call] } }],
    }),
    {
      id: 'chatcmpl-mbr_1',
      object: 'chat.completion',
      created: 0,
      model: '',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' },
        {
          index: 1,
          message: { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: call.function }] },
          finish_reason: 'tool_calls',
        },
      ],
    },
  )
})

t.test('each event of a stream is named as OpenAI names it', async (t) => {
  for (const object of ['', undefined, 'chat.completion', 'chunk'])
    t.equal(new AnswerRepair(repairContext).repairChunk({ ...head, object, choices: [] })[0]?.['object'], 'chat.completion.chunk')
})

t.test('a whole message after its pieces is not sent once more', async (t) => {
  const message = { role: 'assistant', content: 'The answer is 42.', tool_calls: [whole('a', two[0])] }
  const last = { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const pieces = [chunk({ content: 'The answer' }), chunk({ content: ' is 42.' }), calls({ index: 0, ...whole('a', two[0]) })]
  for (const chunks of [
    [...pieces, last],
    [...pieces, chunk({}, 'tool_calls'), last],
    [...pieces, chunk({}, 'STOP'), last, last],
  ]) {
    const choices = stream(chunks)
    t.equal(choices.map(({ delta }) => delta['content'] ?? '').join(''), 'The answer is 42.')
    t.same(
      choices.flatMap(({ finish_reason: reason }) => reason ?? []),
      ['tool_calls'],
    )
    const { choice, messages, responses } = readWhole(chunks)
    t.match(choice, { message: { content: 'The answer is 42.', tool_calls: [whole('a', two[0])] }, finish_reason: 'tool_calls' })
    for (const { content } of messages)
      t.match(content, [{ text: 'The answer is 42.' }, { type: 'tool_use', id: 'a', input: { p: 'a' } }])
    for (const { output } of responses) t.match(output, [{ content: [{ text: 'The answer is 42.' }] }, { call_id: 'a' }])
    t.equal(messages[1]?.content.length, 2)
  }
})

const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })

/** “Let me think.” and “The answer is 42.” */
const parts: Readonly<Record<string, readonly object[]>> = {
  'in events of their own': [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: [thinking('Let me ')] }),
    chunk({ content: [thinking('think.')] }),
    chunk({ content: [{ type: 'text', text: 'The answer' }] }),
    chunk({ content: ' is 42.' }),
  ],
  'in one event': [chunk({ content: [thinking('Let me think.'), { type: 'text', text: 'The answer is 42.' }] })],
  'with the thinking as a text': [
    chunk({ content: [{ type: 'thinking', thinking: 'Let me think.' }] }),
    chunk({ content: [{ type: 'output_text', text: 'The answer' }, { type: 'reference', reference_ids: [1] }, ' is 42.'] }),
  ],
  'with the reasoning as an object': [
    chunk({ role: 'assistant', reasoning_content: { text: 'Let me ', signature: '', redacted_content: null } }),
    chunk({ reasoning_content: { text: 'think.' } }),
    chunk({ reasoning_content: { signature: 'c2ln' } }),
    chunk({ content: 'The answer is 42.' }),
  ],
  'with the reasoning as a list': [
    chunk({ reasoning_content: [{ text: 'Let me ' }, { text: 'think.' }] }),
    chunk({ content: 'The answer is 42.' }),
  ],
  'as one part in place of a list': [
    chunk({ content: thinking('Let me think.') }),
    chunk({ content: { type: 'text', text: { value: 'The answer is 42.', annotations: [] } } }),
  ],
  'with the reasoning under its own type': [
    chunk({ content: [{ type: 'reasoning', text: 'Let me think.' }] }),
    chunk({ content: [{ type: 'text', text: 'The answer is 42.' }] }),
  ],
}

for (const [name, chunks] of Object.entries(parts))
  t.test(`text and thinking ${name} reach every format`, async (t) => {
    const ended = [...chunks, chunk({}, 'stop')]
    const choices = stream(ended)
    const join = (field: string) => choices.map(({ delta }) => delta[field] ?? '').join('')
    t.same([join('reasoning_content'), join('content')], ['Let me think.', 'The answer is 42.'])
    const { choice, messages, responses } = readWhole(ended)
    t.match(choice?.message, { content: 'The answer is 42.', reasoning_content: 'Let me think.' })
    for (const { content } of messages) t.match(content, [{ thinking: 'Let me think.' }, { text: 'The answer is 42.' }])
    for (const { output } of responses)
      t.match(output, [
        { type: 'reasoning', summary: [{ text: 'Let me think.' }] },
        { type: 'message', content: [{ text: 'The answer is 42.' }] },
      ])
  })

t.test('returns an answer in the form of OpenAI as it is', async (t) => {
  const repair = new AnswerRepair(repairContext)
  for (const sound of [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'a', reasoning_content: 'b' }),
    chunk({ annotations: [] }),
    { ...head, choices: [] },
  ])
    t.equal(repair.repairChunk(sound)[0], sound)
  repair.repairChunk(calls({ index: 0, ...whole('a', '') }))
  const piece = calls({ index: 0, ...called(undefined, '{"p"') })
  t.equal(repair.repairChunk(piece)[0], piece, 'a later piece of a call')
  const choices = [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }]
  const completion = { ...head, object: 'chat.completion', choices }
  t.equal(repair.repairCompletion(completion), completion)
})

t.test('fields that a vendor sends in many pieces before the name of a call take linear time', async (t) => {
  const prepare = (size: number) => {
    const repair = new AnswerRepair(repairContext)
    const pieces = Array.from({ length: size }, (_, i) => calls({ index: 0, [`field_${i}`]: i, function: { arguments: ' ' } }))
    return () => {
      for (const piece of pieces) repair.repairChunk(piece)
    }
  }
  const maxGrowth = 2.6
  const { growth, size } = measureGrowth(prepare, maxGrowth)
  t.ok(growth <= maxGrowth, `twice ${size} takes ${growth.toFixed(1)} times as long`)
  const repair = new AnswerRepair(repairContext)
  repair.repairChunk(calls({ index: 0, first: 1, again: 1 }))
  repair.repairChunk(calls({ index: 0, second: 2, again: 2 }))
  const opened = repair.repairChunk(calls({ index: 0, function: { name: 'read', arguments: '{}' } }))
  t.match(opened[0], { choices: [{ delta: { tool_calls: [{ first: 1, second: 2, again: 2, function: { name: 'read' } }] } }] })
})
