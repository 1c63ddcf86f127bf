/** What is measured is what is shipped. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { differences, strayDifferences } from '../../bench/run/shipped.ts'
import { loadConfig } from '../../src/config/config.ts'

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

t.test('what is measured is the shipped configuration with more quota, and nothing else', async (t) => {
  const [shipped, measured] = [await loadConfig(file('gateway.config.ts')), await loadConfig(file('bench/gateway.config.ts'))]
  t.same(strayDifferences(shipped, measured), [])
  const plans = Object.keys(shipped.plans)
  t.same(
    differences('', shipped, measured).toSorted(),
    [
      'limits.addressRpm',
      ...plans.flatMap((plan) => [
        `plans.${plan}.concurrency`,
        `plans.${plan}.rpm`,
        ...['fast', 'premium'].flatMap((pool) =>
          ['day', 'month', 'week'].map((window) => `plans.${plan}.pools.${pool}.${window}`),
        ),
      ]),
    ].toSorted(),
  )
})

t.test('whatever else a benchmark changes is named by its place', async (t) => {
  const shipped = await loadConfig(file('gateway.config.ts'))
  const { main } = shipped.upstreams
  const measured = {
    ...shipped,
    log: { level: 'silent' },
    upstreams: { main: { ...main, connections: 1 } },
    plugins: shipped.plugins.slice(1),
    plans: { ...shipped.plans, extra: {} },
    metrics: undefined,
  }
  const stray = strayDifferences(shipped, measured)
  for (const place of ['log.level', 'upstreams.main.connections', 'plans.extra', 'metrics', 'plugins.7'])
    t.ok(stray.includes(place), place)
})

t.test('without its ledger it differs by the plugins that need one', async (t) => {
  const measured = await loadConfig(file('bench/gateway.config.ts'))
  const without = await loadConfig(file('bench/without-ledger.config.ts'))
  t.same(
    without.plugins.map(({ name }) => name),
    measured.plugins.flatMap(({ name }) => (name === 'refund' ? [] : name === 'quota-reserve' ? 'unheld' : name)),
  )
  t.same(
    differences('', measured, without).filter((place) => !place.startsWith('plugins.')),
    [],
  )
})
