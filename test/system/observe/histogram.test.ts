/** Our histogram says what prom-client's own would. */
import prom from 'prom-client'
import t from 'tap'
import { Histogram } from '../../../src/system/observe/histogram.ts'

const options = { name: 'waits_seconds', help: 'How long.', buckets: [0.125, 1, 10] }
const seen = [
  ['a', 0.0625],
  ['b', 5],
  ['a', 0.125],
  ['a', 11],
  ['a', 0.75],
] as const

const textOf = (metric: unknown): Promise<string> => {
  const registry = new prom.Registry()
  registry.registerMetric(metric as prom.Metric)
  return registry.metrics()
}

t.test('series with labels, the same for the same labels', async (t) => {
  const theirs = new prom.Histogram({ ...options, labelNames: ['who'], registers: [] })
  const ours = new Histogram(options)
  ours.series({ who: 'nobody' })
  for (const [who, value] of seen) {
    theirs.observe({ who }, value)
    ours.series({ who }).observe(value)
  }
  t.equal(await textOf(ours), await textOf(theirs))
})

t.test('one without labels is there before anything was observed', async (t) => {
  const theirs = new prom.Histogram({ ...options, registers: [] })
  const ours = new Histogram(options)
  const series = ours.series()
  t.equal(await textOf(ours), await textOf(theirs))
  for (const [, value] of seen) {
    theirs.observe(value)
    series.observe(value)
  }
  t.equal(await textOf(ours), await textOf(theirs))
})
