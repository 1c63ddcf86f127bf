/** One rule for large and small requests: the worker's analysis equals what the functions compute for a small request. */
import t from 'tap'
import type { GatewayConfig } from '../../../../src/config/config.ts'
import { upstreamMapping } from '../../../../plugins/upstream-mapping.ts'
import { Products } from '../../../../src/config/products.ts'
import {
  getBodyHash,
  getConversationOpening,
  hasImages,
  maxLastUserLength,
  parseChatRequest,
  toChatRequest,
} from '../../../../src/exchange/request/chat-request.ts'
import type { ChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { measurePrompt } from '../../../../src/exchange/request/prompt-size.ts'
import type { Exchange, Slots } from '../../../../src/exchange/exchange.ts'
import { findForbiddenField, pickImageFields } from '../../../../src/exchange/request/field-policy.ts'
import { ParsedChat } from '../../../../src/exchange/body-parser/parsed-chat.ts'
import { getAnalysis } from '../../../../src/exchange/request/request-analysis.ts'
import { serializeBody } from '../../../../src/exchange/request/raw-json.ts'
import { analyzeRequest } from '../../../../src/exchange/body-parser/analyze-request.ts'
import { TextLease } from '../../../../src/exchange/body-parser/text-lease.ts'
import { extractQuery } from '../../../../src/tools/search/query.ts'
import type { GatewayError } from '../../../../src/errors.ts'
import type { TargetFacts } from '../../../../src/exchange/request/form/request-form.ts'
import { listTargetFacts, prepareParts } from '../../../../src/upstream/prepare-parts.ts'
import { Upstreams } from '../../../../src/upstream/target/upstreams.ts'
import { createTestExchange, createTestServices } from '../../../support/gateway/test-exchange.ts'
import { defaultMediaFigures } from '../../../support/media-figures.ts'
import { testConfig } from '../../../support/gateway/test-gateway.ts'

const long = 'The  quick 额外 "fox"\n<b>  🏳️‍🌈 Überprüfung\t'.repeat(2_000)
const mark = { cache_control: { type: 'ephemeral' } }
const user = (content: unknown) => ({ role: 'user', content })
const developer = (content: unknown) => ({ role: 'developer', name: 'd', content })
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(50_000)}` } }
const tool = (more: object = {}) => ({ type: 'function', function: { name: 'f', description: long, ...more }, ...more })

/** Request bodies; `model` and `messages` are added if they are missing. */
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
  'many parts': {
    messages: [user([...Array.from({ length: 100 }, (_, i) => ({ type: 'text', text: `word ${i}` })), picture])],
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
  'no user message': { messages: [{ role: 'system', content: long }] },
  'a question of many parts': { messages: [user(Array.from({ length: 200 }, () => ({ type: 'text', text: 'x' })))] },
  'a question too long to be carried about': { messages: [user(long.repeat(2))] },
  'a question within blanks': { messages: [user(`${' '.repeat(70_000)}why?`)] },
  'options of the stream': { stream: true, stream_options: { include_usage: false, include_obfuscation: false } },
  'options of the stream, long ones': { stream: true, stream_options: { before: long, include_usage: false, after: 1 } },
  'long options where none is wanted': { stream_options: { before: long } },
  'reasoning of other APIs': {
    messages: [
      user('x'),
      {
        role: 'assistant',
        content: long,
        anthropic_thinking: [{ type: 'thinking', thinking: long, signature: 's' }],
        responses_reasoning: [{ type: 'reasoning', summary: [], encrypted_content: long }],
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"input":"y"}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: long },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    reasoning_effort: 'low',
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    anthropic_effort: 'high',
    responses_custom_tools: [{ name: 'f', description: long }],
    responses_reasoning_summary: 'detailed',
  },
  'custom tools': { tools: [{ type: 'custom', custom: { name: 'f', description: long } }] },
  'a schema': { response_format: { type: 'json_schema', json_schema: { schema: { description: long } } } },
  'unknown fields': Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`unknown_${i}${i % 7 === 0 ? ' ' : ''}`, long])),
  'fields of other upstreams': {
    transforms: [long],
    top_k: 5,
    odd: 1,
    service_tier: 'flex',
    store: true,
    metadata: { a: 'x'.repeat(512) },
  },
  'what chooses and buys': { models: [long], web_search_options: {}, modalities: ['text', 'audio'] },
  'words that ask for nothing': { models: [], modalities: ['text'], best_of: 1, audio: null },
  'a painting': { size: '1024x1024', quality: long, n: 2 },
  'names of numbers': '{"model":"svc-2.1","7":1,"messages":[{"role":"user","content":"x","2":1,"1":2}],"3":{"b":1,"a":2}}',
  'names of prototypes':
    '{"model":"svc-2.1","messages":[{"role":"user","content":"x","__proto__":{"a":1}}],"__proto__":{"b":1},"metadata":{"__proto__":"c"},"logit_bias":{"__proto__":{"c":1}}}',
  'a name twice': '{"model":"other","messages":[],"temperature":1,"messages":[{"role":"user","content":"x"}],"model":"svc-2.1"}',
  'numbers and escapes':
    '{ "model" : "svc-2.1", "seed": 1E20, "top_p":1e-7, "messages":[{"role":"user","content":"\\ud83d\\ude00 \\u00e9 \\/ \\u2028"}] }',
}

const passRequestFields = ['transforms']

/** The functions that examine a request, with errors as results. */
const questions: Readonly<Record<string, (chat: ChatRequest) => unknown>> = {
  size: (chat) => measurePrompt(chat, defaultMediaFigures),
  hash: getBodyHash,
  pictures: hasImages,
  opening: getConversationOpening,
  faults: (chat) =>
    [[], ['models', 'modalities', 'tools']].map((allowed) => findForbiddenField(chat, () => new Set(allowed))?.details),
  question: (chat) => {
    try {
      return extractQuery(chat)
    } catch (error) {
      return String(error)
    }
  },
  painting: (chat) => String(serializeBody(pickImageFields(chat))),
}

t.test('answers each question the same', async (t) => {
  const both = pairs()
  for (const [name, small, large] of both) {
    t.ok(getAnalysis(large), name)
    for (const [what, ask] of Object.entries(questions)) t.same(ask(large), ask(small), `${name}: ${what}`)
    t.match({ ...large }, { model: small.model, stream: small.stream, choices: small.choices, bytes: small.bytes }, name)
    t.equal(JSON.stringify(large.body), JSON.stringify(small.body), `${name}: the body, on demand`)
    t.same(large.messages, small.messages)
    t.equal(large.maxTokens, small.maxTokens)
    t.equal(large.includeUsage, small.includeUsage)
  }
})

t.test('sends each target the same bytes, and the client the same headers', async (t) => {
  for (const main of [
    {},
    { developerRole: 'developer', passRequestFields, passCostFields: true },
    { kind: 'openai', maxTokensField: 'max_completion_tokens' },
  ] as const) {
    const config = testConfig(t, { upstreams: { main } })
    const upstreams = new Upstreams(config, 'http://127.0.0.1:9/v1', () => 0)
    t.teardown(() => upstreams.close())
    const mapChat = createMapping(config, upstreams)
    const sent = (chat: ChatRequest) => {
      const x = mapChat(chat)
      const [candidate] = x.route.candidates
      const asked = [
        { stream: true, includeUsage: true },
        { stream: true, includeUsage: false },
        { stream: false, includeUsage: false, outputCap: 9 },
      ].map((mode) => String(serializeBody(candidate?.body(mode) ?? {})))
      return { asked, headers: x.headers }
    }
    const { 'svc-2.1': targets = [] } = listTargetFacts(config, upstreams)
    for (const [name, small, large] of pairs(targets)) {
      const whole = sent(small)
      Object.defineProperty(large, 'body', { get: () => t.fail(`${name}: the text was parsed`) })
      const [one, other] = [whole, sent(large)]
      t.ok(
        one.asked.every((body, i) => body === other.asked[i]),
        `${name}, ${JSON.stringify(main)}`,
      )
      t.same(one.headers, other.headers, name)
    }
  }
})

const translatedUpstreams = [
  { kind: 'anthropic' },
  { kind: 'anthropic', developerRole: 'developer' },
  { responses: true },
  { responses: true, developerRole: 'developer', passRequestFields },
] as const

for (const other of translatedUpstreams)
  t.test(`sends an upstream of another API the same bytes, without parsing the text: ${JSON.stringify(other)}`, async (t) => {
    const config = testConfig(t, {
      upstreams: { other: { baseUrl: 'http://127.0.0.1:9/v1', ...other } },
      products: { 'svc-2.1': { targets: [{ upstream: 'other', model: 'm' }] } },
    })
    const upstreams = new Upstreams(config, 'http://127.0.0.1:9/v1', () => 0)
    t.teardown(() => upstreams.close())
    const format = upstreams.get('other')?.format ?? null
    const mapChat = createMapping(config, upstreams)
    const send = (chat: ChatRequest): unknown => {
      const x = mapChat(chat)
      const [candidate] = x.route.candidates
      try {
        return String(serializeBody(format?.toRequest(candidate?.body({ stream: true, includeUsage: true }) ?? {}) ?? {}))
      } catch (error) {
        return (error as GatewayError).details
      }
    }
    const { 'svc-2.1': targets = [] } = listTargetFacts(config, upstreams)
    t.equal(targets.length, 1)
    for (const [name, small, large] of pairs(targets)) {
      Object.defineProperty(large, 'body', { get: () => t.fail(`${name}: the text was parsed`) })
      t.same(send(large), send(small), name)
    }
  })

t.test('does not parse the text for any of the questions', async (t) => {
  const large = largeOf(JSON.stringify({ model: 'svc-2.1', messages: [developer('x'), user('why?')] }))
  Object.defineProperty(large, 'body', { get: () => t.fail('the text was parsed') })
  for (const ask of Object.values(questions)) ask(large)
})

t.test('treats a copy with other messages as a request of its own', async (t) => {
  const large = largeOf(JSON.stringify({ model: 'svc-2.1', messages: [user('why?')] }))
  const messages = [user('how?')]
  const copy: ChatRequest = { ...large, messages, body: { ...large.body, messages } }
  t.equal(extractQuery(copy), 'how?')
  t.equal(serializeBody(copy.body), '{"model":"svc-2.1","messages":[{"role":"user","content":"how?"}]}')
})

t.test('transfers little besides the text, whatever was sent', async (t) => {
  const many = (of: (i: number) => [string, unknown]) => Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => of(i)))
  for (const body of [
    { messages: Array.from({ length: 20_000 }, (_, i) => (i % 2 === 0 ? developer('x') : user('y'))) },
    { ...many((i) => [`u${i}`, i]), messages: [user('x')] },
    { messages: [user('x')], stream_options: many((i) => [`u${i}`, i]), logit_bias: many((i) => [`${i}`, 1]) },
    { messages: [user(Array.from({ length: 20_000 }, () => ({ type: 'image_url' })))] },
    { messages: [user('x')], tools: Array.from({ length: 20_000 }, () => ({ type: 'function', function: {}, ...mark })) },
  ]) {
    const { text, ...rest } = analyzeRequest(toChatRequest({ model: 'svc-2.1', ...body }, { bytes: 1 }), new Set())
    t.ok(JSON.stringify(rest).length < 10_000, `${JSON.stringify(rest).length} of ${text?.byteLength}`)
  }
})

function pairs(
  targets: readonly TargetFacts[] = [],
): readonly (readonly [name: string, small: ChatRequest, large: ParsedChat])[] {
  return Object.entries(bodies).map(([name, body]) => {
    const sent = typeof body === 'string' ? body : JSON.stringify({ model: 'svc-2.1', messages: [user('x')], ...body })
    return [name, parseChatRequest(Buffer.from(sent)), largeOf(sent, targets)]
  })
}

/** The request as the worker returns it. */
function largeOf(sent: string, targets: readonly TargetFacts[] = []): ParsedChat {
  const result = analyzeRequest(parseChatRequest(Buffer.from(sent)), new Set(passRequestFields), { targets, prepareParts })
  const { text } = result
  if (text === null) throw new Error('it has no memory of its own')
  return new ParsedChat(structuredClone(result), text, { translated: null, lease: new TextLease(() => {}) })
}

/** The plugin that maps a chat to the upstream's requests, with an exchange whose hold was made. */
function createMapping(config: GatewayConfig, upstreams: Upstreams): (chat: ChatRequest) => Exchange & Slots {
  const products = new Products(config)
  const { services } = createTestServices({ config, upstreams, products, secret: Buffer.alloc(32, 1) })
  return (chat) => {
    const x = Object.assign(createTestExchange(), {
      chat,
      product: products.get(chat.model),
      caller: { account: { id: 'acc_1' } },
      hold: { id: 1, credits: 1, inputEstimate: 7, outputCap: 500 },
    }) as unknown as Exchange & Slots
    void upstreamMapping.onRequest?.(x, services)
    return x
  }
}

t.test('passes the beginning of a long last message, so that the serving thread need not parse the request', async (t) => {
  const text = 'word '.repeat(100_000)
  const many = Array.from({ length: 1_000 }, () => ({ type: 'text', text: 'word'.repeat(100) }))
  for (const content of [text, [{ type: 'text', text }, picture], many]) {
    const chat = parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [user(content)] })))
    const sent = JSON.stringify(analyzeRequest(chat, new Set()).lastUser)
    t.ok(sent.startsWith('{"role":"user"') && !sent.includes('base64'))
    t.ok(sent.length > maxLastUserLength && sent.length < maxLastUserLength + 2_000, `${sent.length} characters`)
  }
})
