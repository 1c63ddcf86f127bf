import t from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { createClock } from '../../../src/system/clock.ts'

const day = 86_400_000
const shutdownDate = '2027-06-30'

t.test('announces a retirement ninety days before, and rejects the product from its day on', async (t) => {
  let now = Date.parse(shutdownDate) - 10 * day
  const clock = createClock({ now: () => now })
  const gateway = await startGateway(t, { products: { 'svc-2.1-rev': { shutdownDate } } }, { clock })
  const { token } = await gateway.createMember()
  const models = async (): Promise<{ id: string; shutdown_date: string | null }[]> => {
    const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
    return ((await response.json()) as { data: { id: string; shutdown_date: string | null }[] }).data
  }

  t.equal((await models()).find(({ id }) => id === 'svc-2.1-rev')?.shutdown_date, shutdownDate)
  const before = await gateway.chat(token, { model: 'svc-2.1-rev' })
  t.equal(before.status, 200)
  t.equal(before.headers.get('sunset'), 'Wed, 30 Jun 2027 00:00:00 GMT')
  t.equal(before.headers.get('deprecation'), `@${(Date.parse(shutdownDate) - 90 * day) / 1000}`)
  const streamed = await gateway.chat(token, { model: 'svc-2.1-rev', stream: true })
  t.equal(streamed.headers.get('sunset'), 'Wed, 30 Jun 2027 00:00:00 GMT', 'also in a stream')
  await streamed.text()
  const other = await gateway.chat(token, { model: 'svc-2.1' })
  t.equal(other.headers.get('sunset'), null, 'other products announce nothing')
  await other.text()

  now = Date.parse(shutdownDate)
  const after = await gateway.chat(token, { model: 'svc-2.1-rev' })
  const { code, message } = (await after.json()) as { code: string; message: string }
  t.same([after.status, code], [400, 'official_models_only'])
  t.notMatch(message, 'svc-2.1-rev', 'it is not listed any more')
  t.notOk((await models()).some(({ id }) => id === 'svc-2.1-rev'))
})

t.test('lists no product that cannot be served, names it at start, and explains it on request', async (t) => {
  const targets = [{ upstream: 'main', model: null }]
  const g = await startGateway(t, {
    products: { 'svc-img': { targets }, 'svc-2.1-search': { targets }, 'svc-2.1-fast': { targets } },
  })
  const { token, id } = await g.createMember()
  const list = (await (await fetch(`${g.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).json()) as {
    data: { id: string }[]
  }
  const ids = list.data.map((model) => model.id)
  t.notOk(ids.includes('svc-img') || ids.includes('svc-2.1-search'))
  t.ok(ids.includes('svc-2.1-fast'), 'a chat product may use its own id as model')
  const plans = (await (await fetch(`${g.url}/api/membership/plans`)).json()) as {
    data: { models: string[] }[]
    pricing: { id: string }[]
  }
  t.ok(plans.data.every(({ models }) => !models.includes('svc-img')))
  t.ok(plans.pricing.every((price) => price.id !== 'svc-img'))
  t.match(g.log.join(''), /"product":"svc-img".*is not sold/)
  const response = await g.chat(token, { model: 'svc-img' })
  const { code, message } = (await response.json()) as { code: string; message: string }
  t.same([response.status, code], [503, 'upstream_not_configured'])
  t.match(message, /'svc-img' is not set up/)
  t.match(await g.listTurns(id), [{ state: 'refunded' }])
  const other = await g.chat(token, { model: 'gpt-5' })
  t.notMatch(((await other.json()) as { message: string }).message, 'svc-img')
})

t.test('a search product with a search engine needs no model', async (t) => {
  const targets = [{ upstream: 'main', model: null }]
  const search = { backend: 'searxng', searxngUrl: 'http://127.0.0.1:9' } as const
  const g = await startGateway(t, { products: { 'svc-2.1-search': { targets } }, search })
  t.ok(g.services.products.all.some(({ id }) => id === 'svc-2.1-search'))
})

t.test('rejects a conversation that cannot fit before the upstream is called', async (t) => {
  const gateway = await startGateway(t, {
    products: { 'svc-2.1': { contextLength: 1_024, maxOutputTokens: 512, defaultOutputTokens: 512 } },
  })
  const { token, id } = await gateway.createMember()
  const before = gateway.demo.stats().requests
  const response = await gateway.chat(token, { messages: [{ role: 'user', content: 'x'.repeat(300_000) }] })
  const { code } = (await response.json()) as { code: string }
  t.same([response.status, code], [400, 'context_length_exceeded'])
  t.equal(gateway.demo.stats().requests, before)
  t.equal((await gateway.listTurns(id)).length, 0, 'nothing was held')
})
