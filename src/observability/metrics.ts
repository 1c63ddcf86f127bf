/**
 * Every metric, in one table. Labels are bounded and known in advance: products, codes and targets of the configuration, never ids. The
 * values of several threads are summed, except for metrics with an `aggregator`: values of the whole process are taken from the main thread.
 */
import type prom from 'prom-client'
import { Histogram } from './histogram.ts'
import { createMachineMetrics } from './machine-metrics.ts'
import type { HistogramOptions } from './histogram.ts'
import { createNotificationMetrics } from './notification-metrics.ts'
import { Counter, Gauge, Registry } from '../system/vendor/prom-client.ts'

/** Seconds. OpenTelemetry's buckets for generative AI, with room for upstreams that queue. */
const firstTokenBuckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60]
const perTokenBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const durationBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300, 900]
const overheadBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const commitBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]
const tokenBuckets = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]

type MetricOptions<Configuration> = Omit<Configuration, 'registers' | 'collect'>

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = <Label extends string = never>(options: MetricOptions<prom.CounterConfiguration<Label>>): prom.Counter<Label> =>
    new Counter({ ...options, registers })
  const gauge = <Label extends string = never>(options: MetricOptions<prom.GaugeConfiguration<Label>>): prom.Gauge<Label> =>
    new Gauge({ ...options, registers })
  const histogram = (options: HistogramOptions): Histogram => {
    const newHistogram = new Histogram(options)
    // The only members that a registry uses.
    registry.registerMetric(newHistogram as unknown as prom.Metric)
    return newHistogram
  }
  return {
    registry,
    machine: createMachineMetrics((options) => gauge(options)),
    turns: counter({
      name: 'svc_turns_total',
      help: 'Turns ended, by product, outcome, failure code and API format; outcome expired (without product): released holds.',
      labelNames: ['product', 'outcome', 'code', 'api_format'],
    }),
    unmetered: counter({
      name: 'svc_unmetered_requests_total',
      help: 'Requests that call no model and cost no quota, by outcome and failure code.',
      labelNames: ['outcome', 'code'],
    }),
    firstToken: histogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'From the request to the first token sent.',
      buckets: firstTokenBuckets,
    }),
    perToken: histogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      help: 'Mean time between output tokens of a streamed turn, after the first.',
      buckets: perTokenBuckets,
    }),
    duration: histogram({
      name: 'gen_ai_client_operation_duration_seconds',
      help: 'A whole turn, from the request to the end of its response.',
      buckets: durationBuckets,
    }),
    tokens: histogram({ name: 'gen_ai_client_token_usage', help: 'Tokens a turn used, by direction.', buckets: tokenBuckets }),
    overhead: histogram({
      name: 'svc_overhead_seconds',
      help: 'Time a turn spent in the gateway outside its upstream call.',
      buckets: overheadBuckets,
    }).series(),
    refunds: counter({
      name: 'svc_refunds_total',
      help: 'Holds refunded, by failure code; code expired: of a dead process or an ended lease.',
      labelNames: ['code'],
    }),
    credits: counter({
      name: 'svc_credits_settled_total',
      help: 'Credits charged (a credit is a millionth of a dollar).',
      labelNames: ['product'],
    }),
    attempts: counter({
      name: 'svc_upstream_attempts_total',
      help: 'Calls to an upstream target, by outcome.',
      labelNames: ['target', 'outcome'],
    }),
    promptTokens: counter({
      name: 'svc_upstream_prompt_tokens_total',
      help: 'Prompt tokens that targets reported, by target and whether they were read from its cache ("cached") or not ("uncached").',
      labelNames: ['target', 'cache'],
    }),
    disputed: counter({
      name: 'svc_usage_contradicted_total',
      help: 'Turns charged by our own count, because the usage reported by the target contradicts the response.',
      labelNames: ['target'],
    }),
    ignoredCaps: counter({
      name: 'svc_output_cap_ignored_total',
      help: 'Turns in which the target produced far more output than the cap that it was sent. They are charged at most their hold.',
      labelNames: ['target'],
    }),
    breaker: gauge({
      name: 'svc_upstream_breaker_state',
      help: 'Circuit breaker of a target: 0 closed, 1 half open, 2 open.',
      labelNames: ['target'],
      aggregator: 'max',
    }),
    takenOut: gauge({
      name: 'svc_upstream_target_taken_out',
      help: 'Whether an operator has taken a target out: 1 until it is back, 0 otherwise.',
      labelNames: ['target'],
      aggregator: 'max',
    }),
    callsRunning: gauge({
      name: 'svc_upstream_calls_running',
      help: 'Calls that hold a slot of an upstream. Rejected calls are attempts with the outcome "queue_full".',
      labelNames: ['upstream'],
    }),
    callsWaiting: gauge({
      name: 'svc_upstream_calls_waiting',
      help: 'Calls that wait for a slot of an upstream.',
      labelNames: ['upstream'],
    }),
    running: gauge({ name: 'svc_turns_running', help: 'Turns whose upstream is being called.' }),
    holdsOpen: gauge({
      name: 'svc_ledger_holds_open',
      help: 'Open holds: neither settled, refunded nor expired.',
      aggregator: 'first',
    }),
    writerQueue: gauge({ name: 'svc_ledger_queue', help: 'Ledger operations waiting for the writer.' }),
    commits: counter({ name: 'svc_ledger_commits_total', help: 'Transactions committed by the ledger writer.' }),
    operations: counter({ name: 'svc_ledger_operations_total', help: 'Operations in those transactions.' }),
    fsyncs: counter({
      name: 'svc_ledger_fsyncs_total',
      help: 'Flushes of the write-ahead log to disk, each shared by several commits.',
    }),
    commitSeconds: histogram({
      name: 'svc_ledger_commit_seconds',
      help: 'One commit of the ledger writer.',
      buckets: commitBuckets,
    }).series(),
    flushSeconds: histogram({
      name: 'svc_ledger_flush_seconds',
      help: 'One flush to disk; commits continue meanwhile.',
      buckets: commitBuckets,
    }).series(),
    pendingSettlements: gauge({
      name: 'svc_ledger_pending_settlements',
      help: 'Settlements and refunds that could not be written to the ledger yet.',
    }),
    oldestPendingSettlementSeconds: gauge({
      name: 'svc_ledger_oldest_pending_settlement_seconds',
      help: 'Age of the oldest pending settlement; 0 without one.',
      aggregator: 'max',
    }),
    mismatches: gauge({
      name: 'svc_ledger_mismatches',
      help: 'Broken invariants found by the last check of the ledger; 0 is good.',
      aggregator: 'first',
    }),
    ungrantedOrders: gauge({
      name: 'svc_orders_paid_not_granted',
      help: 'Orders whose money was seen and that are not granted; only where something is sold.',
      aggregator: 'max',
    }),
    oldestUngrantedOrderSeconds: gauge({
      name: 'svc_orders_oldest_paid_not_granted_seconds',
      help: 'Time since the oldest of them was paid; 0 without one.',
      aggregator: 'max',
    }),
    oldestWaitingDeletionSeconds: gauge({
      name: 'svc_account_deletions_oldest_waiting_seconds',
      help: 'Time since the oldest deletion of an account was requested that waits for a payment provider; 0 without one.',
      aggregator: 'max',
    }),
    rateLimitStoreUp: gauge({
      name: 'svc_rate_limit_store_up',
      help: 'Whether the server of LIMITS_URL answers: 1 is good; 0: each node allows its share of requests a minute; absent without LIMITS_URL.',
      aggregator: 'min',
    }),
    rateLimitFallback: counter({
      name: 'svc_rate_limit_fallback_total',
      help: 'Requests admitted or refused without the server of LIMITS_URL.',
    }),
    connectionsAvailable: gauge({
      name: 'svc_database_connections_available',
      help: 'Free connections of the database of STORE_URL; absent if unknown.',
      aggregator: 'first',
    }),
    standbys: gauge({
      name: 'svc_database_standbys_synchronous',
      help: 'Synchronous standbys; absent if unknown.',
      aggregator: 'first',
    }),
    configDifferences: gauge({
      name: 'svc_cluster_config_differences',
      help: 'Sections of the configuration in which live nodes differ; absent if unknown.',
      aggregator: 'first',
    }),
    eventLoopDelay: histogram({
      name: 'svc_event_loop_delay_seconds',
      help: 'How late the event loop came back to a timer.',
      buckets: overheadBuckets,
    }).series(),
    pluginErrors: counter({
      name: 'svc_plugin_errors_total',
      help: 'Plugin hooks that threw an unexpected error.',
      labelNames: ['plugin', 'hook'],
    }),
    unknownPaths: counter({
      name: 'svc_unknown_paths_total',
      help: 'Requests for unsupported API paths, by known path.',
      labelNames: ['path'],
    }),
    requests: counter({
      name: 'svc_requests_total',
      help: 'Requests of membership and OAuth endpoints, by endpoint and HTTP status.',
      labelNames: ['endpoint', 'status'],
    }),
    refusedConnections: counter({
      name: 'svc_connections_refused_total',
      help: 'Connections refused because of limits.connections ("total") or limits.connectionsPerAddress ("address").',
      labelNames: ['limit'],
    }),
    emails: counter({
      name: 'svc_emails_total',
      help: 'Emails by outcome: sent, deferred (an attempt failed and another one follows), rejected by the mail server for good, expired (of no use any more), unanswered, dropped (no room in the queue).',
      labelNames: ['outcome'],
    }),
    emailsWaiting: gauge({ name: 'svc_emails_waiting', help: 'Emails that are not sent yet.', aggregator: 'first' }),
    oldestWaitingEmailSeconds: gauge({
      name: 'svc_emails_oldest_waiting_seconds',
      help: 'Age of the oldest email that is not sent yet; 0 without one.',
      aggregator: 'first',
    }),
    configReloads: counter({
      name: 'svc_config_reloads_total',
      help: 'Reloads of the configuration: accepted, or refused, which changed nothing.',
      labelNames: ['outcome'],
      aggregator: 'first',
    }),
    configReloadSuccessful: gauge({
      name: 'svc_config_reload_successful',
      help: 'Whether the last reload was accepted: 1 is good, also before the first one.',
      aggregator: 'first',
    }),
    configReloadTime: gauge({
      name: 'svc_config_reload_success_timestamp_seconds',
      help: 'When a reload was last accepted, in Unix seconds; absent before the first one.',
      aggregator: 'first',
    }),
    backupAgeSeconds: gauge({
      name: 'svc_backup_age_seconds',
      help: 'Age of the newest verified backup, or time since the start without one; absent without the setting backup.',
      aggregator: 'first',
    }),
    backupIntervalSeconds: gauge({
      name: 'svc_backup_interval_seconds',
      help: 'Time between two backups by the setting backup.every; absent without the setting backup.',
      aggregator: 'first',
    }),
    backupBytes: gauge({
      name: 'svc_backup_bytes',
      help: 'Size of the newest verified backup; absent without one.',
      aggregator: 'first',
    }),
    backupFailures: counter({
      name: 'svc_backup_failures_total',
      help: 'Backups on schedule that failed.',
      aggregator: 'first',
    }),
    ...createNotificationMetrics({ counter, gauge }),
    internalErrors: counter({ name: 'svc_internal_errors_total', help: 'Requests answered with internal_error.' }),
    memory: gauge({
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of the process.',
      aggregator: 'first',
    }),
    cpu: counter({
      name: 'process_cpu_seconds_total',
      help: 'User and system CPU time of the process.',
      aggregator: 'first',
    }),
    startTime: gauge({
      name: 'process_start_time_seconds',
      help: 'When the process started, in Unix seconds.',
      aggregator: 'first',
    }),
    workers: gauge({ name: 'svc_workers', help: 'Serving threads.', aggregator: 'first' }),
    workerDeaths: counter({
      name: 'svc_worker_deaths_total',
      help: 'Serving threads that died; each is replaced.',
      aggregator: 'first',
    }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>
