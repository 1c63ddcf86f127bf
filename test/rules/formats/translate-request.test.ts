/** What a translation returns beside the chat passes between threads and comes back in answers: it is small, whatever was sent. */
import t from 'tap'
import { translateBody } from '../../../src/formats/translate-request.ts'
import { responsesFormat } from '../../../src/formats/responses/responses-format.ts'
import type { ResponsesState } from '../../../src/codecs/responses/response-encoder.ts'

const settings = { sealKey: new Uint8Array(32), products: new Map([['svc-2.1', new Set<never>()]]), aliases: {} }
const long = 'x'.repeat(100_000)
const listOf = <Item>(n: number, create: (i: number) => Item): Item[] => Array.from({ length: n }, (_, i) => create(i))

function translate(path: string, body: object) {
  const raw = Buffer.from(JSON.stringify({ model: 'svc-2.1', ...body }))
  return translateBody(raw, { path, account: 'a', hostsSearch: true, settings })
}

/** Objects and lists in a value; each is copied by itself where it passes to another thread. */
function countObjects(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = value instanceof Map ? [...value.values()] : Object.values(value)
  return inner.reduce<number>((sum, each) => sum + countObjects(each), 1)
}

const user = { role: 'user', content: 'x' }
const fields = Object.fromEntries(listOf(900, (i) => [`field${i}`, { a: [{}] }]))
const deep = listOf(10_000, () => ({ a: [] }))
const schema = { type: 'object', properties: Object.fromEntries(listOf(2_000, (i) => [`p${i}`, { type: 'string' }])) }

t.test('at most twenty names of ignored fields are kept', async (t) => {
  const items = listOf(1_000, (i) => ({ type: `t${i}` }))
  t.equal(translate('/v1/responses', { input: [user, ...items], ...fields }).ignored.length, 20)
  t.equal(translate('/v1/messages', { messages: [user], max_tokens: 1, ...fields }).ignored.length, 20)
  t.same(translate('/v1/responses', { input: 'x', ['f'.repeat(65)]: 1 }).ignored, [], 'a name that is no header is none')
})

t.test('nothing of the request is passed on as objects without a bound', async (t) => {
  const requests: readonly (readonly [path: string, body: object])[] = [
    ['/v1/responses', { input: 'x', ...fields, client_metadata: deep, stream_options: deep }],
    ['/v1/responses', { input: 'x', tools: listOf(100, (i) => ({ type: 'function', name: `f${i}`, parameters: schema })) }],
    [
      '/v1/responses',
      { input: 'x', text: { format: { type: 'json_schema', name: 's', schema } }, reasoning: { effort: 'high', other: deep } },
    ],
    ['/v1/messages', { messages: [user], max_tokens: 1, ...fields, output_config: { format: { type: 'json_schema', schema } } }],
    ['/v1/messages', { messages: [user], max_tokens: 1, tools: listOf(100, (i) => ({ name: `f${i}`, input_schema: schema })) }],
    [
      '/v1/messages',
      {
        messages: [
          user,
          {
            role: 'assistant',
            content: listOf(10_000, (i) => ({ type: 'tool_use', id: `c${i}`, name: `${i}${'n'.repeat(100)}`, input: {} })),
          },
        ],
        max_tokens: 1,
      },
    ],
  ]
  for (const [path, body] of requests) {
    const { chat: _, ...passed } = translate(path, body)
    t.ok(countObjects(passed) < 300, `${countObjects(passed)} objects`)
  }
})

t.test('a stream repeats no long field of the request, and a whole answer repeats all', async (t) => {
  const request = {
    model: 'svc-2.1',
    input: 'x',
    instructions: long,
    text: { format: { type: 'json_schema', name: 's', schema } },
    tools: [{ type: 'function', name: 'f', parameters: schema }],
    safety_identifier: long,
    user: long,
    metadata: { a: 'b' },
    temperature: 0.5,
  }
  const createEncoder = (stream: boolean) =>
    responsesFormat.createEncoder({
      state: responsesFormat.toChat({ ...request, stream }, { unseal: () => null }).state satisfies ResponsesState,
      requestId: 'mbr_1',
      model: 'svc-2.1',
      startedAt: 0,
      inputEstimate: 1,
      seal: () => '',
      now: () => 0,
    })
  const streaming = createEncoder(true)
  const opening = streaming.start()
  t.ok(opening.length < 10_000, `${opening.length} characters`)
  const heartbeat = JSON.parse(/data: (.*)/.exec(streaming.heartbeat())?.[1] ?? '') as { response: object }
  t.match(heartbeat, {
    type: 'response.in_progress',
    response: { temperature: 0.5, metadata: { a: 'b' }, text: { format: { type: 'text' } }, tools: [], safety_identifier: null },
  })
  const whole = JSON.parse(
    createEncoder(false).whole([
      { kind: 'text', text: 'x' },
      { kind: 'finish', reason: 'stop' },
    ]),
  ) as object
  const { metadata, temperature, instructions, safety_identifier, user: sentUser } = request
  t.match(whole, { status: 'completed', metadata, temperature, instructions, safety_identifier, user: sentUser })
  t.match(whole, { text: { format: { schema } }, tools: [{ name: 'f', parameters: schema }] })
})
