/** The metrics of several threads as those of one server: added up, but for what each of them would say of the whole process. */
import { createRequire } from 'node:module'
import type { AggregatorRegistry, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

export type MetricsJson = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

const part = createRequire(import.meta.url)

/** The first are the process's own. */
function joined(all: readonly MetricsJson[]): Registry {
  // Loaded where there is something to join.
  const { aggregate } = part('prom-client/lib/cluster.js') as Pick<typeof AggregatorRegistry, 'aggregate'>
  return aggregate([...all])
}

export function textOf(all: readonly MetricsJson[]): Promise<string> {
  return joined(all).metrics()
}

/** What stays of a thread that has ended, besides what stayed of others: what it has counted. What it had just then has gone with it. */
export async function keptOf(some: MetricsJson, more: MetricsJson): Promise<MetricsJson> {
  const counted = (metrics: MetricsJson): MetricsJson =>
    metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
  const registry = joined([counted(some), counted(more)])
  return (await registry.getMetricsAsJSON()) as MetricObjectWithValues<MetricValue<string>>[]
}
