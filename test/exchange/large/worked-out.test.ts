/** One rule for large and small: what is worked out in the thread is what the same questions answer where a request is parsed on the way. */
import t from 'tap'
import { upstreamMapping } from '../../../plugins/upstream-mapping.ts'
import { Products } from '../../../src/config/products.ts'
import { bodyHash, hasImages, parseChatRequest } from '../../../src/exchange/chat-request.ts'
import type { ChatRequest } from '../../../src/exchange/chat-request.ts'
import { promptSize } from '../../../src/exchange/estimate.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import { faultIn, paintingFields } from '../../../src/exchange/fields.ts'
import { LargeChat } from '../../../src/exchange/large/large-chat.ts'
import { printFor } from '../../../src/exchange/large/printed.ts'
import { workOut } from '../../../src/exchange/large/worked-out.ts'
import { queryOf } from '../../../src/tools/search/query.ts'
import { Upstreams } from '../../../src/upstream/upstreams.ts'
import { anExchange, fewServices } from '../../support/exchange.ts'
import { testConfig } from '../../support/gateway.ts'

const long = 'The  quick 额外 "fox"\n<b>  🏳️‍🌈 Überprüfung\t'.repeat(2_000)
const mark = { cache_control: { type: 'ephemeral' } }
const user = (content: unknown) => ({ role: 'user', content })
const developer = (content: unknown) => ({ role: 'developer', name: 'd', content })
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(50_000)}` } }
const tool = (more: object = {}) => ({ type: 'function', function: { name: 'f', description: long, ...more }, ...more })

/** Bodies as they are sent; `model` and `messages` where they name none. */
const bodies: Readonly<Record<string, object | string>> = {
  'one short text': {},
  'one long text': { messages: [user(long)] },
  'fields before, between and behind': {
    temperature: 0.5,
    messages: [user(long)],
    stream: true,
    max_tokens: 7,
    n: 2,
    user: 'me',
    safety_identifier: 'me',
  },
  'a developer first': { messages: [developer(long), user('x')] },
  'developers alone': { messages: [developer('a'), developer('b')] },
  'developers between, with marks': {
    messages: [user('x'), developer([{ type: 'text', text: 'y', ...mark }]), user(long), user('z')],
  },
  'marks on messages and tools': {
    messages: [{ ...user([{ type: 'text', text: long, ...mark }]), ...mark }],
    tools: [tool(mark)],
  },
  'marks on a short tool': { tools: [{ type: 'function', function: { name: 'f' }, ...mark }] },
  'long tools': { tools: [tool(), tool()], tool_choice: 'auto' },
  'tools that are none': { tools: long },
  'a tool run elsewhere': { tools: [tool(), { type: 'web_search' }] },
  'a picture and words': {
    messages: [user('before'), user([{ type: 'text', text: 'a fox ' }, picture, { type: 'text', text: 'here' }])],
  },
  'other parts': {
    messages: [
      user([
        { type: 'file', file: { file_data: long } },
        { type: 'video_url', video_url: { url: 'x' } },
      ]),
      user([{ type: 'input_audio', input_audio: { data: 'A'.repeat(9_000) } }]),
      { role: 'tool', content: long },
      { role: 'assistant', content: null, tool_calls: [{ function: { arguments: long } }] },
    ],
  },
  'an uploaded file': { messages: [user([picture, { type: 'file', file: { file_id: 'f' } }])] },
  'nobody asks': { messages: [{ role: 'system', content: long }] },
  'a question of many parts': { messages: [user(Array.from({ length: 200 }, () => ({ type: 'text', text: 'x' })))] },
  'a question too long to be carried about': { messages: [user(long.repeat(2))] },
  'a question within blanks': { messages: [user(`${' '.repeat(70_000)}why?`)] },
  'options of the stream': { stream: true, stream_options: { include_usage: false, include_obfuscation: false } },
  'options of the stream, long ones': { stream: true, stream_options: { before: long, include_usage: false, after: 1 } },
  'long options where none is wanted': { stream_options: { before: long } },
  'a schema': { response_format: { type: 'json_schema', json_schema: { schema: { description: long } } } },
  'fields nobody knows': Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`unknown_${i}${i % 7 === 0 ? ' ' : ''}`, long]),
  ),
  'fields of other upstreams': { transforms: [long], top_k: 5, odd: 1, service_tier: 'flex', store: true, metadata: { a: long } },
  'what chooses and buys': { models: [long], web_search_options: {}, modalities: ['text', 'audio'] },
  'words that ask for nothing': { models: [], modalities: ['text'], best_of: 1, audio: null },
  'a painting': { size: '1024x1024', quality: long, n: 2 },
  'names of numbers': '{"model":"svc-2.1","7":1,"messages":[{"role":"user","content":"x","2":1,"1":2}],"3":{"b":1,"a":2}}',
  'names of prototypes':
    '{"model":"svc-2.1","messages":[{"role":"user","content":"x","__proto__":{"a":1}}],"__proto__":{"b":1},"metadata":{"__proto__":{"c":1}},"logit_bias":{"__proto__":{"c":1}}}',
  'a name twice': '{"model":"other","messages":[],"temperature":1,"messages":[{"role":"user","content":"x"}],"model":"svc-2.1"}',
  'numbers and escapes':
    '{ "model" : "svc-2.1", "seed": 1E20, "top_p":1e-7, "messages":[{"role":"user","content":"\\ud800 \\u00e9 \\/ \\u2028"}] }',
}

const passFields = ['transforms']

/** What is asked about a request on its way, and what is thrown for an answer. */
const questions: Readonly<Record<string, (chat: ChatRequest) => unknown>> = {
  size: (chat) => promptSize(chat, 1_100),
  hash: bodyHash,
  pictures: hasImages,
  faults: (chat) => [[], ['models', 'modalities', 'tools']].map((allowed) => faultIn(chat, () => new Set(allowed))?.details),
  question: (chat) => {
    try {
      return queryOf(chat)
    } catch (error) {
      return String(error)
    }
  },
  painting: (chat) => String(printFor(chat, paintingFields(chat))),
}

t.test('each question has the same answer', async (t) => {
  const both = pairs()
  for (const [name, small, large] of both) {
    const { worked: _, ...plain } = large
    t.ok(large.worked, name)
    for (const [what, ask] of Object.entries(questions)) t.same(ask(large), ask(small), `${name}: ${what}`)
    t.match({ ...plain }, { model: small.model, stream: small.stream, choices: small.choices, bytes: small.bytes }, name)
    t.equal(JSON.stringify(large.body), JSON.stringify(small.body), `${name}: the body, for who asks for it`)
    t.same(large.messages, small.messages)
    t.equal(large.maxTokens, small.maxTokens)
    t.equal(large.includeUsage, small.includeUsage)
  }
})

t.test('each target is sent the same bytes, whatever it is sent, and the caller is told the same', async (t) => {
  for (const main of [
    {},
    { developerRole: 'developer', passFields, passCostFields: true },
    { kind: 'openai', maxTokensField: 'max_completion_tokens' },
  ] as const) {
    const config = testConfig(t, { upstreams: { main } })
    const upstreams = new Upstreams(config, 'http://127.0.0.1:9/v1', () => 0)
    t.teardown(() => upstreams.close())
    const products = new Products(config)
    const { services } = fewServices({ config, upstreams, products, secret: Buffer.alloc(32, 1) })
    const sent = (chat: ChatRequest) => {
      const x = Object.assign(anExchange(), {
        chat,
        product: products.get(chat.model),
        caller: { account: { id: 'acc_1' } },
        hold: { id: 1, credits: 1, inputEstimate: 7, outputCap: 500 },
      }) as unknown as Exchange & Slots
      void upstreamMapping.onRequest?.(x, services)
      const [candidate] = x.route.candidates
      const asked = [
        { stream: true, usage: true },
        { stream: true, usage: false },
        { stream: false, usage: false, cap: 9 },
      ].map((asking) => String(candidate?.body(asking)))
      return { asked, headers: x.headers }
    }
    for (const [name, small, large] of pairs()) {
      const [one, other] = [sent(small), sent(large)]
      t.ok(
        one.asked.every((body, i) => body === other.asked[i]),
        `${name}, ${JSON.stringify(main)}`,
      )
      t.same(one.headers, other.headers, name)
    }
  }
})

t.test('neither asks for the text', async (t) => {
  const large = largeOf(JSON.stringify({ model: 'svc-2.1', messages: [developer('x'), user('why?')] }))
  Object.defineProperty(large, 'body', { get: () => t.fail('the text was parsed') })
  for (const ask of Object.values(questions)) ask(large)
})

t.test('a copy with other messages is a request of its own', async (t) => {
  const large = largeOf(JSON.stringify({ model: 'svc-2.1', messages: [user('why?')] }))
  const messages = [user('how?')]
  const copy: ChatRequest = { ...large, messages, body: { ...large.body, messages } }
  t.equal(queryOf(copy), 'how?')
  t.equal(printFor(copy, copy.body), '{"model":"svc-2.1","messages":[{"role":"user","content":"how?"}]}')
})

t.test('what is handed over is small but for the text, whatever was sent', async (t) => {
  const many = (of: (i: number) => [string, unknown]) => Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => of(i)))
  for (const body of [
    { messages: Array.from({ length: 20_000 }, (_, i) => (i % 2 === 0 ? developer('x') : user('y'))) },
    { ...many((i) => [`u${i}`, i]), messages: [user('x')] },
    { messages: [user('x')], stream_options: many((i) => [`u${i}`, i]), logit_bias: many((i) => [`${i}`, 1]) },
    { messages: [user(Array.from({ length: 20_000 }, () => ({ type: 'image_url' })))] },
    { messages: [user('x')], tools: Array.from({ length: 20_000 }, () => ({ type: 'function', function: {}, ...mark })) },
  ]) {
    const { text, ...rest } = workOut(Buffer.from(JSON.stringify({ model: 'svc-2.1', ...body })), new Set())
    t.ok(JSON.stringify(rest).length < 10_000, `${JSON.stringify(rest).length} of ${text?.byteLength}`)
  }
})

function pairs(): readonly (readonly [name: string, small: ChatRequest, large: LargeChat])[] {
  return Object.entries(bodies).map(([name, body]) => {
    const sent = typeof body === 'string' ? body : JSON.stringify({ model: 'svc-2.1', messages: [user('x')], ...body })
    return [name, parseChatRequest(Buffer.from(sent)), largeOf(sent)]
  })
}

/** As it comes out of the thread. */
function largeOf(sent: string): LargeChat {
  const result = workOut(Buffer.from(sent), new Set(passFields))
  const { text } = result
  if (text === null) throw new Error('it has no memory of its own')
  return new LargeChat(structuredClone(result), text)
}
