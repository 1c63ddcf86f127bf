/**
 * Figures of one node for its operator, from the counters of its metrics: what happened in the last minutes and the last day. Counters are
 * kept only once a console has asked, so that a node without one pays nothing; until then a span begins with the server.
 */
import type { MetricsJson } from '../../observability/merge-metrics.ts'

/** Turns by how they ended: `completed`, `aborted`, or the code of the failure. */
export type Endings = Readonly<Record<string, number>>

/** Seconds; null where nothing was measured. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

export interface TargetFigures {
  /** `upstream/model`. */
  readonly target: string
  readonly breaker: 'closed' | 'half_open' | 'open'
  /** Of the last quarter of an hour. */
  readonly attempts: number
  readonly failed: number
  /** The last failure since the console was first opened. */
  readonly lastFailure: { readonly outcome: string; readonly at: number } | null
}

export interface FigureSpan {
  /** Shorter than asked for where the server is younger, or longer where no console had asked before. */
  readonly spanMs: number
  readonly endings: Endings
}

export interface NodeFigures {
  readonly at: number
  readonly turnsPerMinute: number
  /** Turns whose upstream is being called. */
  readonly running: number
  readonly holdsOpen: number
  readonly quarter: FigureSpan
  readonly day: FigureSpan
  /** Of streams, to the first token, in the last quarter of an hour. */
  readonly firstToken: Percentiles | null
  /** The gateway's own part of a turn. */
  readonly overhead: Percentiles | null
  readonly targets: readonly TargetFigures[]
  readonly freeDiskBytes: number | null
  readonly backupAgeSeconds: number | null
  readonly backupIntervalSeconds: number | null
  /** Of the certificate of `listen.tls`, in Unix milliseconds. */
  readonly certificateEndsAt: number | null
  readonly emailsWaiting: number
  readonly oldestEmailSeconds: number
  readonly ungrantedOrders: number
  readonly pendingSettlements: number
  /** Found by the last verification of the ledger. */
  readonly mismatches: number
}

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number | undefined>>
  readonly value: number
}

/** The counters at one moment. */
interface Snapshot {
  readonly atMs: number
  readonly endings: Endings
  /** By target and outcome. */
  readonly attempts: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Cumulative, by upper bound. */
  readonly firstToken: ReadonlyMap<number, number>
  readonly overhead: ReadonlyMap<number, number>
}

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
const dayMs = 24 * 60 * minuteMs
/** Outcomes of attempts that say nothing against a target. */
const harmlessOutcomes: ReadonlySet<string> = new Set(['ok', 'client_disconnected', 'aborted'])
const breakerStates = ['closed', 'half_open', 'open'] as const

export class FigureHistory {
  #snapshots: Snapshot[]
  readonly #lastFailures = new Map<string, { readonly outcome: string; readonly at: number }>()

  constructor(startedMs: number) {
    this.#snapshots = [{ atMs: startedMs, endings: {}, attempts: {}, firstToken: new Map(), overhead: new Map() }]
  }

  /** How many moments are kept. */
  get size(): number {
    return this.#snapshots.length
  }

  /** @param now Unix milliseconds; `nowMs` is the monotonic time */
  add(metrics: readonly MetricsJson[], { now, nowMs }: { readonly now: number; readonly nowMs: number }): NodeFigures {
    const current = takeSnapshot(metrics, nowMs)
    const latest = this.#snapshots.at(-1)
    if (latest !== undefined) this.#recordFailures(latest, current, now)
    const [minute, quarter, day] = [minuteMs, quarterMs, dayMs].map((span) => this.#findStart(nowMs - span) ?? current)
    this.#keep(current)
    const spanMinutes = Math.max(1, nowMs - (minute ?? current).atMs) / minuteMs
    const turns = sumOf(current.endings) - sumOf((minute ?? current).endings)
    const readMetric = (name: string): number | null => readLast(metrics, name)
    const certificateEnds = readMetric('svc_certificate_expiry_timestamp_seconds')
    return {
      at: now,
      turnsPerMinute: turns / Math.max(spanMinutes, 1 / 60),
      running: sumSamples(metrics, 'svc_turns_running'),
      holdsOpen: readMetric('svc_ledger_holds_open') ?? 0,
      quarter: compare(current, quarter ?? current),
      day: compare(current, day ?? current),
      firstToken: findPercentiles(current.firstToken, (quarter ?? current).firstToken),
      overhead: findPercentiles(current.overhead, (quarter ?? current).overhead),
      targets: this.#listTargets(metrics, current, quarter ?? current),
      freeDiskBytes: readMetric('svc_data_disk_free_bytes'),
      backupAgeSeconds: readMetric('svc_backup_age_seconds'),
      backupIntervalSeconds: readMetric('svc_backup_interval_seconds'),
      certificateEndsAt: certificateEnds === null ? null : certificateEnds * 1000,
      emailsWaiting: readMetric('svc_emails_waiting') ?? 0,
      oldestEmailSeconds: readMetric('svc_emails_oldest_waiting_seconds') ?? 0,
      ungrantedOrders: Math.max(0, ...list(metrics, 'svc_orders_paid_not_granted').map(({ value }) => value)),
      pendingSettlements: sumSamples(metrics, 'svc_ledger_pending_settlements'),
      mismatches: Math.max(0, ...list(metrics, 'svc_ledger_mismatches').map(({ value }) => value)),
    }
  }

  /** The newest snapshot that is as old, else the oldest. */
  #findStart(atMs: number): Snapshot | undefined {
    return this.#snapshots.findLast((snapshot) => snapshot.atMs <= atMs) ?? this.#snapshots[0]
  }

  /** All of the last quarter of an hour, and one in each quarter before, for a day. */
  #keep(current: Snapshot): void {
    const all = [...this.#snapshots, current]
    const keptSnapshots: Snapshot[] = []
    for (const snapshot of all) {
      const age = current.atMs - snapshot.atMs
      const next = all[all.indexOf(snapshot) + 1]
      // One that is older than a day is needed as long as the next one is younger.
      if (age > dayMs && next !== undefined && current.atMs - next.atMs >= dayMs) continue
      const last = keptSnapshots.at(-1)
      if (age > quarterMs + minuteMs && last !== undefined && snapshot.atMs - last.atMs < quarterMs) continue
      keptSnapshots.push(snapshot)
    }
    this.#snapshots = keptSnapshots
  }

  #recordFailures(before: Snapshot, current: Snapshot, at: number): void {
    // Of the time before the first look nothing is known but the counts.
    if (this.#snapshots.length === 1) return
    for (const [target, outcomes] of Object.entries(current.attempts))
      for (const [outcome, count] of Object.entries(outcomes))
        if (!harmlessOutcomes.has(outcome) && count > (before.attempts[target]?.[outcome] ?? 0))
          this.#lastFailures.set(target, { outcome, at })
  }

  #listTargets(metrics: readonly MetricsJson[], current: Snapshot, start: Snapshot): readonly TargetFigures[] {
    const states = new Map<string, number>()
    for (const { labels, value } of list(metrics, 'svc_upstream_breaker_state')) {
      const target = String(labels['target'] ?? '')
      states.set(target, Math.max(value, states.get(target) ?? 0))
    }
    const names = new Set([...states.keys(), ...Object.keys(current.attempts)])
    return [...names].toSorted().map((target) => {
      const counts = subtract(current.attempts[target] ?? {}, start.attempts[target] ?? {})
      const attempts = sumOf(counts)
      const failures = Object.entries(counts).filter(([outcome]) => !harmlessOutcomes.has(outcome))
      return {
        target,
        breaker: breakerStates[states.get(target) ?? 0] ?? 'closed',
        attempts,
        failed: sumOf(Object.fromEntries(failures)),
        lastFailure: this.#lastFailures.get(target) ?? null,
      }
    })
  }
}

function takeSnapshot(metrics: readonly MetricsJson[], atMs: number): Snapshot {
  const endings: Record<string, number> = {}
  for (const { labels, value } of list(metrics, 'svc_turns_total')) {
    const { outcome = '', code } = labels
    const ending = String(outcome === 'failed' ? code : outcome)
    endings[ending] = (endings[ending] ?? 0) + value
  }
  const attempts: Record<string, Record<string, number>> = {}
  for (const { labels, value } of list(metrics, 'svc_upstream_attempts_total')) {
    const counts = (attempts[String(labels['target'])] ??= {})
    const outcome = String(labels['outcome'])
    counts[outcome] = (counts[outcome] ?? 0) + value
  }
  return {
    atMs,
    endings,
    attempts,
    firstToken: readBuckets(metrics, 'gen_ai_server_time_to_first_token_seconds'),
    overhead: readBuckets(metrics, 'svc_overhead_seconds'),
  }
}

function compare(current: Snapshot, start: Snapshot): FigureSpan {
  return {
    spanMs: current.atMs - start.atMs,
    endings: subtract(current.endings, start.endings),
  }
}

/** Counters of a thread that ended are kept, so no count shrinks; what did not grow is left out. */
function subtract(current: Endings, start: Endings): Record<string, number> {
  return Object.fromEntries(
    Object.entries(current)
      .map(([name, count]) => [name, count - (start[name] ?? 0)] as const)
      .filter(([, count]) => count > 0),
  )
}

/** The upper bound of the bucket in which the value lies: no more is known. */
function findPercentiles(current: ReadonlyMap<number, number>, start: ReadonlyMap<number, number>): Percentiles | null {
  const counts = [...current]
    .map(([bound, count]) => [bound, count - (start.get(bound) ?? 0)] as const)
    .toSorted(([one], [other]) => one - other)
  const total = counts.at(-1)?.[1] ?? 0
  if (total <= 0) return null
  const largest = counts.at(-2)?.[0] ?? 0
  const find = (share: number): number => {
    const upperBound = counts.find(([, count]) => count >= share * total)?.[0] ?? Infinity
    return Number.isFinite(upperBound) ? upperBound : largest
  }
  return { p50: find(0.5), p95: find(0.95) }
}

function readBuckets(metrics: readonly MetricsJson[], name: string): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const { metricName, labels, value } of list(metrics, name)) {
    if (metricName !== `${name}_bucket`) continue
    const upperBound = labels['le'] === '+Inf' ? Infinity : Number(labels['le'])
    counts.set(upperBound, (counts.get(upperBound) ?? 0) + value)
  }
  return counts
}

function list(metrics: readonly MetricsJson[], name: string): readonly Sample[] {
  return metrics.flatMap((some) =>
    some.filter((metric) => metric.name === name).flatMap(({ values }) => values as readonly Sample[]),
  )
}

function readLast(metrics: readonly MetricsJson[], name: string): number | null {
  return list(metrics, name)[0]?.value ?? null
}

function sumSamples(metrics: readonly MetricsJson[], name: string): number {
  return list(metrics, name).reduce((sum, { value }) => sum + value, 0)
}

export function sumOf(counts: Endings): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
