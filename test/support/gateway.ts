/**
 * A whole gateway for a test: real SQLite in a folder of the test's own, real HTTP on loopback, and the demonstration upstream, which
 * does what the test scripts. When the test ends everything is closed and the ledger is verified: no test passes on broken books, and none with
 * an answer that is not as `src/api` says.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import base from '../../gateway.config.ts'
import { checkConfig } from '../../src/config/config.ts'
import type { GatewayConfig, GatewayInput } from '../../src/config/config.ts'
import type { DemoUpstream } from '../../src/upstream/demo/upstream.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import type { Gateway, GatewayOptions } from '../../src/gateway/gateway.ts'
import type { Turn } from '../../src/membership/ledger.ts'
import type { Services } from '../../src/gateway/services.ts'
import { watchAnswers } from './answers.ts'
import { emptyDatabase } from './empty-database.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { openForReading } from '../../src/store/sqlite/connection.ts'
import { verifyFile } from '../../src/store/sqlite/verify-file.ts'

export { temporaryFolder }

export interface TestGateway {
  readonly gateway: Gateway
  readonly url: string
  readonly services: Services
  readonly config: GatewayConfig
  /** The upstream behind it. `demo.script(() => ({ status: 500 }))` makes it go wrong; `demo.stats()` is its own count. */
  readonly demo: DemoUpstream
  /** Every log line so far, as it was written. */
  readonly log: readonly string[]
  /** A new account; `max` has room for anything a test does in a moment. */
  account(plan?: string): Promise<{ readonly id: string; readonly email: string }>
  /** A new API key of it. */
  key(account: string | { readonly id: string }): Promise<string>
  /** Both at once. */
  member(plan?: string): Promise<{ readonly id: string; readonly email: string; readonly token: string }>
  /** `POST /v1/chat/completions` with a message of its own where `body` has none. */
  chat(token: string, body?: Record<string, unknown>, options?: ChatOptions): Promise<Response>
  /** What a scraper reads. */
  metrics(): Promise<string>
  /** The turn log, newest first. */
  turns(account?: string): Promise<readonly Turn[]>
  /** Until every hold has its ending. */
  settled(): Promise<void>
  close(): Promise<void>
}

export interface ChatOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Parts of a configuration: objects are merged, everything else takes the place of what stood there. */
export type Overrides<T = GatewayInput> = { readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : Overrides<T[K]> }

export type StartOptions = Pick<GatewayOptions, 'clock' | 'random'> & {
  /** False where the test breaks the books on purpose. */
  readonly verify?: boolean
}

export async function startGateway(t: Test, overrides: Overrides = {}, options: StartOptions = {}): Promise<TestGateway> {
  const config = testConfig(t, overrides)
  const { dataDir } = config.store
  if (overrides.store?.dataDir === undefined) copyFileSync(await emptyDatabase(), join(dataDir, 'gateway.db'))
  const log: string[] = []
  const gateway = await openGateway({ config, logTo: { write: (line) => void log.push(line) }, ...only(options) })
  const { services, demo } = gateway
  let made = 0
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= gateway.close({ drainMs: 200 }))
  const watch = watchAnswers(Number(new URL(gateway.url).port))
  t.teardown(async () => {
    await close()
    watch.stop()
    if (watch.faults.length > 0) throw new Error(`answers that are not as src/api says: ${watch.faults.join('\n')}`)
    if (options.verify === false) return
    const { mismatches } = verifyFile(join(dataDir, 'gateway.db'))
    if (mismatches.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(mismatches)}`)
  })

  const self: TestGateway = {
    gateway,
    url: gateway.url,
    services,
    config,
    get demo() {
      if (demo === null) throw new Error('this gateway has another upstream; start a demonstration of your own')
      return demo
    },
    log,
    async account(plan = 'max') {
      const at = services.clock.now()
      const email = `member-${++made}@example.com`
      const id = services.ids.next('acc_', at)
      const account = await services.store.accounts.create({ id, email, plan, passwordHash: null, emailVerified: true, at })
      if (account === undefined) throw new Error(`${email} is taken`)
      return { id, email }
    },
    async key(account) {
      const id = typeof account === 'string' ? account : account.id
      return (await services.membership.keys.mint(id, 'test', null))!.token
    },
    async member(plan) {
      const account = await self.account(plan)
      return { ...account, token: await self.key(account) }
    },
    chat(token, body = {}, { headers = {}, signal } = {}) {
      return fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }], ...body }),
        ...(signal === undefined ? {} : { signal }),
      })
    },
    async metrics() {
      const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })
      if (response.status !== 200) throw new Error(`no metrics: HTTP ${response.status}`)
      return response.text()
    },
    turns: (account) => services.ledger.turns({ limit: 1000, ...(account === undefined ? {} : { account }) }),
    settled: () => until(() => holdsIn(join(dataDir, 'gateway.db')) === 0, 'every hold to end'),
    close,
  }
  return self
}

/** A checked configuration for tests: the shipped one, on any free port, in a folder of the test's own, with `overrides`. */
export function testConfig(t: Test, overrides: Overrides = {}): GatewayConfig {
  const dataDir = overrides.store?.dataDir ?? temporaryFolder(t)
  const ground = {
    listen: { host: '127.0.0.1', port: 0 },
    store: { dataDir },
    log: { level: 'info' },
    demo: { scripted: true },
    metrics: { token: 'scrape-me' },
    // Kept connections of a test's clients have nothing more to say.
    timeouts: { noticeMs: 50 },
    // One client of a test makes more requests a minute than any person.
    limits: { addressRpm: 1_000_000 },
    plans: { max: { rpm: 100_000, concurrency: 1_000 } },
  }
  return checkConfig(merged(merged(base, ground), overrides))
}

/** How long a test waits for what should come: it goes on as soon as it is there, so only a failure takes as long. */
const patienceMs = 60_000

/** What is done at once takes less even where other programs have the processor; what waits for a time limit takes longer. */
export const atOnceMs = 15_000

/** Waits for something that no event tells, looking often, or each `everyMs` where a look costs; fails with its name after a minute. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, everyMs = 5): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${patienceMs} ms in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

/** Read from the file: the turn log, asked for a state, looks in a thread of its own, each time. */
function holdsIn(file: string): unknown {
  const db = openForReading(file, atOnceMs)
  try {
    return db.prepare(`select count(*) from turn where state = 'held'`).pluck().get()
  } finally {
    db.close()
  }
}

function only({ clock, random }: StartOptions): Pick<GatewayOptions, 'clock' | 'random'> {
  return { ...(clock === undefined ? {} : { clock }), ...(random === undefined ? {} : { random }) }
}

function merged(under: unknown, over: unknown): unknown {
  if (!isPlain(under) || !isPlain(over)) return over === undefined ? under : over
  const all: Record<string, unknown> = { ...under }
  for (const [key, value] of Object.entries(over)) all[key] = merged(under[key], value)
  return all
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
