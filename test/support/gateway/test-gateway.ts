/**
 * A whole gateway for a test: real SQLite in the test's own folder, real HTTP on loopback, and the fake upstream, which does what
 * the test scripts. At the end of the test everything is closed and verified: a test fails if its ledger is inconsistent or
 * an answer differs from `src/api`.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import base from '../../../gateway.config.ts'
import { checkConfig } from '../../../src/config/config.ts'
import type { GatewayConfig, GatewayInput } from '../../../src/config/config.ts'
import { openGateway } from '../../../src/server/serving-thread.ts'
import type { ServerOptions } from '../../../src/server/server.ts'
import type { Gateway } from '../../../src/server/serving-thread.ts'
import type { Turn } from '../../../src/domain/billing/ledger.ts'
import type { Services } from '../../../src/services/services.ts'
import { validateResponses } from './response-validator.ts'
import { getTemplateDatabase } from '../../runner/template-database.ts'
import { startFakeUpstream } from '../upstream/server.ts'
import type { FakeUpstream } from '../upstream/server.ts'
import { waitUntil } from '../wait-until.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import { openForReading } from '../../../src/store/sqlite/connection/connection.ts'
import { verifyDatabaseFile } from '../../../src/store/sqlite/maintenance/ledger-snapshot.ts'

export { createTemporaryFolder, waitUntil }

export interface TestGateway {
  readonly gateway: Gateway
  readonly url: string
  readonly services: Services
  readonly config: GatewayConfig
  /** The upstream behind it. `demo.script(() => ({ status: 500 }))` makes it fail; `demo.stats()` is its own count. */
  readonly demo: FakeUpstream
  /** Every log line so far, as it was written. */
  readonly log: readonly string[]
  /** Creates an account; the plan `max` has room for any test. */
  createAccount(plan?: string): Promise<{ readonly id: string; readonly email: string }>
  /** Creates an API key of the account. */
  createKey(account: string | { readonly id: string }): Promise<string>
  /** Creates an account with a key. */
  createMember(plan?: string): Promise<{ readonly id: string; readonly email: string; readonly token: string }>
  /** `POST /v1/chat/completions`, with a default message if `body` has none. */
  chat(token: string, body?: Record<string, unknown>, options?: ChatOptions): Promise<Response>
  /** The page that a metrics scraper reads. */
  scrapeMetrics(): Promise<string>
  /** The turn log, newest first. */
  listTurns(account?: string): Promise<readonly Turn[]>
  /** Waits until every hold is settled or refunded. */
  waitUntilSettled(): Promise<void>
  close(): Promise<void>
}

export interface ChatOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Parts of a configuration: objects are merged, all other values are replaced. */
export type Overrides<T = GatewayInput> = { readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : Overrides<T[K]> }

export type StartOptions = Pick<ServerOptions, 'clock' | 'random'> & {
  /** False where the test breaks the ledger on purpose. */
  readonly verify?: boolean
}

export async function startGateway(t: Test, overrides: Overrides = {}, options: StartOptions = {}): Promise<TestGateway> {
  const config = testConfig(t, overrides)
  const { dataDir } = config.store
  if (overrides.store?.dataDir === undefined) copyFileSync(await getTemplateDatabase(), join(dataDir, 'gateway.db'))
  const log: string[] = []
  let demo: FakeUpstream | null = null
  const gateway = await openGateway({
    config,
    logDestination: { write: (line) => void log.push(line) },
    startDemo: async (clock) => (demo = await startFakeUpstream({ scripted: true, clock })),
    ...pickDefined(options),
  })
  const { services } = gateway
  let accountCount = 0
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= gateway.close({ drainMs: 200 }))
  const validator = validateResponses(Number(new URL(gateway.url).port))
  t.teardown(async () => {
    await close()
    validator.stop()
    if (validator.violations.length > 0)
      throw new Error(`answers that are not as src/api says: ${validator.violations.join('\n')}`)
    if (options.verify === false) return
    const { mismatches } = verifyDatabaseFile(join(dataDir, 'gateway.db'))
    if (mismatches.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(mismatches)}`)
  })

  const self: TestGateway = {
    gateway,
    url: gateway.url,
    services,
    config,
    get demo() {
      if (demo === null) throw new Error('this gateway has another upstream; start one of your own')
      return demo
    },
    log,
    async createAccount(plan = 'max') {
      const at = services.clock.now()
      const email = `member-${++accountCount}@example.com`
      const id = services.ids.next('acc_', at)
      const account = await services.store.accounts.create({ id, email, plan, passwordHash: null, emailVerified: true, at })
      if (account === undefined) throw new Error(`${email} is taken`)
      return { id, email }
    },
    async createKey(account) {
      const id = typeof account === 'string' ? account : account.id
      return (await services.membership.apiKeys.createUnaudited(id, 'test', null))!.token
    },
    async createMember(plan) {
      const account = await self.createAccount(plan)
      return { ...account, token: await self.createKey(account) }
    },
    chat(token, body = {}, { headers = {}, signal } = {}) {
      return fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }], ...body }),
        ...(signal === undefined ? {} : { signal }),
      })
    },
    async scrapeMetrics() {
      const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })
      if (response.status !== 200) throw new Error(`no metrics: HTTP ${response.status}`)
      return response.text()
    },
    listTurns: (account) => services.ledger.turns({ limit: 1000, ...(account === undefined ? {} : { account }) }),
    waitUntilSettled: () => waitUntil(() => countOpenHolds(join(dataDir, 'gateway.db')) === 0, 'every hold to end'),
    close,
  }
  return self
}

/** A checked configuration for tests: the shipped one, on any free port, in the test's own folder, with `overrides`. */
export function testConfig(t: Test, overrides: Overrides = {}): GatewayConfig {
  const dataDir = overrides.store?.dataDir ?? createTemporaryFolder(t)
  const testDefaults = {
    listen: { host: '127.0.0.1', port: 0 },
    store: { dataDir },
    log: { level: 'info' },
    metrics: { token: 'scrape-me' },
    // A test's idle keep-alive connections must not delay the stop.
    timeouts: { drainNoticeMs: 50 },
    // A test's client sends more requests per minute than any real user.
    // Tests of limits expect a refusal at once; those of the wait set it.
    limits: { addressRpm: 1_000_000, concurrencyWaitMs: 0 },
    plans: { max: { rpm: 100_000, concurrency: 1_000 } },
    // Tests script one failure after another; the tests of resting targets set their own values.
    upstreams: { main: { restAfterFailures: 0, rejectedKeyRestMs: 0 } },
    search: { restAfterFailures: 0, rejectedKeyRestMs: 0 },
  }
  return checkConfig(mergeConfig(mergeConfig(base, testDefaults), overrides))
}

/** Immediate work takes less even on a busy machine; work that waits for a time limit takes longer. */
export const maxImmediateMs = 15_000

/** Reads the file directly, because each query of the turn log by state starts a thread. */
function countOpenHolds(file: string): unknown {
  const db = openForReading(file, maxImmediateMs)
  try {
    return db.prepare(`select count(*) from turn where state = 'held'`).pluck().get()
  } finally {
    db.close()
  }
}

function pickDefined({ clock, random }: StartOptions): Pick<ServerOptions, 'clock' | 'random'> {
  return { ...(clock === undefined ? {} : { clock }), ...(random === undefined ? {} : { random }) }
}

export function mergeConfig(defaults: unknown, overrides: unknown): unknown {
  if (!isPlainObject(defaults) || !isPlainObject(overrides)) return overrides === undefined ? defaults : overrides
  const all: Record<string, unknown> = { ...defaults }
  for (const [key, value] of Object.entries(overrides)) all[key] = mergeConfig(defaults[key], value)
  return all
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
