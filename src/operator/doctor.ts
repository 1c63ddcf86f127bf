/** `svc-gateway doctor`: tries what a server needs here instead of believing the configuration, and says what to do about the rest. */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, resolve } from 'node:path'
import { request } from 'undici'
import { proof } from '../access/limits/book.ts'
import { openBook } from '../access/limits/open.ts'
import { loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { systemClock } from '../system/clock.ts'
import { DataFolder } from '../system/data-folder.ts'
import { isRecord } from '../exchange/chat-request.ts'
import { tryServer } from '../system/mail/mail-room.ts'
import { testMessage } from '../system/mail/messages.ts'
import type { Finding } from '../gateway/findings.ts'
import { workersFor } from '../gateway/workers/share.ts'
import { lostPlans } from '../membership/lost-plans.ts'
import { Upstreams } from '../upstream/upstreams.ts'
import type { Upstream } from '../upstream/upstreams.ts'
import { withInstallation } from './installation.ts'
import { owedSentence } from './ledger.ts'
import { sharedStore } from './doctor-store.ts'
import { counted, say, table } from './output.ts'
import type { Output, Said } from './output.ts'

/** Nothing here is waited for longer than this. */
const patienceMs = 10_000
const dayMs = 86_400_000

/** Prints a line for each thing looked at; exits with 1 where one of them would keep the server from its work. */
export async function doctor(options: Output & { sendTestMail?: string }): Promise<Said> {
  const config = await loadConfig()
  const findings = (
    await Promise.all([
      runtime(),
      workers(config),
      directory(config),
      disk(config),
      sharedStore(config),
      ledger(config),
      addresses(config),
      certificate(config),
      limits(config),
      upstreams(config),
      notSold(config),
      search(config),
      mail(config, options.sendTestMail),
      providers(config),
    ])
  ).flat()
  const ok = findings.every((finding) => finding.ok)
  const told = () =>
    table(
      ['', 'what', 'finding'],
      findings.map((finding) => [finding.ok ? 'ok' : '!!', finding.what, finding.detail]),
    )
  return say(options, { ok, findings }, told, ok)
}

function runtime(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return {
    what: 'runtime',
    ok: major >= 24,
    detail: `Node ${process.versions.node}${major >= 24 ? '' : ': install Node 24 or newer'}`,
  }
}

function workers(config: GatewayConfig): Finding {
  const [count, cores] = [workersFor(config), availableParallelism()]
  const serve = count === 1 ? 'one thread serves' : `${count} threads serve`
  return { what: 'workers', ok: true, detail: `${serve}; this machine has ${counted(cores, 'core')}` }
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

async function ledger(config: GatewayConfig): Promise<Finding[]> {
  const folder = new DataFolder(config.store.dataDir)
  if (config.store.url === null && !folder.hasDatabase() && !folder.hadInstallation())
    return [{ what: 'ledger', ok: true, detail: `none yet; the first start makes one in ${folder.path}` }]
  return withInstallation(async ({ store }) => {
    const { ok, accounts, turns, mismatches } = await store.ledger.verify()
    const owed = await store.ledger.owed()
    const detail = ok
      ? `adds up (${counted(accounts, 'account')}, ${counted(turns, 'turn')})`
      : `${counted(mismatches.length, 'mismatch', 'mismatches')}; run: svc-gateway ledger verify`
    const books = { what: 'ledger', ok, detail: owed === 0 ? detail : `${detail}. ${owedSentence(owed)}` }
    const lost = await lostPlans(store.accounts, config)
    return [books, ...lost.map((detail) => ({ what: 'plans', ok: false, detail }))]
  }).catch((error: unknown) => [{ what: 'ledger', ok: false, detail: reasonOf(error) }])
}

/** Links in letters, on pages and to images are made of these, so others must be able to follow them. */
function addresses({ listen }: GatewayConfig): Finding {
  const { siteUrl, host } = listen
  const what = 'address'
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.')
  if (siteUrl === null) {
    return isLocal
      ? { what, ok: true, detail: 'this machine only; set SITE_URL (and HOST) to be reached from others' }
      : { what, ok: false, detail: `listens on ${host}, but links name no address that others can reach: set SITE_URL` }
  }
  if (siteUrl.startsWith('http:') && !isLoopbackName(new URL(siteUrl).hostname))
    return { what, ok: false, detail: `${siteUrl} is plain http: passwords and keys go in the clear; use https` }
  return { what, ok: true, detail: siteUrl }
}

function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

/** Days before its end at which a certificate should have been renewed. */
const renewDays = 14

function certificate({ listen: { tls } }: GatewayConfig): Finding[] {
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
        ok: days >= renewDays,
        detail: `${tls.cert} is good for ${counted(days, 'day')}${days < renewDays ? '; renew it' : ''}`,
      },
    ]
  } catch (error) {
    return [{ what, ok: false, detail: `${tls.cert} and ${tls.key} cannot be used: ${reasonOf(error)}` }]
  }
}

async function upstreams(config: GatewayConfig): Promise<Finding[]> {
  const all = new Upstreams(config, null, () => 0)
  try {
    return await Promise.all([...all.all].map((upstream) => reach(upstream, modelsAskedOf(upstream.name, config))))
  } finally {
    await all.close()
  }
}

/** Asked once, as requests would. */
async function limits({ limits: { url }, brand }: GatewayConfig): Promise<Finding[]> {
  if (url === null) return []
  const what = 'limits'
  const { host } = new URL(url)
  try {
    const book = await openBook(url, brand.slug)
    const began = systemClock.ticks()
    await book.take(proof).finally(() => book.close())
    const took = (systemClock.ticks() - began).toFixed(1)
    return [
      { what, ok: true, detail: `${host} answers in ${took} ms; requests a minute are counted there, for all nodes together` },
    ]
  } catch (error) {
    const detail = `${host} cannot be used (${reasonOf(error)}); check LIMITS_URL. Until it can, each node allows its share of each limit`
    return [{ what, ok: false, detail }]
  }
}

function modelsAskedOf(name: string, { products }: GatewayConfig): ReadonlySet<string> {
  const targets = Object.values(products).flatMap((product) => product.targets)
  return new Set(targets.flatMap(({ upstream, model }) => (upstream === name && model !== null ? [model] : [])))
}

async function reach(
  { name, origin, basePath, headers, dispatcher, config }: Upstream,
  asked: ReadonlySet<string>,
): Promise<Finding> {
  const what = `upstream ${name}`
  if (config.baseUrl === 'demo')
    return { what, ok: true, detail: 'the built-in demonstration; set UPSTREAM_BASE_URL for a real one' }
  const place = `${origin}${basePath}`
  const ask = async (base: string): Promise<{ readonly statusCode: number; readonly text: string }> => {
    const { statusCode, body } = await request(`${base}/models`, {
      dispatcher,
      headers: { ...headers },
      signal: AbortSignal.timeout(patienceMs),
    })
    return { statusCode, text: await body.text() }
  }
  try {
    const { statusCode, text } = await ask(place)
    if (statusCode === 401 || statusCode === 403)
      return { what, ok: false, detail: `${origin} refuses the key (HTTP ${statusCode}); check UPSTREAM_API_KEY` }
    if (statusCode >= 500) return { what, ok: false, detail: `${origin} answers HTTP ${statusCode}` }
    const listed = statusCode === 200 ? modelIds(text) : null
    if (listed === null) {
      const meant = likelyBase(place)
      const there = await ask(meant).catch(() => null)
      if (there?.statusCode === 200 && modelIds(there.text) !== null)
        return { what, ok: false, detail: `its API is at ${meant}, not at ${place}; set UPSTREAM_BASE_URL to that` }
      return { what, ok: true, detail: `${place} answers, but lists no models (HTTP ${statusCode}): their names are not checked` }
    }
    const unknown = [...asked].filter((model) => !listed.has(model))
    if (unknown.length > 0)
      return {
        what,
        ok: false,
        detail: `${place} does not list ${unknown.map((id) => `'${id}'`).join(', ')}; it lists ${some(listed)}`,
      }
    return { what, ok: true, detail: `${place} answers and lists ${asked.size === 0 ? some(listed) : [...asked].join(', ')}` }
  } catch (error) {
    return { what, ok: false, detail: `${origin} cannot be reached (${reasonOf(error)}); check UPSTREAM_BASE_URL` }
  }
}

/** What an address was probably meant to be at which the API is not: it is named without its end, or with that of a chat. */
function likelyBase(place: string): string {
  const chat = '/chat/completions'
  return place.endsWith(chat) ? place.slice(0, -chat.length) : `${place}/v1`
}

function modelIds(text: string): ReadonlySet<string> | null {
  try {
    const list: unknown = JSON.parse(text)
    if (!isRecord(list) || !Array.isArray(list['data'])) return null
    return new Set(
      (list['data'] as unknown[]).flatMap((one) => (isRecord(one) && typeof one['id'] === 'string' ? [one['id']] : [])),
    )
  } catch {
    return null
  }
}

const shownAtMost = 5

function some(ids: ReadonlySet<string>): string {
  const shown = [...ids].slice(0, shownAtMost).join(', ')
  return ids.size > shownAtMost ? `${shown} and ${ids.size - shownAtMost} more` : shown || 'none'
}

/** Products whose target has no model, where one must be named: they are not listed, and nobody can buy them. */
function notSold({ products, search: { backend } }: GatewayConfig): Finding[] {
  const missing = Object.entries(products).flatMap(([id, { targets, capabilities }]) => {
    const findsByItself = capabilities.includes('search') && backend !== 'upstream'
    const usable = capabilities.includes('chat') || findsByItself || targets.some(({ model }) => model !== null)
    return usable ? [] : [`${id} (${capabilities.includes('image') ? 'UPSTREAM_MODEL_IMAGE' : 'UPSTREAM_MODEL_SEARCH'})`]
  })
  if (missing.length === 0) return []
  return [{ what: 'products', ok: true, detail: `not sold until its upstream model is named: ${missing.join(', ')}` }]
}

async function search({ search: { backend, searxngUrl } }: GatewayConfig): Promise<Finding[]> {
  if (backend !== 'searxng' || searxngUrl === null) return []
  const what = 'search'
  try {
    const { statusCode, headers, body } = await request(`${searxngUrl}/search?q=test&format=json`, {
      signal: AbortSignal.timeout(patienceMs),
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
    return [{ what, ok: false, detail: `${searxngUrl} cannot be reached (${reasonOf(error)}); check search.searxngUrl` }]
  }
}

/** Connects and signs in, as a letter would; and posts one where the operator names somebody. */
async function mail({ mail: { smtpUrl, from }, store, brand }: GatewayConfig, testAddress: string | undefined): Promise<Finding> {
  const what = 'mail'
  if (smtpUrl === null) {
    const detail = `no SMTP_URL: mail goes to ${resolve(store.dataDir, 'outbox')}`
    return { what, ok: testAddress === undefined, detail: testAddress === undefined ? detail : `${detail}, so none was sent` }
  }
  const { host } = new URL(smtpUrl)
  try {
    await tryServer(smtpUrl, from, testAddress === undefined ? null : { to: testAddress, ...testMessage(brand) })
    if (testAddress === undefined)
      return { what, ok: true, detail: `${host} takes our sign-in; try a letter: doctor --send-test-mail you@example.com` }
    return { what, ok: true, detail: `${host} took a letter from ${from} to ${testAddress}` }
  } catch (error) {
    return { what, ok: false, detail: `${host}: ${reasonOf(error)}; check SMTP_URL and MAIL_FROM` }
  }
}

/** As signing in begins: with what the provider says of itself. */
function providers({ signIn }: GatewayConfig): Promise<Finding[]> {
  return Promise.all(
    Object.entries(signIn.providers).map(async ([id, { issuer }]) => {
      const what = `sign-in ${id}`
      try {
        const { statusCode, body } = await request(`${issuer}/.well-known/openid-configuration`, {
          signal: AbortSignal.timeout(patienceMs),
        })
        const told: unknown = await body.json()
        if (statusCode !== 200) return { what, ok: false, detail: `${issuer} answers HTTP ${statusCode}` }
        const same = isRecord(told) && typeof told['issuer'] === 'string' && told['issuer'].replace(/\/+$/, '') === issuer
        return {
          what,
          ok: same,
          detail: same ? `${issuer} answers` : `${issuer} calls itself another issuer; write it as it does`,
        }
      } catch (error) {
        return { what, ok: false, detail: `${issuer} tells nothing of itself (${reasonOf(error)}); check its address` }
      }
    }),
  )
}

/** A library's own word for what went wrong, with the system's code where it hides that in a cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, cause } = error as Error & { code?: unknown }
  const deeper = cause instanceof Error ? (cause as Error & { code?: unknown }).code : undefined
  const word = typeof code === 'string' ? code : typeof deeper === 'string' ? deeper : ''
  return error.message.includes(word) ? error.message : `${error.message} (${word})`
}
