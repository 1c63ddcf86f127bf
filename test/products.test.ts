import t from 'tap'
import { startGateway } from './support/gateway.ts'

const day = 86_400_000
const shutdownDate = '2027-06-30'

t.test('a product that will go says so ninety days before, and is gone on its day', async (t) => {
  let now = Date.parse(shutdownDate) - 10 * day
  const clock = { now: () => now, ticks: () => performance.now() }
  const gateway = await startGateway(t, { products: { 'svc-2.1-rev': { shutdownDate } } }, { clock })
  const { token } = await gateway.member()
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
  t.equal(streamed.headers.get('sunset'), 'Wed, 30 Jun 2027 00:00:00 GMT', 'a stream says it too')
  await streamed.text()
  const other = await gateway.chat(token, { model: 'svc-2.1' })
  t.equal(other.headers.get('sunset'), null, 'others say nothing')
  await other.text()

  now = Date.parse(shutdownDate)
  const after = await gateway.chat(token, { model: 'svc-2.1-rev' })
  const { code, message } = (await after.json()) as { code: string; message: string }
  t.same([after.status, code], [400, 'official_models_only'])
  t.notMatch(message, 'svc-2.1-rev', 'it is not among what is offered')
  t.notOk((await models()).some(({ id }) => id === 'svc-2.1-rev'))
})

t.test('a conversation that cannot fit is refused before anybody is asked', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.member()
  const before = gateway.demo.stats().requests
  const response = await gateway.chat(token, { messages: [{ role: 'user', content: 'x'.repeat(300_000) }] })
  const { code } = (await response.json()) as { code: string }
  t.same([response.status, code], [400, 'context_length_exceeded'])
  t.equal(gateway.demo.stats().requests, before)
  t.equal((await gateway.turns(id)).length, 0, 'nothing was held')
})
