/** Merged metrics of several threads, whichever of them has ended. */
import t from 'tap'
import { retainCounters, renderMergedMetrics } from '../../../src/observability/merge-metrics.ts'
import type { MetricsJson } from '../../../src/observability/merge-metrics.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'

function recordInThread(seconds: number): Promise<MetricsJson> {
  const { registry, overhead } = createMetrics()
  overhead.observe(seconds)
  return registry.getMetricsAsJSON()
}

const readSum = async (all: readonly MetricsJson[]): Promise<number> =>
  Number(/^svc_overhead_seconds_sum (\S+)$/m.exec(await renderMergedMetrics(all))?.[1])

t.test('never decreases a counter when a thread ends and sums are added in another order', async (t) => {
  const [ends, stays, left] = await Promise.all([0.2, 0.1, 0.3].map(recordInThread))
  const before = await readSum([ends ?? [], stays ?? [], left ?? []])
  t.equal(await readSum([stays ?? [], await retainCounters(left ?? [], ends ?? [])]), before)
  t.ok(Math.abs(before - 0.6) < 0.000_01)
})
