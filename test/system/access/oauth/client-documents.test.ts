/** Client id metadata documents are announced only while the internet can be reached. */
import t from 'tap'
import { ClientDocuments, findInternetFault } from '../../../../src/access/oauth/client-documents.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'
import { systemClock } from '../../../../src/system/clock.ts'

const probeUrl = 'https://probe.example/'

t.test('announces documents while the probe succeeds, and probes again after a while', async (t) => {
  const clock = new SimulatedClock()
  const state = { probes: 0, isOnline: false }
  const documents = new ClientDocuments({
    mode: 'auto',
    probeUrl,
    clock,
    async fetch(address, init) {
      t.same([address, init?.method], [probeUrl, 'HEAD'])
      state.probes += 1
      if (!state.isOnline) throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ENOTFOUND' }) })
      return new Response(null, { status: 404 })
    },
  })
  t.same(await Promise.all([documents.isAnnounced(), documents.isAnnounced()]), [false, false])
  t.equal(state.probes, 1, 'concurrent readers share a probe')
  state.isOnline = true
  clock.advance(59_000)
  t.equal(await documents.isAnnounced(), false)
  clock.advance(2_000)
  t.equal(await documents.isAnnounced(), true, 'any answer proves that the internet can be reached')
  state.isOnline = false
  clock.advance(599_000)
  t.equal(await documents.isAnnounced(), true)
  clock.advance(2_000)
  t.equal(await documents.isAnnounced(), false)
  t.equal(state.probes, 3)
})

t.test('follows the operator’s setting without a probe', async (t) => {
  const fetch = async () => t.fail('a probe') as never
  for (const mode of ['on', 'off'] as const)
    t.equal(await new ClientDocuments({ mode, probeUrl, clock: new SimulatedClock(), fetch }).isAnnounced(), mode === 'on')
})

t.test('waits only a moment for a probe without an answer', async (t) => {
  const clock = new SimulatedClock()
  const documents = new ClientDocuments({ mode: 'auto', probeUrl, clock, fetch: () => new Promise(() => undefined) })
  const announced = documents.isAnnounced()
  await clock.run(1_000)
  t.equal(await announced, false)
})

t.test('reports why the internet cannot be reached', async (t) => {
  t.match(await findInternetFault('https://127.0.0.1:1/', systemClock), { message: /not allowed/ })
})
