/** Product ids only, and only those of the plan. */
import t from 'tap'
import { modelAllowlist } from '../../plugins/model-allowlist.ts'
import type { GatewayError } from '../../src/errors.ts'
import type { Exchange, Slots } from '../../src/exchange/exchange.ts'
import { Products } from '../../src/products.ts'
import { anExchange, fewServices, noon } from '../support/exchange.ts'
import { testConfig } from '../support/gateway.ts'

const day = 86_400_000
const isoDay = (at: number) => new Date(at).toISOString().slice(0, 10)

t.test('what is let through and what is not', async (t) => {
  const config = testConfig(t, {
    products: { 'svc-2.1-rev': { shutdownDate: isoDay(noon - day) }, 'svc-2.1-pro': { shutdownDate: isoDay(noon + 30 * day) } },
  })
  const { services } = fewServices({ config, products: new Products(config) })
  const ask = async (model: unknown, models: 'all' | string[] = 'all') => {
    const x = Object.assign(anExchange({ body: { model, messages: [{ role: 'user', content: 'x' }] } }), {
      caller: { plan: { id: 'free', models } },
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
    t.match(failure.message, /auto, svc, svc-2\.1, svc-2\.1-fast/, 'the message lists what there is')
    t.notMatch(failure.message, /svc-2\.1-rev/, 'without what is gone')
  }
  t.match(await refused('svc', ['auto']), { code: 'official_models_only' }, 'another plan has fewer')
  t.match((await refused('svc', ['auto'])).message, /: auto\.$/)
  t.equal((await refused(7)).code, 'invalid_request')

  const leaving = await ask('svc-2.1-pro')
  t.match(leaving.headers, { sunset: /GMT$/, deprecation: /^@\d+$/ })
  t.same((await ask('svc')).headers, {})
})
