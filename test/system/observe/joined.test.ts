/** The metrics of several threads are those of one server, whichever of them has ended. */
import t from 'tap'
import { keptOf, textOf } from '../../../src/system/observe/joined.ts'
import type { MetricsJson } from '../../../src/system/observe/joined.ts'
import { createMetrics } from '../../../src/system/observe/metrics.ts'

function threadThatSaw(seconds: number): Promise<MetricsJson> {
  const { registry, overhead } = createMetrics()
  overhead.observe(seconds)
  return registry.getMetricsAsJSON()
}

const sumOf = async (all: readonly MetricsJson[]): Promise<number> =>
  Number(/^svc_overhead_seconds_sum (\S+)$/m.exec(await textOf(all))?.[1])

t.test('what was counted does not fall by a hair where a thread ends and it is added up in another order', async (t) => {
  const [ends, stays, left] = await Promise.all([0.2, 0.1, 0.3].map(threadThatSaw))
  const before = await sumOf([ends ?? [], stays ?? [], left ?? []])
  t.equal(await sumOf([stays ?? [], await keptOf(left ?? [], ends ?? [])]), before)
  t.ok(Math.abs(before - 0.6) < 0.000_01)
})
