/** Runs the shipped Prometheus rules over series of values with `promtool test rules`: minutes pass in the test's own time. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createTemporaryFolder } from '../temporary-folder.ts'

export const rulesFile = join(import.meta.dirname, '../../../deploy/prometheus/svc-gateway.rules.yml')

/** Values by series, one for each step; null where the series has no sample. */
export type SeriesValues = Readonly<Record<string, readonly (number | null)[]>>

interface AlertCheck {
  readonly minute: number
  /** The alerts that fire then, and no others. */
  readonly firing: readonly string[]
}

interface AlertTest {
  readonly values: SeriesValues
  readonly checks: readonly AlertCheck[]
  readonly message: string
  /** Time between two values; default a minute. */
  readonly stepMinutes?: number
  /** Alerts that may fire too. */
  readonly ignored?: readonly string[]
}

export function checkAlerts(
  t: Test,
  promtool: string,
  { values, checks, message, stepMinutes = 1, ignored = [] }: AlertTest,
): void {
  const document = {
    rule_files: [rulesFile],
    evaluation_interval: `${stepMinutes}m`,
    tests: [
      {
        interval: `${stepMinutes}m`,
        input_series: Object.entries(values).map(([series, samples]) => ({
          series,
          values: samples.map(formatSample).join(' '),
        })),
        promql_expr_test: checks.map(({ minute, firing }) => ({
          expr: `count by (alertname) (ALERTS{alertstate="firing", alertname!~"${ignored.join('|')}"}) > bool 0`,
          eval_time: `${minute}m`,
          exp_samples: firing.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
        })),
      },
    ],
  }
  const file = join(createTemporaryFolder(t), 'alerts.test.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(document, null, 2))
  const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', file], { encoding: 'utf8' })
  t.equal(status, 0, `${message}\n${status === 0 ? '' : stdout + stderr}`)
}

function formatSample(value: number | null): string {
  return value === null ? '_' : String(value)
}

/** The samples of a metrics page, by series. */
export function parseMetricsPage(page: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>()
  for (const line of page.split('\n')) {
    const [, series, value] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? []
    if (series !== undefined && !line.startsWith('#')) samples.set(series, Number(value))
  }
  return samples
}
