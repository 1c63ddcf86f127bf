/** Merges the metrics of several threads into those of one server: sums, except for values of the whole process. */
import { createRequire } from 'node:module'
import type { AggregatorRegistry, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

export type MetricsJson = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

const load = createRequire(import.meta.url)

/** The first entry is the main thread's. */
function mergeRegistries(all: readonly MetricsJson[]): Registry {
  // Loaded only where there are several threads.
  const { aggregate } = load('prom-client/lib/cluster.js') as Pick<typeof AggregatorRegistry, 'aggregate'>
  return aggregate([...all])
}

export function renderMergedMetrics(all: readonly MetricsJson[]): Promise<string> {
  return mergeRegistries(all).metrics()
}

/** Merges the counters and histograms of an ended thread with those kept from others; its gauges end with it. */
export async function retainCounters(some: MetricsJson, more: MetricsJson): Promise<MetricsJson> {
  const pickCounters = (metrics: MetricsJson): MetricsJson =>
    metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
  const registry = mergeRegistries([pickCounters(some), pickCounters(more)])
  return (await registry.getMetricsAsJSON()) as MetricObjectWithValues<MetricValue<string>>[]
}
