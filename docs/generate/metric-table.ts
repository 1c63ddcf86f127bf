/** The table of metrics in `operations.md`. */
import { createMetrics } from '../../src/observability/metrics.ts'

interface Metric {
  readonly name: string
  readonly help: string
  readonly type?: string
  readonly labelNames?: readonly string[]
}

/** When a metric should alert an operator. `test/system/docs/metrics.test.ts` requires that each metric exists. */
export const alerts: Readonly<Record<string, string>> = {
  svc_ledger_mismatches: 'above 0: run `svc-gateway ledger verify`',
  svc_ledger_oldest_pending_settlement_seconds: 'above 60: the ledger accepts no settlements; see the log',
  svc_orders_oldest_paid_not_granted_seconds: 'above 900: a member has paid and has nothing; run `svc-gateway doctor`',
  svc_ready: '0 for a minute: turns are refused; see `/readyz`',
  svc_data_disk_free_bytes: 'below a tenth of `svc_data_disk_size_bytes`: make room',
  svc_certificate_expiry_timestamp_seconds: 'within fourteen days: renew it and run `svc-gateway reload`',
  svc_cluster_nodes: 'below what it was: a node has left (only with `STORE_URL`)',
  svc_emails_oldest_waiting_seconds: 'above 900: emails are not sent; run `svc-gateway doctor --send-test-mail`',
  svc_backup_age_seconds: 'above twice `backup.every`: no backup is written; see the log and run `svc-gateway doctor`',
  svc_backup_failures_total: 'increases: a backup failed; see the log',
  svc_config_reload_successful: '0: the last reload was refused, and the server runs as before; see `svc-gateway doctor`',
  svc_notification_receiver_off: '1: repair the receiver and run `svc-gateway notify enable`',
  svc_internal_errors_total: 'increases: a bug or a broken part; see the log',
  svc_plugin_errors_total: 'increases: a plugin throws',
  svc_rate_limit_store_up: '0 for a minute (only with `LIMITS_URL`)',
  svc_cluster_config_differences: 'above 0 for longer than a deploy (only with `STORE_URL`)',
  svc_database_connections_available: 'below 10 (only with `STORE_URL`)',
  svc_database_standbys_synchronous: 'below the standbys that you run (only with `STORE_URL`)',
  svc_upstream_breaker_state: 'above 0 for five minutes: a target is down',
  svc_upstream_calls_waiting: 'above 0 for a minute: an upstream is full',
  svc_usage_contradicted_total: 'increases quickly: a target reports wrong usage',
  svc_output_cap_ignored_total: 'increases: the members of this target get cut answers; check `maxTokensField`',
  svc_worker_deaths_total: 'increases: a serving thread died',
  svc_event_loop_delay_seconds: 'p99 above 0.1: the machine is too small',
}

const tableMarker = /<!-- metrics -->\n[^]*?<!-- end -->/

export function updateMetricTable(text: string): string {
  return text.replace(tableMarker, () => `<!-- metrics -->\n${renderMetricTable()}\n<!-- end -->`)
}

function renderMetricTable(): string {
  const metrics = (createMetrics().registry.getMetricsAsArray() as unknown as readonly Metric[]).toSorted((one, other) =>
    one.name < other.name ? -1 : 1,
  )
  const rows = metrics.map((metric) => {
    const { name, help, labelNames = [] } = metric
    const cells = [`\`${name}\``, findType(metric), labelNames.map((label) => `\`${label}\``).join(' '), help, alerts[name] ?? '']
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return ['| Metric | Type | Labels | Meaning | Alert when |', '|---|---|---|---|---|', ...rows].join('\n')
}

/** prom-client's own metrics tell their type by their class. */
function findType(metric: Metric): string {
  return metric.type ?? metric.constructor.name.toLowerCase()
}
