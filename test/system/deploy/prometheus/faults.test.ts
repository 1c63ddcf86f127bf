/**
 * Each alert fires when its fault happens, and resolves when it is over. The faults are real where a test can make them; the metrics pages
 * of before, meanwhile and afterwards then pass through Prometheus' own rule engine, each for as long as the rules need.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { createLog } from '../../../../src/observability/log.ts'
import { Telemetry } from '../../../../src/observability/telemetry.ts'
import { definePlugin } from '../../../../src/exchange/plugins/plugin.ts'
import base from '../../../../gateway.config.ts'
import { describePlugins } from '../../../../src/server/reload/describe-plugins.ts'
import { BackupJob } from '../../../../src/server/backup-job.ts'
import type { DatabaseStatus } from '../../../../src/domain/database-status.ts'
import type { LedgerStats } from '../../../../src/domain/billing/ledger.ts'
import { createMovableClock } from '../../../support/gateway/movable-clock.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { Overrides, StartOptions, TestGateway } from '../../../support/gateway/test-gateway.ts'
import { checkAlerts, parseMetricsPage } from '../../../support/prometheus/rule-test.ts'
import type { SeriesValues } from '../../../support/prometheus/rule-test.ts'
import { requireProgram } from '../../../support/require-program.ts'
import { createSelfSignedCertificate } from '../../../support/servers/tls-certificate.ts'
import { ScriptedReceiver } from '../../notifications/scripted-receiver.ts'
import { withRawDatabase } from '../../../support/store/sqlite/support.ts'

interface Pages {
  readonly before: string
  readonly meanwhile: string
  readonly afterwards: string
}

const healthyMinutes = 30
const faultMinutes = 30
/** The slowest alert looks back six hours in its shorter window. */
const recoveryMinutes = 420

/** Counters grow evenly during the fault; a series that begins with the fault has no sample before. */
function toSeries({ before, meanwhile, afterwards }: Pages): SeriesValues {
  const [first, second, third] = [before, meanwhile, afterwards].map(parseMetricsPage)
  const nowSeconds = Date.now() / 1000
  const series: Record<string, (number | null)[]> = {}
  for (const name of new Set([...(first ?? []), ...(second ?? []), ...(third ?? [])].map(([key]) => key))) {
    const isCounter = /^\w+_(?:total|bucket|sum|count)\b/.test(name)
    // Prometheus' clock begins at 0 in a rule test.
    const shift = name.includes('_timestamp_seconds') ? nowSeconds : 0
    const at = (page: ReadonlyMap<string, number> | undefined): number | null => {
      const value = page?.get(name)
      return value === undefined ? null : value - shift
    }
    const [good, bad, healed] = [at(first), at(second), at(third)]
    const grown = (minute: number): number | null =>
      bad === null ? null : (good ?? 0) + ((bad - (good ?? 0)) * (minute + 1)) / faultMinutes
    series[name] = [
      ...Array.from({ length: healthyMinutes }, () => good),
      ...Array.from({ length: faultMinutes }, (_, minute) => (isCounter ? grown(minute) : bad)),
      ...Array.from({ length: recoveryMinutes }, () => healed),
    ]
  }
  return series
}

function assertAlerts(t: Test, promtool: string, firing: readonly string[], pages: Pages, ignored: readonly string[] = []): void {
  const all = toSeries(pages)
  const relevant = Object.entries(all).filter(
    ([name]) => !/^(?:gen_ai|process|svc_(?:ledger_(?:commit|flush)|overhead|event))/.test(name),
  )
  checkAlerts(t, promtool, {
    values: Object.fromEntries(relevant),
    checks: [
      { minute: healthyMinutes - 1, firing: [] },
      { minute: healthyMinutes + faultMinutes - 1, firing },
      { minute: healthyMinutes + faultMinutes + recoveryMinutes - 1, firing: [] },
    ],
    ignored,
    message: `${firing.join(' and ')} fires and resolves`,
  })
}

/** Runs a gateway through a fault. */
async function runFault(
  gateway: Pick<TestGateway, 'scrapeMetrics'>,
  { begin, end }: { readonly begin: () => Promise<unknown>; readonly end: () => Promise<unknown> },
): Promise<Pages> {
  const before = await gateway.scrapeMetrics()
  await begin()
  const meanwhile = await gateway.scrapeMetrics()
  await end()
  return { before, meanwhile, afterwards: await gateway.scrapeMetrics() }
}

const start = (t: Test, overrides: Overrides = {}, options: StartOptions = {}): Promise<TestGateway> =>
  startGateway(t, overrides, options)

const budget = ['SvcGatewayErrorBudgetBurnsFast', 'SvcGatewayErrorBudgetBurnsSlowly']

const promtool = requireProgram(t, 'promtool')

if (promtool !== undefined) {
  t.test('an upstream that resets every connection', async (t) => {
    const { clock, advance } = createMovableClock()
    const gateway = await start(t, { upstreams: { main: { restAfterFailures: 5 } } }, { clock })
    const { token } = await gateway.createMember('max')
    const chat = async (): Promise<unknown> => (await gateway.chat(token)).text()
    const pages = await runFault(gateway, {
      async begin() {
        gateway.demo.script(() => ({ reset: { afterBytes: 0 } }))
        for (let turn = 0; turn < 8; turn += 1) await chat()
      },
      async end() {
        gateway.demo.script()
        // Two probes close the breaker.
        for (let turn = 0; turn < 2; turn += 1) {
          advance(600_000)
          await chat()
        }
      },
    })
    assertAlerts(t, promtool, [...budget, 'SvcGatewayTargetDown'], pages)
  })

  t.test('an upstream whose connections are all in use', async (t) => {
    const gateway = await start(t, { upstreams: { main: { connections: 1, maxPendingMs: 600_000 } } })
    const { token } = await gateway.createMember('max')
    const left = new AbortController()
    const pages = await runFault(gateway, {
      async begin() {
        gateway.demo.script(() => ({ hang: 'before_headers' }))
        for (let turn = 0; turn < 2; turn += 1)
          gateway.chat(token, { stream: true }, { signal: left.signal }).catch(() => undefined)
        await waitUntil(
          async () => /^svc_upstream_calls_waiting\{upstream="main"\} 1$/m.test(await gateway.scrapeMetrics()),
          'a call to wait',
        )
      },
      async end() {
        left.abort()
        gateway.demo.script()
        await gateway.waitUntilSettled()
      },
    })
    assertAlerts(t, promtool, ['SvcGatewayUpstreamFull'], pages)
  })

  t.test('an upstream that reports wrong usage and ignores the cap', async (t) => {
    const gateway = await start(t)
    const { token } = await gateway.createMember('max')
    const pages = await runFault(gateway, {
      async begin() {
        gateway.demo.script(() => ({ tokens: 400, ignoreCap: true, usage: { prompt_tokens: 10, completion_tokens: 0 } }))
        for (let turn = 0; turn < 4; turn += 1) await (await gateway.chat(token, { stream: true, max_tokens: 16 })).text()
        gateway.demo.script(() => ({ tokens: 400, usage: { prompt_tokens: 10, completion_tokens: 0 } }))
        for (let turn = 0; turn < 4; turn += 1) await (await gateway.chat(token, { stream: true, max_tokens: 800 })).text()
      },
      end: async () => gateway.demo.script(),
    })
    assertAlerts(t, promtool, ['SvcGatewayOutputCapIgnored', 'SvcGatewayUsageContradicted'], pages)
  })

  t.test('a plugin that throws', async (t) => {
    let isBroken = false
    const fail = (here: boolean): void => {
      if (isBroken && here) throw new Error('broken')
    }
    const failing = definePlugin({
      name: 'failing',
      onRequest: (x) => fail(x.inbound.headers['x-fails'] !== 'later'),
      onSettle: (x) => fail(x.inbound.headers['x-fails'] === 'later'),
    })
    const gateway = await start(t, { plugins: [...(base.plugins ?? []), failing] })
    const { token } = await gateway.createMember('max')
    const chat = async (): Promise<void> => {
      for (const fails of ['at once', 'later']) await (await gateway.chat(token, {}, { headers: { 'x-fails': fails } })).text()
    }
    const pages = await runFault(gateway, {
      async begin() {
        isBroken = true
        await chat()
      },
      async end() {
        isBroken = false
        await chat()
      },
    })
    assertAlerts(t, promtool, ['SvcGatewayInternalErrors', 'SvcGatewayPluginErrors'], pages, budget)
  })

  t.test('a configuration with a mistake at a reload', async (t) => {
    const gateway = await start(t)
    const { plugins, ...values } = gateway.config
    const reload = async (some: Partial<typeof values>): Promise<boolean> =>
      (await gateway.gateway.reload(async () => ({ values: { ...values, ...some }, plugins: describePlugins(plugins) }))).ok
    const pages = await runFault(gateway, {
      begin: async () => t.notOk(await reload({ products: {} })),
      end: async () => t.ok(await reload({})),
    })
    assertAlerts(t, promtool, ['SvcGatewayReloadRefused'], pages)
  })

  t.test('a receiver of notifications that is gone', async (t) => {
    const receiver = await ScriptedReceiver.start(t)
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const notifications = { webhooks: { crm: { url: receiver.url, secret, allowPrivate: true } } }
    const gateway = await start(t, { notifications })
    const { notifier } = gateway.gateway
    await notifier.observe()
    const pages = await runFault(gateway, {
      async begin() {
        receiver.behave = () => 410
        await gateway.createMember('max')
        await notifier.deliver(new AbortController().signal)
        await notifier.waitUntilIdle()
        await notifier.observe()
      },
      async end() {
        await gateway.services.store.notifications.switchOn('crm', gateway.services.clock.now())
        await notifier.observe()
      },
    })
    assertAlerts(t, promtool, ['SvcGatewayNotificationReceiverOff'], pages)
  })

  t.test('a row of the ledger that was changed', async (t) => {
    const gateway = await start(t)
    const { token } = await gateway.createMember('max')
    await (await gateway.chat(token)).text()
    await gateway.waitUntilSettled()
    const { ledger, telemetry } = gateway.services
    const verify = async (): Promise<void> => telemetry.recordLedgerCheck((await ledger.verify()).mismatches.length)
    const change = (by: number): unknown =>
      withRawDatabase(join(gateway.config.store.dataDir, 'gateway.db'), (db) =>
        db.exec(`update turn set price_output = price_output + ${by}`),
      )
    const pages = await runFault(gateway, {
      async begin() {
        change(1)
        await verify()
      },
      async end() {
        change(-1)
        await verify()
      },
    })
    assertAlerts(t, promtool, ['SvcGatewayLedgerMismatch'], pages)
  })

  t.test('a backup that cannot be written', async (t) => {
    const { clock, advance } = createMovableClock()
    const gateway = await start(t, {}, { clock })
    const { token } = await gateway.createMember('max')
    await (await gateway.chat(token)).text()
    const folder = join(createTemporaryFolder(t), 'backups')
    const settings = { every: 3_600_000, keep: { days: 7, weeks: 4, months: 6 }, to: folder, passphraseFile: null }
    const job = new BackupJob({ settings, dataDir: gateway.config.store.dataDir, services: gateway.services })
    const fail = async (): Promise<void> => {
      advance(7_200_001)
      await job.run()
    }
    await job.run()
    const pages = await runFault(gateway, {
      begin: fail,
      async end() {
        mkdirSync(folder)
        await fail()
      },
    })
    assertAlerts(t, promtool, ['SvcGatewayBackupFailed', 'SvcGatewayBackupOld'], pages)
  })

  t.test('a certificate that ends in two days', async (t) => {
    const tls = createSelfSignedCertificate(createTemporaryFolder(t))
    const gateway = await start(t, { listen: { tls: { cert: tls.cert, key: tls.key } } })
    const page = (await gateway.services.telemetry.metricsText()).replaceAll('\r', '')
    const expiry = /^svc_certificate_expiry_timestamp_seconds (\d+)$/m.exec(page)?.[1]
    t.ok(Math.abs(Number(expiry) - Date.now() / 1000 - 2 * 86_400) < 3_600, 'the end of the certificate that is served')
    const renewed = page.replace(`seconds ${expiry}`, `seconds ${Number(expiry) + 90 * 86_400}`)
    const values = toSeries({ before: renewed, meanwhile: page, afterwards: renewed })
    const name = 'svc_certificate_expiry_timestamp_seconds'
    const samples = values[name] ?? []
    checkAlerts(t, promtool, {
      values: {
        [name]: [
          ...samples.slice(0, 30),
          ...samples.slice(30, 60),
          ...samples.slice(30, 60),
          ...samples.slice(30, 60),
          ...samples.slice(60),
        ],
      },
      checks: [
        { minute: 29, firing: [] },
        { minute: 100, firing: ['SvcGatewayCertificateEnding'] },
        { minute: 125, firing: [] },
      ],
      message: 'SvcGatewayCertificateEnding fires and resolves',
    })
  })

  t.test('a ledger that is locked by another program', async (t) => {
    const { clock, advance } = createMovableClock()
    // Behind the time of the scrape, so that no minute has to pass.
    advance(-120_000)
    const gateway = await start(t, {}, { clock })
    const { token } = await gateway.createMember('max')
    gateway.demo.script(() => ({ tokens: 4, hang: { afterEvents: 2 } }))
    const left = new AbortController()
    const response = await gateway.chat(token, { stream: true }, { signal: left.signal })
    await response.body?.getReader().read()
    const { default: Sqlite } = await import('better-sqlite3')
    const other = new Sqlite(join(gateway.config.store.dataDir, 'gateway.db'))
    t.teardown(() => other.close())
    const pages = await runFault(gateway, {
      async begin() {
        other.exec('begin immediate')
        left.abort()
        await waitUntil(
          async () => /^svc_ledger_pending_settlements 1$/m.test(await gateway.scrapeMetrics()),
          'the settlement to be pending',
        )
      },
      async end() {
        other.exec('rollback')
        await waitUntil(async () => /^svc_ledger_pending_settlements 0$/m.test(await gateway.scrapeMetrics()), 'the settlement')
      },
    })
    assertAlerts(t, promtool, ['SvcGatewayNotReady', 'SvcGatewaySettlementsPending'], pages)
  })

  t.test('faults of what a test cannot take away: they are reported by the sources of the metrics', async (t) => {
    const telemetry = new Telemetry(createLog('error', { write: () => undefined }))
    t.teardown(() => telemetry.close())
    let isBroken = false
    const stats: LedgerStats = {
      holdsOpen: 0,
      queue: 0,
      commits: 0,
      operations: 0,
      syncs: 0,
      commitSeconds: [],
      flushSeconds: [],
      writable: true,
      unhealthyReason: null,
      pendingSettlements: 0,
      pendingSince: null,
      releasedHolds: 0,
    }
    const fingerprint = (products: string) => ({ products })
    telemetry.connectSources({
      ledger: { stats: () => stats } as never,
      upstreams: { all: [], breakerStates: () => [], takenOut: { list: () => [] } } as never,
      limits: {
        get distributed() {
          return { stats: { unavailableSince: isBroken ? 1 : null, fallbacks: 0 } }
        },
      } as never,
      databaseStatus: () =>
        ({
          connections: { available: isBroken ? 4 : 40, max: 100 },
          standbys: null,
          configurations: [fingerprint('a'), fingerprint(isBroken ? 'b' : 'a')].map((each) => ({ fingerprint: each, count: 1 })),
        }) as unknown as DatabaseStatus,
      mailStats: () => ({
        results: { sent: 0, deferred: 0, rejected: 0, expired: 0, unanswered: 0, dropped: 0 },
        waiting: isBroken ? 1 : 0,
        oldestWaitingSeconds: isBroken ? 1_000 : 0,
      }),
      countRunningTurns: () => 0,
      monotonicMs: () => 0,
      machine: {
        notReadyReasons: () => [],
        dataDir: '/',
        countNodes: () => (isBroken ? 2 : 3),
        readDisk: async () => ({ bsize: 1, blocks: 100, bavail: isBroken ? 5 : 50 }),
      },
    })
    telemetry.recordWorkers(4, 0)
    const pages = await runFault(
      { scrapeMetrics: () => telemetry.metricsText() },
      {
        async begin() {
          isBroken = true
          telemetry.recordWorkers(4, 1)
        },
        async end() {
          isBroken = false
        },
      },
    )
    assertAlerts(
      t,
      promtool,
      [
        'SvcGatewayConfigurationsDiffer',
        'SvcGatewayDatabaseConnectionsLow',
        'SvcGatewayDiskNearlyFull',
        'SvcGatewayEmailsWaiting',
        'SvcGatewayRateLimitStoreDown',
        'SvcGatewayServingThreadDied',
      ],
      pages,
      // Resolves by itself fifteen minutes after the node has left, which is before the end of the fault here.
      ['SvcGatewayNodeLost'],
    )
    const nodes = toSeries(pages)['svc_cluster_nodes'] ?? []
    checkAlerts(t, promtool, {
      values: { svc_cluster_nodes: nodes },
      checks: [
        { minute: healthyMinutes - 1, firing: [] },
        { minute: healthyMinutes + 5, firing: ['SvcGatewayNodeLost'] },
        { minute: healthyMinutes + 20, firing: [] },
      ],
      message: 'SvcGatewayNodeLost fires, and resolves by itself',
    })
  })
}
