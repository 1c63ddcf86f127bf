/** The histogram renders the same samples as prom-client's. */
import prom from 'prom-client'
import t from 'tap'
import { Histogram } from '../../../src/observability/histogram.ts'

const options = { name: 'waits_seconds', help: 'How long.', buckets: [0.125, 1, 10] }
const seen = [
  ['a', 0.0625],
  ['b', 5],
  ['a', 0.125],
  ['a', 11],
  ['a', 0.75],
] as const

const renderMetric = (metric: unknown): Promise<string> => {
  const registry = new prom.Registry()
  registry.registerMetric(metric as prom.Metric)
  return registry.metrics()
}

t.test('returns the same series for the same labels', async (t) => {
  const theirs = new prom.Histogram({ ...options, labelNames: ['who'], registers: [] })
  const ours = new Histogram(options)
  ours.series({ who: 'unobserved' })
  for (const [who, value] of seen) {
    theirs.observe({ who }, value)
    ours.series({ who }).observe(value)
  }
  t.equal(await renderMetric(ours), await renderMetric(theirs))
})

t.test('renders a histogram without labels before any observation', async (t) => {
  const theirs = new prom.Histogram({ ...options, registers: [] })
  const ours = new Histogram(options)
  const series = ours.series()
  t.equal(await renderMetric(ours), await renderMetric(theirs))
  for (const [, value] of seen) {
    theirs.observe(value)
    series.observe(value)
  }
  t.equal(await renderMetric(ours), await renderMetric(theirs))
})
