/** Targets of a product and their bodies: only the necessary changes, and nothing about the member. */
import t from 'tap'
import { upstreamMapping } from '../../../plugins/upstream-mapping.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import { parseChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { Products } from '../../../src/config/products.ts'
import { UpstreamFailure } from '../../../src/exchange/upstream-failure.ts'
import { Upstreams } from '../../../src/upstream/target/upstreams.ts'
import { createTestExchange, createTestServices } from '../../support/gateway/test-exchange.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../support/gateway/test-gateway.ts'

function mapper(t: Parameters<typeof testConfig>[0], overrides: Overrides = {}, secret = Buffer.alloc(32, 1)) {
  const config = testConfig(t, overrides)
  const upstreams = new Upstreams(config, 'http://127.0.0.1:9/v1', () => 0)
  t.teardown(() => upstreams.close())
  const products = new Products(config)
  const { services } = createTestServices({ config, upstreams, products, secret })
  return (body: Record<string, unknown> = {}, account = 'acc_1') => {
    const chat = parseChatRequest(
      Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'x' }], ...body })),
    )
    const x = Object.assign(createTestExchange(), {
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
      dialect: upstreams.getDialect('main/demo-flagship', upstream),
      sent: JSON.parse(JSON.stringify(first?.body({ stream: x.chat.stream, includeUsage: true }) ?? {})) as Record<
        string,
        unknown
      >,
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

t.test('requests usage in every stream, and never outside of one', async (t) => {
  const map = mapper(t)
  t.match(map({ stream: true }).sent, { stream: true, stream_options: { include_usage: true } })
  t.same(map({ stream: true, stream_options: { include_usage: false, include_obfuscation: false } }).sent['stream_options'], {
    include_usage: true,
    include_obfuscation: false,
  })
  t.notOk('stream_options' in map({ stream_options: { include_usage: true } }).sent, 'some upstreams reject it there')
})

t.test('drops fields that change the operator’s cost unless they are allowed', async (t) => {
  const costly = { service_tier: 'priority', store: true }
  const { sent } = mapper(t)(costly)
  t.notOk('service_tier' in sent || 'store' in sent)
  t.match(mapper(t, { upstreams: { main: { passCostFields: true } } })(costly).sent, costly)
})

t.test('sends a pseudonym: constant per account, different for another account or installation', async (t) => {
  const map = mapper(t)
  const of = (fields: object, account?: string) => map({ ...fields }, account).sent
  const first = of({ user: 'jane@example.com', safety_identifier: 'jane' })
  t.match(first['user'], /^[0-9a-f]{32}$/)
  t.equal(first['user'], first['safety_identifier'])
  t.equal(of({ user: 'another user' })['user'], first['user'])
  t.not(of({ user: 'jane@example.com' }, 'acc_2')['user'], first['user'])
  t.not(mapper(t, {}, Buffer.alloc(32, 2))({ user: 'x' }).sent['user'], first['user'])
  t.notOk('user' in of({}), 'none is sent if the client sent none')
})

t.test('names a cache of the upstream by account, so that no account uses or steers that of another', async (t) => {
  const map = mapper(t)
  const of = (prompt_cache_key: unknown, account?: string) => map({ prompt_cache_key }, account).sent['prompt_cache_key']
  const first = of('session-1')
  t.match(first, /^[0-9a-f]{32}$/)
  t.equal(of('session-1'), first)
  t.not(of('session-2'), first)
  t.not(of('session-1', 'acc_2'), first)
  t.notOk('prompt_cache_key' in map({ prompt_cache_key: 7 }).sent)
  t.notOk('prompt_cache_key' in map({}).sent)
})

t.test('uses each upstream’s own request format', async (t) => {
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
    const openai = mapper(t, { upstreams: { main: { kind: 'openai', passRequestFields: ['transforms'] } } })(extras)
    t.same(Object.keys(openai.sent).sort(), ['max_tokens', 'messages', 'model', 'transforms'])
    t.notOk('x-svc-fields-dropped' in mapper(t)({ temperature: 1 }).headers)
  },
)

t.test('removes paid cache marks from messages and tools at any depth', async (t) => {
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

t.test('reduces the default cap to what the target accepts, and keeps the client’s', async (t) => {
  const ready = mapper(t)
  const dialect = ready({}).dialect
  dialect.contextLength = 300
  t.equal(ready({}).sent['max_tokens'], 259, 'beside seven tokens of prompt and the margin')
  dialect.maxOutputTokens = 100
  t.equal(ready({}).sent['max_tokens'], 100)
  t.equal(ready({ max_tokens: 500 }).sent['max_tokens'], 500)
  dialect.droppedFields.add('user')
  t.notOk('user' in ready({ user: 'x' }).sent)
})

t.test('orders several targets by the conversation, spares last', async (t) => {
  const target = (model: string, weight?: number) => ({ upstream: 'main', model, ...(weight === undefined ? {} : { weight }) })
  const map = mapper(t, { products: { 'svc-2.1': { targets: [target('spare', 0), target('a'), target('b')] } } })
  const list = (session: number) => map({ prompt_cache_key: `session-${session}` }).route.candidates.map(({ name }) => name)
  const orders = Array.from({ length: 20 }, (_, session) => list(session))
  t.same(new Set(orders.map(String)), new Set(['main/a,main/b,main/spare', 'main/b,main/a,main/spare']))
  t.same(
    Array.from({ length: 20 }, (_, session) => list(session)),
    orders,
  )
})

t.test('treats a product that cannot be served as the operator’s failure', async (t) => {
  const map = mapper(t, { products: { 'svc-2.1-search': { targets: [{ upstream: 'main', model: null }] } } })
  try {
    map({ model: 'svc-2.1-search' })
    t.fail('it was mapped')
  } catch (error) {
    t.ok(error instanceof UpstreamFailure)
    t.match(error, { facts: { kind: 'unconfigured' } })
  }
})
