/** Counts the turns of the last minutes and the refused ones among them, from the counters of the metrics. */
import type { MetricsJson } from '../observability/merge-metrics.ts'
import { listSamples } from './metric-samples.ts'

export interface TurnCount {
  /** Turns that ended, without those that failed by a fault of the request or at a member's own limit. */
  readonly turns: number
  readonly refused: number
}

export interface TurnShares {
  readonly fiveMinutes: TurnCount
  readonly tenMinutes: TurnCount
  readonly hour: TurnCount
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Failures that the service or its upstreams cause. */
const refusalCodes: ReadonlySet<string> = new Set([
  'upstream_error',
  'upstream_rate_limited',
  'upstream_not_configured',
  'upstream_model_unavailable',
  'temporarily_unavailable',
  'internal_error',
])

export class TurnWindows {
  /** Counters at earlier observations, the oldest first; the first is an hour old at least once the service has run for so long. */
  #samples: (TurnCount & { readonly atMs: number })[] = []

  add(metrics: readonly MetricsJson[], nowMs: number): TurnShares {
    const count = readCount(metrics)
    // A service that has just begun had no turns before.
    if (this.#samples.length === 0) this.#samples.push({ turns: 0, refused: 0, atMs: nowMs })
    this.#samples.push({ ...count, atMs: nowMs })
    const firstKept = this.#samples.findLastIndex(({ atMs }) => atMs <= nowMs - hourMs)
    if (firstKept > 0) this.#samples = this.#samples.slice(firstKept)
    const since = (windowMs: number): TurnCount => {
      const start = this.#samples.findLast(({ atMs }) => atMs <= nowMs - windowMs) ?? this.#samples[0] ?? count
      return { turns: count.turns - start.turns, refused: count.refused - start.refused }
    }
    return { fiveMinutes: since(5 * minuteMs), tenMinutes: since(10 * minuteMs), hour: since(hourMs) }
  }
}

function readCount(metrics: readonly MetricsJson[]): TurnCount {
  let [servedTurns, refusedTurns] = [0, 0]
  for (const { labels, value } of listSamples(metrics, 'svc_turns_total')) {
    const { outcome, code = '' } = labels
    if (outcome === 'completed' || outcome === 'aborted') servedTurns += value
    else if (outcome === 'failed' && refusalCodes.has(code)) refusedTurns += value
  }
  return { turns: servedTurns + refusedTurns, refused: refusedTurns }
}
