/** The alerts of `deploy/prometheus/`: each fires, stays silent below its bound, and resolves. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { errorCatalog } from '../../../../src/errors.ts'
import { createMetrics } from '../../../../src/observability/metrics.ts'
import { checkAlerts, rulesFile } from '../../../support/prometheus/rule-test.ts'
import type { SeriesValues } from '../../../support/prometheus/rule-test.ts'
import { requireProgram } from '../../../support/require-program.ts'

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: { readonly severity?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

const { groups } = parse(readFileSync(rulesFile, 'utf8')) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.flatMap(({ alert }) => alert ?? [])

const repeat = (value: number | null, minutes: number): (number | null)[] => Array.from({ length: minutes }, () => value)
/** A counter that grows by so much a minute. */
const grow = (from: number, by: number, minutes: number): number[] => Array.from({ length: minutes }, (_, i) => from + by * i)

/** Turns of which a share fails for some minutes, and none before and after. */
function failTurns(share: number, { before, failing, after }: Record<'before' | 'failing' | 'after', number>): SeriesValues {
  const perMinute = 1_000
  const failed = [...repeat(0, before), ...grow(0, perMinute * share, failing)]
  const last = failed.at(-1) ?? 0
  const good = grow(0, perMinute * (1 - share), before + failing + after)
  return {
    'svc_turns_total{product="auto",outcome="completed",code="none",api_format="chat_completions"}': good,
    'svc_turns_total{product="auto",outcome="failed",code="upstream_error",api_format="chat_completions"}': [
      ...failed,
      ...repeat(last, after),
    ],
    // Refusals that the request causes spend no budget.
    'svc_turns_total{product="auto",outcome="failed",code="quota_exceeded",api_format="chat_completions"}': grow(
      0,
      perMinute,
      good.length,
    ),
  }
}

const gauge = (series: string, good: number, bad: number): SeriesValues => ({
  [series]: [...repeat(good, 30), ...repeat(bad, 90), ...repeat(good, 120)],
})
/** Increases once, at minute 30. */
const step = (series: string): SeriesValues => ({ [series]: [...repeat(0, 30), ...repeat(1, 210)] })

interface AlertCase {
  readonly values: SeriesValues
  /** Minutes in which it fires, and in which it does not. */
  readonly fires: readonly number[]
  readonly silent: readonly number[]
  readonly stepMinutes?: number
  readonly ignored?: readonly string[]
}

const held = (values: SeriesValues, { after = 1 }: { readonly after?: number } = {}): AlertCase => ({
  values,
  fires: [30 + after, 119],
  silent: after === 0 ? [29, 239] : [30, 29 + after, 239],
})
const once = (series: string, minutes = 10): AlertCase => ({
  values: step(series),
  fires: [30, 30 + minutes - 1],
  silent: [29, 239],
})

/** In steps of ten minutes. */
const day = 144
const cases: Readonly<Record<string, AlertCase>> = {
  SvcGatewayErrorBudgetBurnsFast: {
    values: failTurns(0.3, { before: 400, failing: 60, after: 60 }),
    fires: [440, 459],
    silent: [399, 402, 519],
    ignored: ['SvcGatewayErrorBudgetBurnsSlowly'],
  },
  // Steps of ten minutes: six days of minutes would take promtool minutes.
  SvcGatewayErrorBudgetBurnsSlowly: {
    values: failTurns(0.02, { before: 4 * day, failing: day, after: day }),
    fires: [10 * (5 * day - 1)],
    silent: [10 * (4 * day - 1), 10 * (4 * day + 3), 10 * (6 * day - 1)],
    stepMinutes: 10,
  },
  SvcGatewayDown: held(gauge('up{job="svc-gateway",instance="a"}', 1, 0), { after: 2 }),
  SvcGatewayNotReady: held(gauge('svc_ready', 1, 0)),
  SvcGatewayNodeLost: {
    values: { 'svc_cluster_nodes{instance="a"}': [...repeat(3, 30), ...repeat(2, 210)] },
    fires: [31, 43],
    silent: [30, 60],
  },
  SvcGatewayConfigurationsDiffer: held(gauge('svc_cluster_config_differences', 0, 2), { after: 15 }),
  SvcGatewayReloadRefused: held(gauge('svc_config_reload_successful', 1, 0), { after: 5 }),
  SvcGatewayNotificationReceiverOff: held(
    {
      ...gauge('svc_notification_receiver_off{receiver="crm",instance="a"}', 0, 1),
      ...gauge('svc_notification_receiver_off{receiver="crm",instance="b"}', 0, 1),
    },
    { after: 1 },
  ),
  SvcGatewayInternalErrors: once('svc_internal_errors_total'),
  SvcGatewayPluginErrors: once('svc_plugin_errors_total{plugin="p",hook="onRequest"}'),
  SvcGatewayServingThreadDied: once('svc_worker_deaths_total'),
  SvcGatewayEventLoopSlow: {
    values: {
      'svc_event_loop_delay_seconds_bucket{le="0.1"}': [...grow(0, 100, 60), ...repeat(5_900, 60), ...grow(5_900, 100, 120)],
      'svc_event_loop_delay_seconds_bucket{le="0.25"}': grow(0, 100, 240),
      'svc_event_loop_delay_seconds_bucket{le="+Inf"}': grow(0, 100, 240),
    },
    fires: [80, 119],
    silent: [59, 239],
  },
  SvcGatewayRateLimitStoreDown: held(gauge('svc_rate_limit_store_up', 1, 0)),
  SvcGatewayEmailsWaiting: held(gauge('svc_emails_oldest_waiting_seconds', 60, 901), { after: 5 }),
  SvcGatewayLedgerMismatch: held(gauge('svc_ledger_mismatches', 0, 1), { after: 0 }),
  SvcGatewaySettlementsPending: held(gauge('svc_ledger_oldest_pending_settlement_seconds', 59, 61), { after: 0 }),
  SvcGatewayBackupOld: held(
    { ...gauge('svc_backup_age_seconds', 7_000, 7_300), svc_backup_interval_seconds: repeat(3_600, 240) },
    { after: 5 },
  ),
  SvcGatewayBackupFailed: once('svc_backup_failures_total', 60),
  SvcGatewayDatabaseConnectionsLow: held(gauge('svc_database_connections_available', 10, 9), { after: 5 }),
  SvcGatewayTargetDown: held(gauge('svc_upstream_breaker_state{target="main/m"}', 0, 1), { after: 5 }),
  SvcGatewayUpstreamFull: held(gauge('svc_upstream_calls_waiting{upstream="main"}', 0, 1), { after: 5 }),
  SvcGatewayUsageContradicted: {
    values: {
      'svc_usage_contradicted_total{target="main/m"}': [...repeat(0, 60), ...grow(0, 10, 60), ...repeat(590, 120)],
      'svc_upstream_attempts_total{target="main/m",outcome="ok"}': grow(0, 100, 240),
    },
    fires: [100, 119],
    silent: [59, 239],
  },
  SvcGatewayOutputCapIgnored: once('svc_output_cap_ignored_total{target="main/m"}', 60),
  SvcGatewayDiskNearlyFull: held(
    { ...gauge('svc_data_disk_free_bytes', 10, 9), svc_data_disk_size_bytes: repeat(100, 240) },
    { after: 5 },
  ),
  // Prometheus' own clock begins at 0 in a rule test.
  SvcGatewayCertificateEnding: {
    values: {
      svc_certificate_expiry_timestamp_seconds: [...repeat(14 * 86_400, 120), ...repeat(90 * 86_400, 120)],
    },
    fires: [61, 119],
    silent: [0, 59, 121, 239],
  },
}

const promtool = requireProgram(t, 'promtool')

if (promtool !== undefined) {
  t.test('promtool accepts the rules and the configuration', async (t) => {
    for (const words of [
      ['check', 'rules', rulesFile],
      ['check', 'config', '--syntax-only', rulesFile.replace('svc-gateway.rules.yml', 'prometheus.yml')],
    ]) {
      const { status, stdout, stderr } = spawnSync(promtool, words, { encoding: 'utf8' })
      t.equal(status, 0, stdout + stderr)
    }
  })

  t.test('every alert has a case here', async (t) => t.same(Object.keys(cases).toSorted(), alerts.toSorted()))

  for (const [alert, { values, fires, silent, ...options }] of Object.entries(cases))
    t.test(`${alert} fires, and resolves`, async (t) => {
      checkAlerts(t, promtool, {
        ...options,
        values,
        checks: [
          ...fires.map((minute) => ({ minute, firing: [alert] })),
          ...silent.map((minute) => ({ minute, firing: [] })),
        ].toSorted((one, other) => one.minute - other.minute),
        message: `in minutes ${fires.join()} and not in ${silent.join()}`,
      })
    })
}

t.test('the budget is spent by the failures that the service or its upstreams cause, and by no others', async (t) => {
  const objective = rules.find(({ record }) => record === 'svc:turn_errors:ratio_rate5m')
  const [, pattern = ''] = /code=~"([^"]+)"/.exec(objective?.expr ?? '') ?? []
  for (const [code, { status }] of Object.entries(errorCatalog)) {
    const isOurs = status >= 500 || code.startsWith('upstream_')
    t.equal(new RegExp(`^(?:${pattern})$`).test(code), isOurs, code)
  }
})

t.test('every metric of the rules exists', async (t) => {
  const page = await createMetrics().registry.metrics()
  const known = new Set([...page.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name))
  const named = rules.flatMap(({ expr }) => [...expr.matchAll(/(?<!svc:\w*)\bsvc_\w+/g)].map(([name]) => name))
  t.ok(named.length > 30)
  for (const name of new Set(named)) t.ok(known.has(name.replace(/_bucket$/, '')), name)
})

t.test('the runbook has a paragraph for each alert, and no other', async (t) => {
  const runbook = readFileSync(new URL('../../../../docs/runbook.md', import.meta.url), 'utf8')
  const headings = [...runbook.matchAll(/^### (SvcGateway\w+)$/gm)].map(([, name]) => name)
  t.same(headings.toSorted(), alerts.toSorted())
  for (const { alert, labels, annotations } of rules) {
    if (alert === undefined) continue
    t.match(labels?.severity, /^(?:page|ticket)$/, alert)
    t.equal(annotations?.['runbook'], `docs/runbook.md#${alert.toLowerCase()}`)
    t.ok(annotations?.['summary'] && annotations['description'], alert)
  }
})
