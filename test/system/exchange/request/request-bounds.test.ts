/** What a request can have many of is counted before any other work on it. */
import t from 'tap'
import { GatewayError } from '../../../../src/errors.ts'
import { parseBody } from '../../../../src/exchange/request/chat-request.ts'
import { readThreadMicros } from '../../../support/cpu-growth.ts'

const listOf = <Item>(n: number, create: (i: number) => Item): Item[] => Array.from({ length: n }, (_, i) => create(i))
const user = (content: unknown) => ({ role: 'user', content })
const part = { type: 'text', text: 'x' }
const tool = (name: string) => ({ type: 'function', name })

/** The sentence of the refusal; null if the body is accepted. */
function findRefusal(body: object | string): string | null {
  try {
    parseBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
    return null
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_request') return error.message
    throw error
  }
}

/** Bodies with n of something, the highest n that is accepted, and the sentence above it. */
const cases: readonly (readonly [name: string, max: number, create: (n: number) => object, sentence: RegExp])[] = [
  ['messages', 20_000, (n) => ({ messages: listOf(n, () => user('x')) }), /'messages' has more than 20000 entries/],
  ['items of input', 20_000, (n) => ({ input: listOf(n, () => user('x')) }), /'input' has more than 20000 entries/],
  ['system blocks', 20_000, (n) => ({ system: listOf(n, () => part) }), /'system' has more than 20000 entries/],
  ['parts of one message', 40_000, (n) => ({ messages: [user(listOf(n, () => part))] }), /'messages' has more than 40000 parts/],
  [
    'parts of all messages',
    40_000,
    (n) => ({ messages: listOf(n / 8, () => user(listOf(8, () => part))).concat(n % 8 === 0 ? [] : user([part])) }),
    /'messages' has more than 40000 parts/,
  ],
  [
    'calls',
    40_000,
    (n) => ({ messages: [{ role: 'assistant', tool_calls: listOf(n, (i) => ({ id: `c${i}` })) }] }),
    /'messages' has more than 40000 parts/,
  ],
  [
    'blocks of a result',
    39_999,
    (n) => ({ messages: [user([{ type: 'tool_result', content: listOf(n, () => part) }])] }),
    /'messages' has more than 40000 parts/,
  ],
  [
    'parts of an output',
    40_000,
    (n) => ({ input: [{ type: 'function_call_output', output: listOf(n, () => part) }] }),
    /'input' has more than 40000 parts/,
  ],
  ['tools', 2_000, (n) => ({ tools: listOf(n, (i) => tool(`f${i}`)) }), /'tools' has more than 2000 tools/],
  ['functions', 2_000, (n) => ({ functions: listOf(n, (i) => ({ name: `f${i}` })) }), /'functions' has more than 2000 tools/],
  [
    'tools of a namespace',
    1_999,
    (n) => ({ tools: [{ type: 'namespace', name: 'n', tools: listOf(n, (i) => tool(`f${i}`)) }] }),
    /'tools' has more than 2000 tools/,
  ],
  [
    'tools in input',
    2_000,
    (n) => ({ input: listOf(n, (i) => ({ type: 'additional_tools', tools: [tool(`f${i}`)] })) }),
    /'input' has more than 2000 tools/,
  ],
  [
    'allowed tools',
    2_000,
    (n) => ({ tool_choice: { type: 'allowed_tools', allowed_tools: { tools: listOf(n, (i) => tool(`f${i}`)) } } }),
    /'tool_choice' has more than 2000 entries/,
  ],
  ['characters of a name', 512, (n) => ({ tools: [tool('f'.repeat(n))] }), /'tools' has a tool whose name is longer than 512/],
  [
    'characters of a function’s name',
    512,
    (n) => ({ tools: [{ type: 'function', function: { name: 'f'.repeat(n) } }] }),
    /'tools' has a tool whose name is longer than 512/,
  ],
  ['stop sequences', 1_000, (n) => ({ stop_sequences: listOf(n, (i) => `${i}`) }), /'stop_sequences' has more than 1000 entries/],
  ['stops', 1_000, (n) => ({ stop: listOf(n, (i) => `${i}`) }), /'stop' has more than 1000 entries/],
  ['included names', 1_000, (n) => ({ include: listOf(n, (i) => `${i}`) }), /'include' has more than 1000 entries/],
  ['fields', 1_000, (n) => Object.fromEntries(listOf(n, (i) => [`field${i}`, 1])), /the body has more than 1000 fields/],
  ['values', 500_000, (n) => ({ schema: listOf(n, () => '\\",{') }), /the body has more than 500000 values/],
]

t.test('accepts each count up to its bound, and refuses one more with a sentence', async (t) => {
  for (const [name, max, create, sentence] of cases) {
    t.equal(findRefusal(create(max)), null, name)
    t.match(findRefusal(create(max + 1)), sentence, name)
  }
})

t.test('refuses the shortest bodies that have too much of something', async (t) => {
  t.match(findRefusal(`{"tools":[{"name":"${'f'.repeat(513)}"}]}`), /longer than 512/)
  t.match(findRefusal(`{"stop":[${'0,'.repeat(1_000)}0]}`), /more than 1000 entries/)
  t.match(findRefusal(`{"tools":[${'0,'.repeat(2_000)}0]}`), /more than 2000 tools/)
})

t.test('counts no commas in texts', async (t) => {
  t.equal(findRefusal({ messages: [user(',\\"'.repeat(1_000_000))] }), null)
})

t.test('a body of a million fields is refused before it is parsed', async (t) => {
  const body = Buffer.from(`{${listOf(1_000_000, (i) => `"field${i}":1`).join(',')}}`)
  const measure = (work: () => unknown): number => {
    const before = readThreadMicros()
    work()
    return readThreadMicros() - before
  }
  const parsing = measure(() => JSON.parse(body.toString()))
  const refusing = measure(() => {
    t.throws(() => parseBody(body), /more than 500000 values/)
  })
  t.ok(refusing < parsing / 2, `${refusing} of ${parsing} µs`)
})

t.test('a path in a message is short, however long the names in the body are', async (t) => {
  const sentence = findRefusal(`{"${'x'.repeat(100_000)}":"\\ud83d"}`) ?? ''
  t.match(sentence, /half of a character/)
  t.ok(sentence.length < 500)
})
