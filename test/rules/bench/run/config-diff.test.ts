/** The benchmark measures the shipped configuration. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findDifferences, findStrayDifferences } from '../../../../bench/run/config-diff.ts'
import { loadConfig } from '../../../../src/config/config.ts'

const file = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url))

t.test('the measured configuration is the shipped one with more quota and no other difference', async (t) => {
  const [shipped, measured] = [await loadConfig(file('gateway.config.ts')), await loadConfig(file('bench/gateway.config.ts'))]
  t.same(findStrayDifferences(shipped, measured), [])
  const plans = Object.keys(shipped.plans)
  t.same(
    findDifferences('', shipped, measured).toSorted(),
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

t.test('names every other difference of a benchmark configuration by its path', async (t) => {
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
  const stray = findStrayDifferences(shipped, measured)
  for (const place of ['log.level', 'upstreams.main.connections', 'plans.extra', 'metrics', 'plugins.7'])
    t.ok(stray.includes(place), place)
})

t.test('the configuration without the ledger differs only by the plugins that need one', async (t) => {
  const measured = await loadConfig(file('bench/gateway.config.ts'))
  const without = await loadConfig(file('bench/without-ledger.config.ts'))
  t.same(
    without.plugins.map(({ name }) => name),
    measured.plugins.flatMap(({ name }) => (name === 'refund' ? [] : name === 'quota-reserve' ? 'unheld' : name)),
  )
  t.same(
    findDifferences('', measured, without).filter((place) => !place.startsWith('plugins.')),
    [],
  )
})
