/** Product → targets and their bodies: what must differ differs, and nothing about who asks goes along. */
import t from 'tap'
import { upstreamMapping } from '../../plugins/upstream-mapping.ts'
import type { Exchange, Slots } from '../../src/exchange/exchange.ts'
import { parseChatRequest } from '../../src/exchange/chat-request.ts'
import { Products } from '../../src/config/products.ts'
import { UpstreamFailure } from '../../src/exchange/upstream-failure.ts'
import { Upstreams } from '../../src/upstream/upstreams.ts'
import { anExchange, fewServices } from '../support/exchange.ts'
import { testConfig } from '../support/gateway.ts'
import type { Overrides } from '../support/gateway.ts'

function mapper(t: Parameters<typeof testConfig>[0], overrides: Overrides = {}, secret = Buffer.alloc(32, 1)) {
  const config = testConfig(t, overrides)
  const upstreams = new Upstreams(config, 'http://127.0.0.1:9/v1', () => 0)
  t.teardown(() => upstreams.close())
  const products = new Products(config)
  const { services } = fewServices({ config, upstreams, products, secret })
  return (body: Record<string, unknown> = {}, account = 'acc_1') => {
    const chat = parseChatRequest(
      Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'x' }], ...body })),
    )
    const x = Object.assign(anExchange(), {
      chat,
      product: products.get(chat.model),
      caller: { account: { id: account } },
      hold: { id: 1, credits: 1, inputEstimate: 7, outputCap: 500 },
    }) as unknown as Exchange & Slots
    void upstreamMapping.onRequest?.(x, services)
    const [first] = x.route.candidates
    const upstream = upstreams.get('main')
    if (upstream === undefined) throw new Error('no upstream')
    return {
      route: x.route,
      headers: x.headers,
      dialect: upstreams.dialect('main/demo-flagship', upstream),
      sent: JSON.parse(String(first?.body({ stream: x.chat.stream, usage: true }) ?? '{}')) as Record<string, unknown>,
    }
  }
}

t.test(
  'the model is the target’s, the cap is what is paid for, and the rest is the member’s own where it is known',
  async (t) => {
    const map = mapper(t)
    const { sent, route } = map({
      temperature: 0.5,
      max_completion_tokens: 9_999,
      top_k: 5,
      vendor_extra: { a: 1 },
      tools: [{ type: 'function', function: { name: 'f' } }],
    })
    t.same(sent, {
      model: 'demo-flagship',
      messages: [{ role: 'user', content: 'x' }],
      temperature: 0.5,
      top_k: 5,
      tools: [{ type: 'function', function: { name: 'f' } }],
      max_tokens: 500,
    })
    t.match(route, { productId: 'svc-2.1', stream: false, includeUsage: false, inputEstimate: 7 })
    t.match(route.candidates[0], { name: 'main/demo-flagship', path: '/chat/completions' })
  },
)

t.test('usage is always asked for in a stream, and never outside of one', async (t) => {
  const map = mapper(t)
  t.match(map({ stream: true }).sent, { stream: true, stream_options: { include_usage: true } })
  t.same(map({ stream: true, stream_options: { include_usage: false, include_obfuscation: false } }).sent['stream_options'], {
    include_usage: true,
    include_obfuscation: false,
  })
  t.notOk('stream_options' in map({ stream_options: { include_usage: true } }).sent, 'some upstreams refuse it there')
})

t.test('what changes the operator’s cost is left out unless it is allowed', async (t) => {
  const costly = { service_tier: 'priority', store: true }
  const { sent } = mapper(t)(costly)
  t.notOk('service_tier' in sent || 'store' in sent)
  t.match(mapper(t, { upstreams: { main: { passCostFields: true } } })(costly).sent, costly)
})

t.test('who asks is a pseudonym: the same each time, another for another account or installation', async (t) => {
  const map = mapper(t)
  const of = (fields: object, account?: string) => map({ ...fields }, account).sent
  const first = of({ user: 'jane@example.com', safety_identifier: 'jane' })
  t.match(first['user'], /^[0-9a-f]{32}$/)
  t.equal(first['user'], first['safety_identifier'])
  t.equal(of({ user: 'somebody else' })['user'], first['user'])
  t.not(of({ user: 'jane@example.com' }, 'acc_2')['user'], first['user'])
  t.not(mapper(t, {}, Buffer.alloc(32, 2))({ user: 'x' }).sent['user'], first['user'])
  t.notOk('user' in of({}), 'not sent where it was not sent')
})

t.test('each upstream is spoken to in its own dialect', async (t) => {
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'x' },
  ]
  t.match(mapper(t)({ messages }).sent['messages'], [{ role: 'system' }, { role: 'user' }])
  const other = mapper(t, { upstreams: { main: { developerRole: 'developer', maxTokensField: 'max_completion_tokens' } } })({
    messages,
    max_tokens: 3,
  }).sent
  t.match(other, { messages, max_completion_tokens: 500 })
  t.notOk('max_tokens' in other)
})

t.test(
  'an upstream is sent what it knows and what its operator lets through; the caller is told what was left out',
  async (t) => {
    const extras = {
      top_k: 5,
      transforms: ['middle-out'],
      n_predict: 1_000_000,
      metadata: { a: 'b' },
      'odd name\n': 1,
      prompt_cache_retention: '24h',
    }
    const usual = mapper(t)(extras)
    t.same(Object.keys(usual.sent).sort(), ['max_tokens', 'messages', 'model', 'top_k'])
    t.equal(usual.headers['x-svc-fields-dropped'], 'transforms, n_predict, prompt_cache_retention')
    const openai = mapper(t, { upstreams: { main: { kind: 'openai', passFields: ['transforms'] } } })(extras)
    t.same(Object.keys(openai.sent).sort(), ['max_tokens', 'messages', 'model', 'transforms'])
    t.notOk('x-svc-fields-dropped' in mapper(t)({ temperature: 1 }).headers)
  },
)

t.test('marks of paid caches are taken out of messages and tools, wherever they stand', async (t) => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const { sent } = mapper(t)({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x', ...mark },
          { type: 'text', text: 'y', prompt_cache_breakpoint: {} },
        ],
        ...mark,
      },
    ],
    tools: [{ type: 'function', function: { name: 'f', ...mark }, ...mark }],
  })
  t.same(sent['messages'], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'text', text: 'y' },
      ],
    },
  ])
  t.same(sent['tools'], [{ type: 'function', function: { name: 'f' } }])
})

t.test('our cap is cut to what the target can take; one of the caller’s goes as it is paid for', async (t) => {
  const ready = mapper(t)
  const dialect = ready({}).dialect
  dialect.contextLength = 300
  t.equal(ready({}).sent['max_tokens'], 293, 'beside seven tokens of prompt')
  dialect.maxOutput = 100
  t.equal(ready({}).sent['max_tokens'], 100)
  t.equal(ready({ max_tokens: 500 }).sent['max_tokens'], 500)
  dialect.leftOut.add('user')
  t.notOk('user' in ready({ user: 'x' }).sent)
})

t.test('several targets are candidates in the order that is drawn, spares last', async (t) => {
  const target = (model: string, weight?: number) => ({ upstream: 'main', model, ...(weight === undefined ? {} : { weight }) })
  const map = mapper(t, { products: { 'svc-2.1': { targets: [target('spare', 0), target('a'), target('b')] } } })
  t.same(
    map().route.candidates.map(({ name }) => name),
    ['main/a', 'main/b', 'main/spare'],
  )
})

t.test('a product that nobody can serve is a failure of the operator’s', async (t) => {
  const map = mapper(t, { products: { 'svc-2.1-search': { targets: [{ upstream: 'main', model: null }] } } })
  try {
    map({ model: 'svc-2.1-search' })
    t.fail('it was mapped')
  } catch (error) {
    t.ok(error instanceof UpstreamFailure)
    t.match(error, { facts: { kind: 'unconfigured' } })
  }
})
