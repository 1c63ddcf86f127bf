/** Answers in the forms of other vendors, as a stream and whole, and what a client must make of them. Sources: `src/codecs/vendors/README.md`. */
import { sendJson, startScriptedServer } from '../../../support/upstream/scripted-server.ts'
import type { TestScope } from '../../../support/test-scope.ts'

/** What each client made of an answer, in one form. */
export interface Assembled {
  readonly text: string
  /** Empty where the client has no place for it. */
  readonly reasoning: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input?: unknown }[]
  readonly finish: string
}

export interface VendorAnswer {
  readonly name: string
  /** Each in an event. */
  readonly deltas: readonly object[]
  /** The whole answer; null where the form exists in streams only. */
  readonly message: object | null
  /** The last finish reason; null where the connection is lost. */
  readonly finish: string | null
  /** Null: the turn fails. An id of '' is one that the gateway gives; a call without input is cut off, and each client reads its rest otherwise. */
  readonly expected: Assembled | null
}

const read = (args: unknown) => ({ name: 'read', arguments: args })
const one = '{"p":"a"}'
const two = '{"p":"b"}'
const call = (id: string, args: unknown = one) => ({ id, type: 'function', function: read(args) })
const calls = (...pieces: readonly object[]) => ({ tool_calls: pieces })
const said = { text: '', reasoning: '' }
const toCalls = (...ids: readonly string[]) => ids.map((id, at) => ({ id, name: 'read', input: { p: at === 0 ? 'a' : 'b' } }))
const twoCalls: Assembled = { ...said, calls: toCalls('call_a', 'call_b'), finish: 'tool_calls' }
const wholeCalls = { content: null, tool_calls: [call('call_a'), call('call_b', two)] }
const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
const answered = { text: 'The answer is 42.', reasoning: 'Let me think.', calls: [], finish: 'stop' }

export const vendorAnswers: readonly VendorAnswer[] = [
  {
    name: 'two calls with one index',
    deltas: [calls({ index: 0, ...call('call_a') }), calls({ index: 0, ...call('call_b', two) })],
    message: { content: null, tool_calls: wholeCalls.tool_calls.map((each) => ({ index: 0, ...each })) },
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'two calls with one index, in pieces',
    deltas: [
      calls({ index: 0, ...call('call_a', '') }),
      calls({ index: 0, function: { arguments: '{"p":' } }),
      calls({ index: 0, function: { arguments: '"a"}' } }),
      calls({ index: 0, ...call('call_b', '{"p":') }),
      calls({ index: 0, function: { arguments: '"b"}' } }),
    ],
    message: null,
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'calls without an index',
    deltas: [calls(call('call_a')), calls(call('call_b', two))],
    message: wholeCalls,
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'calls without ids',
    deltas: [calls({ index: 0, type: 'function', function: read(one) }), calls({ index: 1, id: '', function: read(two) })],
    message: {
      content: null,
      tool_calls: [
        { type: 'function', function: read(one) },
        { id: null, type: 'function', function: read(two) },
      ],
    },
    finish: 'tool_calls',
    expected: { ...twoCalls, calls: toCalls('', '') },
  },
  {
    name: 'calls without types',
    deltas: [calls({ index: 0, id: 'call_a', function: read(one) }), calls({ index: 1, id: 'call_b', function: read(two) })],
    message: {
      content: '',
      tool_calls: [
        { id: 'call_a', function: read(one) },
        { id: 'call_b', function: read(two) },
      ],
    },
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'arguments as objects',
    deltas: [calls({ index: 0, ...call('call_a', { p: 'a' }) }), calls({ index: 1, ...call('call_b', { p: 'b' }) })],
    message: { content: null, tool_calls: [call('call_a', { p: 'a' }), call('call_b', { p: 'b' })] },
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'names after the arguments',
    deltas: [
      calls({ index: 0, id: 'call_a', type: 'function', function: { arguments: '{"p":' } }),
      calls({ index: 0, function: { arguments: '"a"}' } }),
      calls({ index: 0, function: { name: 'read', arguments: '' } }),
      calls({ index: 1, ...call('call_b', two) }),
    ],
    message: null,
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'id and name in every piece',
    deltas: [
      calls({ index: 0, ...call('call_a', '{"p":') }),
      calls({ index: 0, ...call('call_a', '"a"}') }),
      calls({ index: 1, ...call('call_b', '{"p"') }),
      calls({ index: 1, ...call('call_b', ':"b"}') }),
    ],
    message: null,
    finish: 'tool_calls',
    expected: twoCalls,
  },
  {
    name: 'a call with the finish reason stop',
    deltas: [{ content: 'Let me look.' }, calls({ index: 0, ...call('call_a') })],
    message: { content: 'Let me look.', tool_calls: [call('call_a')] },
    finish: 'stop',
    expected: { ...said, text: 'Let me look.', calls: toCalls('call_a'), finish: 'tool_calls' },
  },
  {
    name: 'content in parts',
    deltas: [
      { role: 'assistant', content: '' },
      { content: [thinking('Let me ')] },
      { content: [thinking('think.')] },
      { content: [{ type: 'text', text: 'The answer' }] },
      { content: ' is 42.' },
    ],
    message: { content: [thinking('Let me think.'), { type: 'text', text: 'The answer is 42.' }] },
    finish: 'stop',
    expected: answered,
  },
  ...['reasoning_content', 'reasoning'].map((field): VendorAnswer => ({
    name: `the field ${field}`,
    deltas: [
      { role: 'assistant', content: '', [field]: '' },
      { [field]: 'Let me ' },
      { content: null, [field]: 'think.' },
      { content: 'The answer is 42.' },
    ],
    message: { content: 'The answer is 42.', [field]: 'Let me think.' },
    finish: 'stop',
    expected: answered,
  })),
  {
    name: 'a finish reason in capitals',
    deltas: [{ content: 'All done.' }],
    message: { content: 'All done.' },
    finish: 'STOP',
    expected: { ...said, text: 'All done.', calls: [], finish: 'stop' },
  },
  ...['MAX_TOKENS', 'model_length', 'length'].map((finish): VendorAnswer => ({
    name: `an answer cut off with ${finish}`,
    deltas: [{ content: 'All do' }],
    message: { content: 'All do' },
    finish,
    expected: { ...said, text: 'All do', calls: [], finish: 'length' },
  })),
  {
    name: 'a call cut off',
    deltas: [calls({ index: 0, ...call('call_a', '{"p":"') })],
    message: { content: null, tool_calls: [call('call_a', '{"p":"')] },
    finish: 'MAX_TOKENS',
    expected: { ...said, calls: [{ id: 'call_a', name: 'read' }], finish: 'length' },
  },
  {
    name: 'the role in every piece',
    deltas: ['The answer', ' is', ' 42', '.'].map((content) => ({ role: 'assistant', content })),
    message: null,
    finish: 'stop',
    expected: { ...answered, reasoning: '' },
  },
  {
    name: 'a failure told as a finish reason',
    deltas: [{ content: 'All do' }],
    message: { content: 'All do' },
    finish: 'MALFORMED_FUNCTION_CALL',
    expected: null,
  },
  { name: 'a lost connection', deltas: [{ content: 'All do' }], message: null, finish: null, expected: null },
]

const head = { id: 'chatcmpl-x', created: 1_764_000_000, model: 'up' }
export const usage = { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 }

/** A model server whose answer is the one that the last message names. `url` answers streams with streams. */
export async function startVendorServer(t: TestScope) {
  return startScriptedServer<object>(t, (_, response, body) => {
    const { messages, stream } = JSON.parse(body) as {
      readonly messages: readonly { readonly content: unknown }[]
      readonly stream?: boolean
    }
    const asked = JSON.stringify(messages.at(-1)?.content)
    const answer = vendorAnswers.find(({ name }) => asked.includes(`"Give: ${name}."`))
    if (answer === undefined) return void response.writeHead(500).end()
    const { deltas, message, finish } = answer
    if (stream !== true) {
      if (message === null) return void response.destroy()
      const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }]
      return sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage })
    }
    const events = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null as string | null }] }))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const write = (event: object) =>
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...event })}\n\n`)
    for (const event of events) write(event)
    // A response that ends without its last chunk is a lost connection.
    if (finish === null) return void response.write('', () => response.destroy())
    write({ choices: [{ index: 0, delta: {}, finish_reason: finish }] })
    write({ choices: [], usage })
    response.end('data: [DONE]\n\n')
  })
}
