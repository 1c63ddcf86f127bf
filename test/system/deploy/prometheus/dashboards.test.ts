/** Every query of the dashboards, run by a real Prometheus that scrapes a real gateway by the shipped configuration. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { findFreePort } from '../../../support/free-port.ts'
import { rulesFile } from '../../../support/prometheus/rule-test.ts'
import { requireProgram } from '../../../support/require-program.ts'

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly datasource: { readonly uid: string }
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
  }[]
}

const deploy = join(import.meta.dirname, '../../../../deploy')
const dashboards = readdirSync(join(deploy, 'grafana/dashboards')).map(
  (name) => JSON.parse(readFileSync(join(deploy, 'grafana/dashboards', name), 'utf8')) as Dashboard,
)
const panels = dashboards.flatMap(({ title, panels: list }) => list.map((panel) => ({ dashboard: title, ...panel })))

/** What an installation without these settings and faults has no samples of. */
const optional =
  /svc_(?:backup|certificate|cluster|database|rate_limit|requests_total|plugin_errors|output_cap|usage_contradicted|connections_refused|emails_total)/

t.test('the dashboards name the provisioned data source, and no two panels overlap', async (t) => {
  const source = parse(readFileSync(join(deploy, 'grafana/provisioning/datasources/prometheus.yml'), 'utf8')) as {
    readonly datasources: readonly { readonly uid: string }[]
  }
  t.equal(new Set(dashboards.map(({ uid }) => uid)).size, dashboards.length)
  for (const { title, datasource, gridPos } of panels) {
    t.equal(datasource.uid, source.datasources[0]?.uid, title)
    t.ok(gridPos.x + gridPos.w <= 24, title)
  }
  for (const { title, panels: list } of dashboards) {
    const cells = list.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    t.equal(new Set(cells).size, cells.length, title)
    t.equal(new Set(list.map(({ id }) => id)).size, list.length, title)
  }
})

const program = requireProgram(t, 'prometheus')

if (program !== undefined)
  t.test('a real Prometheus runs every query of the dashboards against the real metrics page', async (t) => {
    const gateway = await startGateway(t)
    const { token } = await gateway.createMember('max')
    const folder = createTemporaryFolder(t)
    const [port, { host }] = [await findFreePort(), new URL(gateway.url)]
    copyFileSync(rulesFile, join(folder, 'svc-gateway.rules.yml'))
    writeFileSync(join(folder, 'metrics-token'), 'scrape-me')
    const shipped = readFileSync(join(deploy, 'prometheus/prometheus.yml'), 'utf8')
    writeFileSync(join(folder, 'prometheus.yml'), shipped.replace('127.0.0.1:8787', host).replaceAll('15s', '1s'))
    const prometheus = spawn(
      program,
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let log = ''
    prometheus.stderr.on('data', (piece: Buffer) => (log = (log + piece.toString()).slice(-4_000)))
    t.teardown(async () => {
      if (prometheus.exitCode !== null) return
      prometheus.kill()
      await once(prometheus, 'exit')
    })
    const query = async (expr: string): Promise<{ status: string; error?: string; data?: { result: unknown[] } }> => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expr }),
      })
      return (await response.json()) as { status: string }
    }
    const count = async (expr: string): Promise<number> => (await query(expr).catch(() => undefined))?.data?.result.length ?? 0

    gateway.demo.script(({ rawBody }) => (rawBody.includes('fail') ? { status: 500 } : {}))
    const work = async (): Promise<void> => {
      await (await gateway.chat(token, { stream: true })).text()
      await (await gateway.chat(token, { messages: [{ role: 'user', content: 'fail' }] })).text()
      await (await fetch(`${gateway.url}/v1/nope`)).text()
    }
    await work()
    await waitUntil(async () => (await count('svc_turns_total{outcome="failed"}')) > 0, `the first scrape: ${log}`)
    await work()
    // Rates need two samples that differ.
    await waitUntil(
      async () => (await count('rate(svc_turns_total{outcome="failed"}[1m]) > 0 and on () svc:turn_errors:ratio_rate1d')) > 0,
      'a second sample, and the recording rules',
    )
    let queries = 0
    for (const { dashboard, title, targets } of panels)
      for (const { expr } of targets) {
        const filled = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*')
        t.notMatch(filled, /\$/, `${dashboard}, ${title}: every variable is known`)
        const { status, error = '', data } = await query(filled)
        t.equal(status, 'success', `${dashboard}, ${title}: ${filled} ${error}`)
        if (!optional.test(filled)) t.ok((data?.result.length ?? 0) > 0, `${dashboard}, ${title} has data: ${filled}`)
        queries += 1
      }
    t.ok(queries > 50, `${queries} queries`)
    t.equal(await count('up{job="svc-gateway"} == 1'), 1)
    await gateway.close()
    await waitUntil(async () => (await count('up{job="svc-gateway"} == 0')) === 1, 'the gateway to be down')
    t.equal((await count('ALERTS{alertname="SvcGatewayDown"}')) <= 1, true)
  })
