/** Reading the model list of an upstream that is not ready yet. */
import t from 'tap'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'
import { sendJson, startScriptedServer } from '../../../support/upstream/scripted-server.ts'

t.test('asks again for the models of an upstream that answered 5xx, and reports it in readyz meanwhile', async (t) => {
  let queries = 0
  let isLoaded = false
  const { url: baseUrl } = await startScriptedServer(t, (request, response) => {
    if (request.url !== '/v1/models') return sendJson(response, 404, {})
    queries++
    sendJson(response, isLoaded ? 200 : 503, isLoaded ? { data: [{ id: 'loaded' }] } : {})
  })
  const clock = new SimulatedClock({ isLive: true })
  const g = await startGateway(
    t,
    {
      upstreams: { main: { baseUrl } },
      products: { 'svc-2.1': { targets: [{ upstream: 'main', model: null }] } },
    },
    { clock },
  )
  const { upstreams } = g.services
  await waitUntil(() => upstreams.unreadModelLists.size > 0, 'the first answer')
  const readNotes = async () => {
    const response = await fetch(`${g.url}/readyz`)
    return { status: response.status, notes: ((await response.json()) as { notes?: string[] }).notes }
  }
  t.same(await readNotes(), {
    status: 200,
    notes: [
      'models: the model list of an upstream cannot be read yet, and turns that need it fail; `svc-gateway doctor` names the upstream',
    ],
  })
  isLoaded = true
  clock.advance(1_000)
  const target = { upstream: 'main', model: null, weight: 1 }
  await waitUntil(() => upstreams.selectCandidates([target], 'svc-2.1', 0)[0]?.model === 'loaded', 'the listed model')
  t.ok(queries > 1)
  t.same(await readNotes(), { status: 200, notes: undefined })
})
