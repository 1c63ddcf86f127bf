/** The automatic number of workers, and each worker's share of the limits. */
import t from 'tap'
import { applyWorkerShare, resolveWorkerCount } from '../../../../src/server/workers/worker-count.ts'
import { testConfig } from '../../../support/gateway/test-gateway.ts'

t.test('leaves two cores free; starts one serving thread on few cores and at most as many as the writer can serve', async (t) => {
  const config = testConfig(t)
  const counts = [1, 2, 3, 4, 8, 64].map((cores) => resolveWorkerCount(config, cores))
  t.same(counts, [1, 1, 1, 2, 6, 6])
  t.equal(resolveWorkerCount({ ...config, workers: 4 }, 1), 4, 'a configured number is used as it is')
  const narrow = testConfig(t, { upstreams: { main: { baseUrl: 'demo', connections: 3 } } })
  t.equal(resolveWorkerCount(narrow, 8), 3, 'never one without an upstream slot')
  t.equal(resolveWorkerCount(testConfig(t, { limits: { connections: 2 } }), 8), 2, 'nor one that could accept no connection')
})

t.test('shares out limits that add up to the whole, at least one each', async (t) => {
  const config = testConfig(t, {
    upstreams: { main: { baseUrl: 'demo', connections: 7, maxPending: 2 } },
    limits: { connections: 10 },
  })
  const shares = [0, 1, 2].map((index) => applyWorkerShare(config, { index, count: 3 }))
  t.same(
    shares.map(({ limits, upstreams }) => [limits.connections, upstreams['main']?.connections, upstreams['main']?.maxPending]),
    [
      [4, 3, 1],
      [3, 2, 1],
      [3, 2, 0],
    ],
  )
})

t.test('refuses more workers than an upstream has slots', async (t) => {
  const upstreams = { main: { baseUrl: 'demo', connections: 3 } } as const
  const message = /^workers: 4 are more than upstreams\.main\.connections \(3\), so that some would have no connection/
  t.throws(() => testConfig(t, { upstreams, workers: 4 }), { name: 'ConfigError', message })
  t.equal(testConfig(t, { upstreams, workers: 3 }).workers, 3)
})

t.test('refuses more workers than connections', async (t) => {
  const message = /^workers: 4 are more than limits\.connections \(3\), so that some would have no connection/
  t.throws(() => testConfig(t, { limits: { connections: 3 }, workers: 4 }), { name: 'ConfigError', message })
})
