/** The automatic number of workers, and each worker's share of the limits. */
import t from 'tap'
import { applyWorkerShare, resolveWorkerCount } from '../../../../src/server/workers/worker-count.ts'
import { testConfig } from '../../../support/gateway/test-gateway.ts'

const gib = 2 ** 30

t.test('leaves two cores free; starts one serving thread on few cores and at most as many as the writer can serve', async (t) => {
  const config = testConfig(t)
  const counts = [1, 2, 3, 4, 8, 64].map((cores) => resolveWorkerCount(config, { cores, memoryBytes: 64 * gib }))
  t.same(
    counts.map(({ count, boundBy }) => [count, boundBy]),
    [
      [1, 'cores'],
      [1, 'cores'],
      [1, 'cores'],
      [2, 'cores'],
      [6, 'cores'],
      [6, 'writer'],
    ],
  )
  const few = { cores: 1, memoryBytes: gib / 2 }
  t.same(resolveWorkerCount({ ...config, workers: 4 }, few), { count: 4, boundBy: 'configuration' })
  const narrow = testConfig(t, { upstreams: { main: { baseUrl: 'demo', connections: 3 } } })
  const many = { cores: 8, memoryBytes: 64 * gib }
  t.same(resolveWorkerCount(narrow, many), { count: 3, boundBy: 'connections' }, 'never one without an upstream slot')
  t.equal(
    resolveWorkerCount(testConfig(t, { limits: { connections: 2 } }), many).count,
    2,
    'nor one that could accept no connection',
  )
})

t.test('starts no more threads than have room in memory beside attacks', async (t) => {
  const config = testConfig(t)
  const counts = [0.5, 1, 2, 4].map((gibs) => resolveWorkerCount(config, { cores: 8, memoryBytes: gibs * gib }))
  t.same(
    counts.map(({ count, boundBy }) => [count, boundBy]),
    [
      [1, 'memory'],
      [2, 'memory'],
      [5, 'memory'],
      [6, 'cores'],
    ],
  )
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
