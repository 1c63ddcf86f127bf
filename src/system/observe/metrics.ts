/**
 * Every metric, in one table. Labels are bounded and known in advance: products, codes and targets of the configuration, never ids. Where
 * several threads serve, theirs are added up, but for those with an `aggregator` of their own: what any of them would say of the whole
 * process is taken from the first.
 */
import type prom from 'prom-client'
import { Histogram } from './histogram.ts'
import type { HistogramOptions } from './histogram.ts'
import { Counter, Gauge, Registry } from './prom-client.ts'

/** Seconds. OpenTelemetry's buckets for generative AI, with room for upstreams that queue. */
const firstTokenBuckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60]
const perTokenBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const durationBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300, 900]
const overheadBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const commitBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]
const tokenBuckets = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const histogram = (options: HistogramOptions): Histogram => {
    const made = new Histogram(options)
    // All that a registry asks of a metric.
    registry.registerMetric(made as unknown as prom.Metric)
    return made
  }
  return {
    registry,
    turns: new Counter({
      name: 'svc_turns_total',
      help: 'Turns ended, by product, outcome and failure code.',
      labelNames: ['product', 'outcome', 'code'],
      registers,
    }),
    queries: new Counter({
      name: 'svc_queries_total',
      help: 'Queries that call no model, by outcome and failure code.',
      labelNames: ['outcome', 'code'],
      registers,
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
      help: 'A whole turn, from the request to its last word.',
      buckets: durationBuckets,
    }),
    tokens: histogram({
      name: 'gen_ai_client_token_usage',
      help: 'Tokens a turn used, by direction.',
      buckets: tokenBuckets,
    }),
    overhead: histogram({
      name: 'svc_overhead_seconds',
      help: 'Time a turn spent in the gateway outside its upstream call.',
      buckets: overheadBuckets,
    }).series(),
    refunds: new Counter({
      name: 'svc_refunds_total',
      help: 'Holds given back, by failure code.',
      labelNames: ['code'],
      registers,
    }),
    credits: new Counter({
      name: 'svc_credits_settled_total',
      help: 'Credits charged (a credit is a millionth of a dollar).',
      labelNames: ['product'],
      registers,
    }),
    attempts: new Counter({
      name: 'svc_upstream_attempts_total',
      help: 'Calls to an upstream target, by how they went.',
      labelNames: ['target', 'outcome'],
      registers,
    }),
    contradicted: new Counter({
      name: 'svc_usage_contradicted_total',
      help: 'Turns charged by our own count, because what the target reported contradicts what passed.',
      labelNames: ['target'],
      registers,
    }),
    breaker: new Gauge({
      name: 'svc_upstream_breaker_state',
      help: 'Circuit breaker of a target: 0 closed, 1 half open, 2 open.',
      labelNames: ['target'],
      aggregator: 'max',
      registers,
    }),
    callsRunning: new Gauge({
      name: 'svc_upstream_calls_running',
      help: 'Calls that have a place at an upstream. Those turned away are attempts with the outcome "full".',
      labelNames: ['upstream'],
      registers,
    }),
    callsWaiting: new Gauge({
      name: 'svc_upstream_calls_waiting',
      help: 'Calls that wait for a place at an upstream.',
      labelNames: ['upstream'],
      registers,
    }),
    running: new Gauge({ name: 'svc_turns_running', help: 'Turns whose upstream is being called.', registers }),
    holdsOpen: new Gauge({
      name: 'svc_ledger_holds_open',
      help: 'Holds without an ending yet.',
      aggregator: 'first',
      registers,
    }),
    writerQueue: new Gauge({ name: 'svc_ledger_queue', help: 'Ledger operations waiting for the writer.', registers }),
    commits: new Counter({ name: 'svc_ledger_commits_total', help: 'Transactions committed by the ledger writer.', registers }),
    operations: new Counter({ name: 'svc_ledger_operations_total', help: 'Operations in those transactions.', registers }),
    syncs: new Counter({
      name: 'svc_ledger_syncs_total',
      help: 'Waits for the disk, shared by what was committed before.',
      registers,
    }),
    commitSeconds: histogram({
      name: 'svc_ledger_commit_seconds',
      help: 'One commit of the ledger writer.',
      buckets: commitBuckets,
    }).series(),
    flushSeconds: histogram({
      name: 'svc_ledger_flush_seconds',
      help: 'One wait for the disk, while others are committed.',
      buckets: commitBuckets,
    }).series(),
    owed: new Gauge({ name: 'svc_ledger_owed', help: 'Settlements and refunds that the ledger does not take now.', registers }),
    owedSeconds: new Gauge({
      name: 'svc_ledger_owed_seconds',
      help: 'How long the oldest of them is owed.',
      aggregator: 'max',
      registers,
    }),
    mismatches: new Gauge({
      name: 'svc_ledger_mismatches',
      help: 'Broken invariants found by the last check of the ledger; 0 is right.',
      aggregator: 'first',
      registers,
    }),
    limitsLost: new Gauge({
      name: 'svc_limits_lost',
      help: 'Whether the server of LIMITS_URL is lost, so that each node allows its share of requests a minute: 1; 0 is right.',
      aggregator: 'max',
      registers,
    }),
    limitedAlone: new Counter({
      name: 'svc_limits_alone_total',
      help: 'Requests that were let in or refused so.',
      registers,
    }),
    connectionsLeft: new Gauge({
      name: 'svc_database_connections_left',
      help: 'Connections that the database of STORE_URL has left for anybody; none told: not known.',
      aggregator: 'first',
      registers,
    }),
    standbys: new Gauge({
      name: 'svc_database_standbys_synchronous',
      help: 'Standbys that have all that is acknowledged; none told: not known.',
      aggregator: 'first',
      registers,
    }),
    eventLoop: histogram({
      name: 'svc_event_loop_delay_seconds',
      help: 'How late the event loop came back to a timer.',
      buckets: overheadBuckets,
    }).series(),
    hookErrors: new Counter({
      name: 'svc_plugin_errors_total',
      help: 'Hooks that threw where they must not.',
      labelNames: ['plugin', 'hook'],
      registers,
    }),
    unknownPaths: new Counter({
      name: 'svc_unknown_paths_total',
      help: 'Requests for API paths that are not offered here, by the path that clients know.',
      labelNames: ['path'],
      registers,
    }),
    requestErrors: new Counter({ name: 'svc_internal_errors_total', help: 'Requests answered with internal_error.', registers }),
    memory: new Gauge({
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of the process.',
      aggregator: 'first',
      registers,
    }),
    cpu: new Counter({
      name: 'process_cpu_seconds_total',
      help: 'User and system CPU time of the process.',
      aggregator: 'first',
      registers,
    }),
    startTime: new Gauge({
      name: 'process_start_time_seconds',
      help: 'When the process started, in Unix seconds.',
      aggregator: 'first',
      registers,
    }),
    workers: new Gauge({ name: 'svc_workers', help: 'Threads that serve.', aggregator: 'first', registers }),
    workerDeaths: new Counter({
      name: 'svc_worker_deaths_total',
      help: 'Threads that served and died; each is replaced.',
      aggregator: 'first',
      registers,
    }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>
