/** `svc-gateway check` and `svc-gateway doctor` */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigError, configFile, loadConfig } from '../config.ts'
import type { GatewayConfig } from '../config.ts'
import { Upstreams } from '../upstream/upstreams.ts'
import type { Upstream } from '../upstream/upstreams.ts'
import { request } from 'undici'
import { atDesk } from './desk.ts'
import { show, table } from './output.ts'
import type { Output } from './output.ts'

/** Reads and checks the configuration, and says what it amounts to; exits with 1 and the faults where it cannot work. */
export async function check(options: Output): Promise<void> {
  const file = configFile()
  let config: GatewayConfig
  try {
    config = await loadConfig(file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.exitCode = 1
    const faults = error.message.split('\n')
    show(options, { ok: false, file, faults }, () => [`${file} cannot work:`, ...faults.map((fault) => `  ${fault}`)].join('\n'))
    return
  }
  const summary = {
    ok: true,
    file,
    listen: `${config.listen.host}:${config.listen.port}`,
    products: Object.keys(config.products),
    plans: Object.keys(config.plans),
    upstreams: Object.entries(config.upstreams).map(([name, { baseUrl }]) => ({ name, base_url: baseUrl })),
    plugins: config.plugins.map(({ name }) => name),
  }
  show(options, summary, () =>
    [
      `${file} is fine.`,
      `  plugins    ${summary.plugins.join(' → ')}`,
      `  products   ${summary.products.join(', ')}`,
      `  plans      ${summary.plans.join(', ')}`,
      `  upstreams  ${summary.upstreams.map(({ name, base_url }) => `${name} (${base_url})`).join(', ')}`,
    ].join('\n'),
  )
}

interface Finding {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

/** Looks at everything a server needs here, and says what to do about what is missing. */
export async function doctor(options: Output): Promise<void> {
  const config = await loadConfig()
  const findings: Finding[] = [
    runtime(),
    directory(config),
    disk(config),
    await ledger(),
    ...(await upstreams(config)),
    mail(config),
  ]
  const ok = findings.every((finding) => finding.ok)
  if (!ok) process.exitCode = 1
  show(options, { ok, findings }, () =>
    table(
      ['', 'what', 'finding'],
      findings.map((finding) => [finding.ok ? 'ok' : '!!', finding.what, finding.detail]),
    ),
  )
}

function runtime(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return {
    what: 'runtime',
    ok: major >= 24,
    detail: `Node ${process.versions.node}${major >= 24 ? '' : ': install Node 24 or newer'}`,
  }
}

function directory({ store }: GatewayConfig): Finding {
  const place = resolve(store.dataDir)
  const existing = nearest(place)
  try {
    accessSync(existing, constants.W_OK)
    return { what: 'data directory', ok: true, detail: place }
  } catch {
    return {
      what: 'data directory',
      ok: false,
      detail: `${existing} cannot be written by this user; set DATA_DIR or change its owner`,
    }
  }
}

/** The folder itself, or the one above it that is there: what is between them is made at the start. */
function nearest(place: string): string {
  return existsSync(place) || dirname(place) === place ? place : nearest(dirname(place))
}

const leastFreeBytes = 512 * 1024 * 1024

function disk({ store }: GatewayConfig): Finding {
  const place = resolve(store.dataDir)
  const { bavail, bsize } = statfsSync(nearest(place))
  const free = bavail * bsize
  return {
    what: 'disk',
    ok: free >= leastFreeBytes,
    detail: `${Math.floor(free / 1024 / 1024)} MiB free${free >= leastFreeBytes ? '' : ': make room; the ledger stops when it cannot write'}`,
  }
}

function ledger(): Promise<Finding> {
  return atDesk(async ({ store }) => {
    const { ok, accounts, turns, mismatches } = await store.ledger.verify()
    return {
      what: 'ledger',
      ok,
      detail: ok
        ? `adds up (${accounts} accounts, ${turns} turns)`
        : `${mismatches.length} mismatches; run: svc-gateway ledger verify`,
    }
  }).catch((error: unknown) => ({ what: 'ledger', ok: false, detail: error instanceof Error ? error.message : String(error) }))
}

async function upstreams(config: GatewayConfig): Promise<Finding[]> {
  const all = new Upstreams(config, null, () => 0)
  try {
    return await Promise.all([...all.all].map((upstream) => reach(upstream)))
  } finally {
    await all.close()
  }
}

async function reach({ name, origin, basePath, headers, dispatcher, config }: Upstream): Promise<Finding> {
  const what = `upstream ${name}`
  if (config.baseUrl === 'demo')
    return { what, ok: true, detail: 'the built-in demonstration; set UPSTREAM_BASE_URL for a real one' }
  try {
    const { statusCode, body } = await request(`${origin}${basePath}/models`, {
      dispatcher,
      headers: { ...headers },
      signal: AbortSignal.timeout(10_000),
    })
    await body.dump()
    if (statusCode === 401 || statusCode === 403)
      return { what, ok: false, detail: `${origin} refuses the key (HTTP ${statusCode}); check UPSTREAM_API_KEY` }
    if (statusCode >= 500) return { what, ok: false, detail: `${origin} answers HTTP ${statusCode}` }
    return { what, ok: true, detail: `${origin}${basePath} answers (HTTP ${statusCode})` }
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : String(error))
    return { what, ok: false, detail: `${origin} cannot be reached (${reason}); check UPSTREAM_BASE_URL` }
  }
}

function mail({ mail: { smtpUrl }, store }: GatewayConfig): Finding {
  return {
    what: 'mail',
    ok: true,
    detail: smtpUrl === null ? `no SMTP_URL: mail goes to ${resolve(store.dataDir, 'outbox')}` : 'by SMTP',
  }
}
