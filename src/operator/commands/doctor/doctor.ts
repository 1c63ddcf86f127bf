/** `svc-gateway doctor`: tests what a server needs on this machine and prints what to do about each failure. */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { request } from 'undici'
import { probe } from '../../../access/limits/rate-limit-store.ts'
import { loadValkeyStore } from '../../../access/limits/create-limits.ts'
import { ConfigError, loadConfig } from '../../../config/config.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { describeEngineFault } from '../../../system/engine-fault.ts'
import { isLoopbackHost } from '../../../system/loopback.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { findOpenMode } from '../../../system/secret.ts'
import { findInternetFault } from '../../../access/oauth/client-documents.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { readMachine, resolveWorkerCount } from '../../../server/workers/worker-count.ts'
import { describeMissingPlans } from '../../../domain/services/missing-plans.ts'
import { isOlder } from '../../../store/migrations/migrate.ts'
import { readLayout } from '../../../store/sqlite/maintenance/migration-copy.ts'
import { MissingInstallationError } from '../../../system/operator-error.ts'
import { withInstallation } from '../../installation.ts'
import type { Installation } from '../../installation.ts'
import { describePendingSettlements } from '../ledger.ts'
import { checkBackup } from './check-backup.ts'
import { checkLastReload } from './check-last-reload.ts'
import { checkMail } from './check-mail.ts'
import { checkNotifications } from './check-notifications.ts'
import { checkDeletions, checkOrders } from './check-orders.ts'
import { checkPayments } from './check-payments.ts'
import { checkPromptReports, maxReadTurns } from './check-prompt-reports.ts'
import { checkUpstreams } from './check-upstreams.ts'
import { describeError } from './describe-error.ts'
import { checkSharedStore } from './check-shared-store.ts'
import { checkSignInProviders, checkTrustedIssuers } from './check-sign-in.ts'
import { verifyBooks } from '../../../domain/services/orders/verify-books.ts'
import { checkPublicAddress } from '../public-address/check-public-address.ts'
import { pluralize, renderResult, formatTable } from '../../output.ts'
import type { OutputOptions, CommandResult } from '../../output.ts'
import '../../../system/vendor/undici-fetch.ts'

/** Timeout of each check. */
const timeoutMs = 10_000
const dayMs = 86_400_000

interface DoctorOptions {
  readonly sendTestMail?: string
  readonly deep?: boolean
  readonly from?: string
}

/** Prints a line per check; exits with 1 where one of them would keep the server from working. */
export async function doctor(options: DoctorOptions & OutputOptions): Promise<CommandResult> {
  const findings = await examine(options).catch((error: unknown): readonly HealthCheck[] => {
    if (!(error instanceof ConfigError)) throw error
    return [checkRuntime(), ...describeConfigFaults(error)]
  })
  const ok = findings.every((finding) => finding.ok)
  const renderText = () =>
    formatTable(
      ['', 'what', 'finding'],
      findings.map((finding) => [finding.ok ? 'ok' : '!!', finding.what, finding.detail]),
    )
  return renderResult(options, { ok, findings }, renderText, ok)
}

/** Without a configuration nothing else can be examined. */
function describeConfigFaults({ file, message }: ConfigError): HealthCheck[] {
  const place = file === null ? '' : `${file}: `
  return message.split('\n').map((fault) => ({ what: 'configuration', ok: false, detail: `${place}${fault}` }))
}

async function examine(options: DoctorOptions): Promise<readonly HealthCheck[]> {
  const config = await loadConfig()
  return (
    await Promise.all([
      checkRuntime(),
      checkWorkers(config),
      checkDataDirectory(config),
      checkSecret(config),
      checkDisk(config),
      checkBackup(config),
      checkLastReload(config),
      checkSharedStore(config),
      checkLedger(config),
      checkAddresses(config),
      checkCertificate(config),
      checkLimits(config),
      checkClientDocuments(config),
      checkUpstreams(config, options.deep === true),
      checkUnservedProducts(config),
      checkSearch(config),
      checkMail(config, options.sendTestMail),
      checkNotifications(config),
      checkPayments(config),
      checkSignInProviders(config),
      checkTrustedIssuers(config),
      options.from === undefined ? [] : checkPublicAddress(config, options.from),
    ])
  ).flat()
}

function checkRuntime(): HealthCheck {
  const major = Number(process.versions.node.split('.')[0])
  const fault = describeEngineFault()
  return {
    what: 'runtime',
    ok: major >= 24 && fault === null,
    detail: fault ?? `Node ${process.versions.node}${major >= 24 ? '' : ': install Node 24 or newer'}`,
  }
}

function checkWorkers(config: GatewayConfig): HealthCheck {
  const machine = readMachine()
  const { count } = resolveWorkerCount(config, machine)
  const serve = count === 1 ? 'one thread serves' : `${count} threads serve`
  const memory = `${Math.round(machine.memoryBytes / 2 ** 20)} MiB`
  return { what: 'workers', ok: true, detail: `${serve}; this machine has ${pluralize(machine.cores, 'core')} and ${memory}` }
}

function checkDataDirectory({ store }: GatewayConfig): HealthCheck {
  const place = resolve(store.dataDir)
  const existingFolder = findExistingFolder(place)
  try {
    accessSync(existingFolder, constants.W_OK)
    return { what: 'data directory', ok: true, detail: place }
  } catch {
    return {
      what: 'data directory',
      ok: false,
      detail: `${existingFolder} cannot be written by this user; set DATA_DIR or change its owner`,
    }
  }
}

/** A start repairs it; a running server does not, and a node with `store.url` has no such file. */
function checkSecret({ store }: GatewayConfig): HealthCheck[] {
  const { secret } = new DataFolder(store.dataDir)
  if (store.url !== null || !existsSync(secret)) return []
  const mode = findOpenMode(secret)
  return mode === null
    ? [{ what: 'secret', ok: true, detail: `${secret} is readable by its owner alone` }]
    : [{ what: 'secret', ok: false, detail: `${secret} can be read by other users (mode ${mode}); run: chmod 600 ${secret}` }]
}

/** The folder itself, or its nearest existing parent: the start creates the rest. */
function findExistingFolder(place: string): string {
  return existsSync(place) || dirname(place) === place ? place : findExistingFolder(dirname(place))
}

const minFreeBytes = 512 * 1024 * 1024

function checkDisk({ store }: GatewayConfig): HealthCheck {
  const place = resolve(store.dataDir)
  const { bavail, bsize } = statfsSync(findExistingFolder(place))
  const free = bavail * bsize
  return {
    what: 'disk',
    ok: free >= minFreeBytes,
    detail: `${Math.floor(free / 1024 / 1024)} MiB free${free >= minFreeBytes ? '' : ': make room; the ledger stops when it cannot write'}`,
  }
}

async function checkLedger(config: GatewayConfig): Promise<HealthCheck[]> {
  const folder = new DataFolder(config.store.dataDir)
  if (config.store.url === null && !folder.hasDatabase() && !folder.hadInstallation())
    return [{ what: 'ledger', ok: true, detail: `none yet; the first start makes one in ${folder.path}` }]
  return verifyLedger(config, folder).catch((error: unknown) => [
    error instanceof MissingInstallationError
      ? { what: 'ledger', ok: true, detail: 'none yet; the first start makes one in the database of STORE_URL' }
      : { what: 'ledger', ok: false, detail: describeError(error) },
  ])
}

async function verifyLedger(config: GatewayConfig, folder: DataFolder): Promise<HealthCheck[]> {
  if (config.store.url === null && folder.hasDatabase() && isOlder(readLayout(folder.database)))
    return [
      {
        what: 'ledger',
        ok: true,
        detail: 'not verified: the database has the layout of an older version; the next start keeps a copy and changes it',
      },
    ]
  return withInstallation(async ({ store }) => {
    const { ok, accounts, turns, mismatches } = await verifyBooks(store)
    const pendingCount = await store.ledger.countPendingSettlements()
    const detail = ok
      ? `adds up (${pluralize(accounts, 'account')}, ${pluralize(turns, 'turn')})`
      : `${pluralize(mismatches.length, 'mismatch', 'mismatches')}; run: svc-gateway ledger verify`
    const ledgerFinding = {
      what: 'ledger',
      ok,
      detail: pendingCount === 0 ? detail : `${detail}. ${describePendingSettlements(pendingCount)}`,
    }
    const missingPlans = await describeMissingPlans(store.accounts, config)
    return [
      ledgerFinding,
      ...missingPlans.map((detail) => ({ what: 'plans', ok: false, detail })),
      ...(await checkOrders(store.orders)),
      ...(await checkDeletions(store.accountDeletions)),
      ...(await checkIdentities(store)),
      ...checkPromptReports(await store.ledger.turns({ state: 'settled', limit: maxReadTurns })),
    ]
  })
}

const maxListedAccounts = 20

/** Before 0.2 a second person of a provider could enter an account, and both still can. */
async function checkIdentities({ providerIdentities, accounts }: Installation['store']): Promise<HealthCheck[]> {
  const several = await providerIdentities.listSeveral(maxListedAccounts + 1)
  return Promise.all(
    several.map(async ({ provider, account }, index): Promise<HealthCheck> => {
      const what = 'identities'
      if (index === maxListedAccounts) return { what, ok: false, detail: 'further accounts have several too' }
      const name = (await accounts.find(account))?.email ?? account
      return {
        what,
        ok: false,
        detail: `${name} is linked to several identities of ${provider}, which may be different people; run: svc-gateway account unlink-provider --account ${name} ${provider}`,
      }
    }),
  )
}

/** Links in emails, on pages and to images are built from these origins, so other machines must reach them. */
function checkAddresses({ listen }: GatewayConfig): HealthCheck {
  const { siteUrl, host, trustedProxies } = listen
  const what = 'address'
  const isLocal = isLoopbackHost(host)
  if (siteUrl === null && trustedProxies.length > 0)
    return {
      what,
      ok: false,
      detail: `TRUSTED_PROXIES is set and SITE_URL is not: links and emails name ${host}, and cookies have no Secure; set SITE_URL=https://…`,
    }
  if (siteUrl === null) {
    return isLocal
      ? { what, ok: true, detail: 'this machine only; set SITE_URL (and HOST) to be reached from others' }
      : { what, ok: false, detail: `listens on ${host}, but links name no address that others can reach: set SITE_URL` }
  }
  if (siteUrl.startsWith('http:') && !isLoopbackHost(new URL(siteUrl).hostname))
    return { what, ok: false, detail: `${siteUrl} is plain http: passwords and keys go in the clear; use https` }
  return { what, ok: true, detail: siteUrl }
}

/** A certificate should be renewed this many days before it expires. */
const minCertificateDays = 14

function checkCertificate({ listen: { tls } }: GatewayConfig): HealthCheck[] {
  if (tls === null) return []
  const what = 'certificate'
  try {
    const certificate = new X509Certificate(readFileSync(tls.cert))
    if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(tls.key))))
      return [{ what, ok: false, detail: `${tls.key} is not the key of ${tls.cert}` }]
    const days = Math.floor((certificate.validToDate.getTime() - systemClock.now()) / dayMs)
    if (days < 0) return [{ what, ok: false, detail: `${tls.cert} ended on ${certificate.validTo}; renew it` }]
    return [
      {
        what,
        ok: days >= minCertificateDays,
        detail: `${tls.cert} is good for ${pluralize(days, 'day')}${days < minCertificateDays ? '; renew it' : ''}`,
      },
    ]
  } catch (error) {
    return [{ what, ok: false, detail: `${tls.cert} and ${tls.key} cannot be used: ${describeError(error)}` }]
  }
}

/** One request, as the gateway would send it. */
async function checkLimits({ limits: { url }, brand }: GatewayConfig): Promise<HealthCheck[]> {
  if (url === null) return []
  const what = 'limits'
  const { host } = new URL(url)
  try {
    const rateLimitStore = await loadValkeyStore(url, brand.slug)
    const startedMs = systemClock.monotonicMs()
    await rateLimitStore.consume(probe).finally(() => rateLimitStore.close())
    const durationMs = (systemClock.monotonicMs() - startedMs).toFixed(1)
    return [
      {
        what,
        ok: true,
        detail: `${host} answers in ${durationMs} ms; requests a minute are counted there, for all nodes together`,
      },
    ]
  } catch (error) {
    const detail = `${host} cannot be used (${describeError(error)}); check LIMITS_URL. Until it can, each node allows its share of each limit`
    return [{ what, ok: false, detail }]
  }
}

/** Whether programs can name the address of a document that describes them, which this service must be able to read. */
async function checkClientDocuments({
  oauth: { clientIdDocuments: mode, internetProbeUrl },
}: GatewayConfig): Promise<HealthCheck[]> {
  const what = 'programs'
  if (mode === 'off') return [{ what, ok: true, detail: 'client id documents are off: programs register themselves' }]
  const fault = await findInternetFault(internetProbeUrl, systemClock)
  if (fault === null) return [{ what, ok: true, detail: `client id documents can be read: ${internetProbeUrl} answers` }]
  const reason = `${internetProbeUrl} cannot be reached from here (${describeError(fault)})`
  return mode === 'auto'
    ? [{ what, ok: true, detail: `client id documents are not announced: ${reason}; programs register themselves` }]
    : [
        {
          what,
          ok: false,
          detail: `client id documents are announced but cannot be read: ${reason}; set oauth.clientIdDocuments to 'off'`,
        },
      ]
}

/** Products whose target needs a model name and has none: they are not listed and cannot be used. */
function checkUnservedProducts({ products, search: { backend } }: GatewayConfig): HealthCheck[] {
  const missingModels = Object.entries(products).flatMap(([id, { targets, capabilities }]) => {
    const findsByItself = capabilities.includes('search') && backend !== 'upstream'
    const usable = capabilities.includes('chat') || findsByItself || targets.some(({ model }) => model !== null)
    if (usable) return []
    const variable = (['image', 'search'] as const).find((kind) => capabilities.includes(kind))
    return variable === undefined ? [id] : [`${id} (UPSTREAM_MODEL_${variable.toUpperCase()})`]
  })
  if (missingModels.length === 0) return []
  return [{ what: 'products', ok: true, detail: `not sold until its upstream model is named: ${missingModels.join(', ')}` }]
}

async function checkSearch({ search: { backend, searxngUrl } }: GatewayConfig): Promise<HealthCheck[]> {
  if (backend !== 'searxng' || searxngUrl === null) return []
  const what = 'search'
  try {
    const { statusCode, headers, body } = await request(`${searxngUrl}/search?q=test&format=json`, {
      signal: systemClock.deadline(timeoutMs),
    })
    await body.dump()
    const isJson = String(headers['content-type']).includes('json')
    if (statusCode === 403 || (statusCode === 200 && !isJson))
      return [
        {
          what,
          ok: false,
          detail: `${searxngUrl} gives no JSON (HTTP ${statusCode}): set formats: [html, json] in its settings`,
        },
      ]
    return [{ what, ok: statusCode === 200, detail: `${searxngUrl} answers HTTP ${statusCode}` }]
  } catch (error) {
    return [{ what, ok: false, detail: `${searxngUrl} cannot be reached (${describeError(error)}); check search.searxngUrl` }]
  }
}
