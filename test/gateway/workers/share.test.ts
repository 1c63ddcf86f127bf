/** How many workers serve where nobody says, and what each may have of what a server may have in all. */
import t from 'tap'
import { shareOf, workersFor } from '../../../src/gateway/workers/share.ts'
import { testConfig } from '../../support/gateway.ts'

t.test('two cores are left to the rest; on few one thread serves, and no more than the writer can serve', async (t) => {
  const config = testConfig(t)
  const counts = [1, 2, 3, 4, 8, 64].map((cores) => workersFor(config, cores))
  t.same(counts, [1, 1, 1, 2, 6, 6])
  t.equal(workersFor({ ...config, workers: 4 }, 1), 4, 'who says how many gets as many')
  const narrow = testConfig(t, { upstreams: { main: { baseUrl: 'demo', connections: 3 } } })
  t.equal(workersFor(narrow, 8), 3, 'never one without a place at an upstream')
  t.equal(workersFor(testConfig(t, { limits: { connections: 2 } }), 8), 2, 'nor one that could take no connection')
})

t.test('what is shared out adds up, and each has a place', async (t) => {
  const config = testConfig(t, {
    upstreams: { main: { baseUrl: 'demo', connections: 7, queue: 2 } },
    limits: { connections: 10 },
  })
  const shares = [0, 1, 2].map((index) => shareOf(config, { index, of: 3 }))
  t.same(
    shares.map(({ limits, upstreams }) => [limits.connections, upstreams['main']?.connections, upstreams['main']?.queue]),
    [
      [4, 3, 1],
      [3, 2, 1],
      [3, 2, 0],
    ],
  )
})

t.test('more workers than an upstream has places are refused', async (t) => {
  const upstreams = { main: { baseUrl: 'demo', connections: 3 } } as const
  const message = /^workers: 4 are more than upstreams\.main\.connections \(3\) has places for/
  t.throws(() => testConfig(t, { upstreams, workers: 4 }), { name: 'ConfigError', message })
  t.equal(testConfig(t, { upstreams, workers: 3 }).workers, 3)
})

t.test('more workers than connections are refused', async (t) => {
  const message = /^workers: 4 are more than limits\.connections \(3\) has places for/
  t.throws(() => testConfig(t, { limits: { connections: 3 }, workers: 4 }), { name: 'ConfigError', message })
})
