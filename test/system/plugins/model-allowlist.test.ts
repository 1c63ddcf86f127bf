/** Accepts product ids of the plan only. */
import t from 'tap'
import { modelAllowlist } from '../../../plugins/model-allowlist.ts'
import type { GatewayError } from '../../../src/errors.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import { Products } from '../../../src/config/products.ts'
import { createTestExchange, createTestServices, noon } from '../../support/gateway/test-exchange.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'

const day = 86_400_000
const isoDay = (at: number) => new Date(at).toISOString().slice(0, 10)

t.test('accepts the plan’s products and rejects other ids', async (t) => {
  const config = testConfig(t, {
    products: { 'svc-2.1-rev': { shutdownDate: isoDay(noon - day) }, 'svc-2.1-pro': { shutdownDate: isoDay(noon + 30 * day) } },
  })
  const { services } = createTestServices({ config, products: new Products(config) })
  const ask = async (model: unknown, models: 'all' | string[] = 'all', more: object = {}) => {
    const x = Object.assign(createTestExchange({ body: { model, messages: [{ role: 'user', content: 'x' }], ...more } }), {
      caller: { account: { id: 'acc_1' }, plan: { id: 'free', models } },
    }) as unknown as Exchange & Slots
    await modelAllowlist.onRequest?.(x, services)
    return x
  }
  const refused = async (model: unknown, models?: 'all' | string[]): Promise<GatewayError> => {
    try {
      await ask(model, models)
    } catch (error) {
      return error as GatewayError
    }
    throw new Error(`${String(model)} was let through`)
  }

  for (const id of ['auto', 'svc', 'svc-2.1', 'svc-2.1-fast', 'svc-2.1-pro', 'svc-2.1-search', 'svc-img']) {
    const x = await ask(id)
    t.match(x, { product: { id }, chat: { model: id }, debug: { productModel: id } })
  }
  for (const id of [
    'gpt-5',
    'SVC',
    'svc ',
    'svc-2.1-rev',
    '__proto__',
    'constructor',
    'toString',
    'demo-flagship',
    'main/demo-flagship',
  ]) {
    const failure = await refused(id)
    t.equal(failure.code, 'official_models_only', id)
    t.match(failure.message, /auto, svc, svc-2\.1, svc-2\.1-fast/, 'lists the available ids in the message')
    t.notMatch(failure.message, /svc-2\.1-rev/, 'without retired products')
  }
  t.match(await refused('svc', ['auto']), { code: 'official_models_only' }, 'another plan has fewer')
  t.match((await refused('svc', ['auto'])).message, /: auto\.$/)
  t.equal((await refused(7)).code, 'invalid_request')
  await t.rejects(ask('svc-img', 'all', { n: 2 }), { code: 'invalid_request', message: /one image at a time/ })
  await ask('svc-img', 'all', { n: 1 })
  await ask('svc', 'all', { n: 2 })

  const leaving = await ask('svc-2.1-pro')
  t.match(leaving.headers, { sunset: /GMT$/, deprecation: /^@\d+$/ })
  t.same((await ask('svc')).headers, {})
})

t.test('rejects fields that choose a model, a provider, an address or a key, or that buy an extra', async (t) => {
  const overrides = { upstreams: { main: { passRequestFields: ['web_search_options'] } } }
  const asker =
    (config: ReturnType<typeof testConfig>) =>
    async (fields: object, model = 'svc') => {
      const { services } = createTestServices({ config, products: new Products(config) })
      const x = Object.assign(createTestExchange({ body: { model, messages: [{ role: 'user', content: 'x' }], ...fields } }), {
        caller: { account: { id: 'acc_1' }, plan: { id: 'free', models: 'all' } },
      }) as unknown as Exchange & Slots
      try {
        await modelAllowlist.onRequest?.(x, services)
      } catch (error) {
        return error as GatewayError
      }
      return null
    }
  const ask = asker(testConfig(t))
  for (const [fields, param] of [
    [{ models: ['openai/gpt-5'] }, 'models'],
    [{ fallbacks: [{ model: 'x' }] }, 'fallbacks'],
    [{ route: 'fallback' }, 'route'],
    [{ provider: { order: ['x'] } }, 'provider'],
    [{ plugins: [{ id: 'web' }] }, 'plugins'],
    [{ api_base: 'http://169.254.169.254/' }, 'api_base'],
    [{ base_url: 'http://x' }, 'base_url'],
    [{ api_key: 'x' }, 'api_key'],
    [{ extra_body: { models: ['x'] } }, 'extra_body'],
    [{ mock_response: 'x' }, 'mock_response'],
    [{ custom_llm_provider: 'openai' }, 'custom_llm_provider'],
    [{ model_list: [{}] }, 'model_list'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ search_parameters: { mode: 'on' } }, 'search_parameters'],
    [{ search_parameters: { mode: 'auto', enabled: true } }, 'search_parameters'],
    [{ enable_search: true }, 'enable_search'],
    [{ audio: { voice: 'alloy' } }, 'audio'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ best_of: 4 }, 'best_of'],
    [{ lora_path: 'x' }, 'lora_path'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [
      {
        tools: [
          { type: 'function', function: { name: 'f' } },
          { type: 'mcp', server_url: 'http://x' },
        ],
      },
      'tools[1].type',
    ],
    [{ tools: [{ googleSearch: {} }] }, 'tools[0].type'],
    [{ tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] }, 'tools[0].type'],
    [{ tools: ['x'] }, 'tools[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] }, 'messages[0].content[0]'],
  ] as const) {
    const failure = await ask(fields)
    t.match(failure, { code: 'invalid_request', details: { param } }, JSON.stringify(fields))
  }
  t.equal(await ask({ modalities: ['image', 'text'] }, 'svc-img'), null, 'an image product may return images')
  for (const fields of [
    { models: [], provider: null, enable_search: false, best_of: 1, modalities: ['text'], audio: null },
    {
      search_parameters: { mode: 'off' },
      web_search: false,
      enable_search: 'off',
      plugins: [],
      search_options: { enabled: false },
    },
    { web_search: { type: 'disabled' }, route: '', preset: 'none' },
    { user: 'x', service_tier: 'auto', store: false, metadata: {}, some_client: 'sends this', top_k: 1 },
    {
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'c' } },
        { function: { name: 'g' } },
      ],
    },
  ])
    t.equal(await ask(fields), null, JSON.stringify(fields))
  t.equal(await asker(testConfig(t, overrides))({ web_search_options: {} }), null, 'forwards a field that the operator allows')
})
