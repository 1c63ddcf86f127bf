/** Reads single metrics from those of all threads. */
import type { MetricsJson } from '../observability/merge-metrics.ts'

export interface Sample {
  readonly labels: Readonly<Record<string, string | undefined>>
  readonly value: number
}

export function listSamples(metrics: readonly MetricsJson[], name: string): readonly Sample[] {
  return metrics.flatMap((some) =>
    some.filter((metric) => metric.name === name).flatMap(({ values }) => values as readonly Sample[]),
  )
}
