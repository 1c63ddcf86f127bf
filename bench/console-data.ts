/**
 * `node bench/console-data.ts [--turns 10000000] [--accounts 50000] [--store sqlite,postgres] [--repeats 20] [--folder DIR] [--pairs 0]`:
 * makes ended turns with lists and sums in bulk, starts the gateway on them, and measures each list, search and chart of console and operator
 * API over HTTP. Prints a Markdown table; exits with 1 where one takes longer than 300 ms (p95). `--pairs 5` then sends turns by the clock
 * (`--rate 500`), each time with and without a reader who opens one page after another, and prints the ratios of their p99.
 * `--folder` keeps SQLite's data for the next run, and `--only` measures the reads whose name has this text. 10 million turns need 4 GiB
 * (SQLite) and 10 GiB (PostgreSQL) in the temporary folder, and half as much again while they are made.
 * Up to 100,000 turns are afterwards collected by the job of the server, and compared with what was made in bulk.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Sqlite from 'better-sqlite3'
import { Client } from 'pg'
import { Agent } from 'undici'
import { createCalendar } from '../src/domain/billing/period.ts'
import { hashToken } from '../src/domain/identity/api-key.ts'
import { mintToken } from '../src/domain/identity/session.ts'
import type { Store } from '../src/domain/store.ts'
import { TurnHistoryService } from '../src/domain/services/operators/turn-history-service.ts'
import { openLedger } from '../src/store/postgres/open-ledger.ts'
import { openPostgresStore } from '../src/store/postgres/open.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { createClock } from '../src/system/clock.ts'
import { createRandom } from '../test/simulated/random.ts'
import { AccountSeeder } from '../test/support/cluster/account-seeder.ts'
import { startPostgresServer } from '../test/support/servers/postgres/postgres.ts'
import { createTemporaryFolder } from '../test/support/temporary-folder.ts'
import { ProgramScope } from './cluster/program-scope.ts'
import { listHistoryStatements } from './console-data/make-history.ts'
import type { HistorySize } from './console-data/make-history.ts'
import { listReads } from './console-data/reads.ts'
import { runOpenLoop } from './run/load/open-loop.ts'
import { computeSpread, quantile } from './run/report/statistics.ts'
import { addAccounts } from './run/subjects/accounts.ts'
import type { Subject } from './run/subjects/subject.ts'
import { upstreamModels } from './run/subjects/subject.ts'
import { startGateway, startUpstream } from './support/processes.ts'
import type { GatewayProgram, GatewayVariant } from './support/processes.ts'

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000000' },
    accounts: { type: 'string', default: '50000' },
    store: { type: 'string', default: 'sqlite,postgres' },
    repeats: { type: 'string', default: '20' },
    folder: { type: 'string' },
    pairs: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '20' },
    rate: { type: 'string', default: '500' },
    only: { type: 'string', default: '' },
  },
})
const [turns, accounts, repeats, pairs, seconds, rate] = [
  values.turns,
  values.accounts,
  values.repeats,
  values.pairs,
  values.seconds,
  values.rate,
].map(Number) as [number, number, number, number, number, number]

const maxP95Ms = 300
const dayMs = 86_400_000
const days = 60
const maxCheckedTurns = 100_000
const loadAccounts = 2_000
/** An operator who never stops to read. */
const readerPauseMs = 200
const clock = createClock({})
const scope = new ProgramScope()
let isSlow = false
try {
  for (const kind of values.store.split(',')) await (kind === 'sqlite' ? measureSqlite() : measurePostgres())
} finally {
  await scope.close()
}
process.exitCode = isSlow ? 1 : 0

/** The data ends today, because the server prunes by its own clock. */
function createSize(end: number): HistorySize {
  return { turns, accounts, begin: end - days * dayMs, end }
}

async function measureSqlite(): Promise<void> {
  const folder = values.folder ?? createTemporaryFolder(scope, tmpdir())
  const file = join(folder, 'gateway.db')
  const keyFile = join(folder, 'first-key')
  const env = { DATA_DIR: folder }
  if (!existsSync(keyFile)) {
    mkdirSync(folder, { recursive: true })
    const upstream = await startUpstream()
    const first = await startGateway(upstream.url, { env })
    await first.stop()
    await upstream.stop()
    const db = new Sqlite(file)
    db.pragma('synchronous = off')
    db.pragma('cache_size = -1000000')
    db.pragma('foreign_keys = off')
    for (const statement of listHistoryStatements('sqlite', createSize(clock.now() - (clock.now() % dayMs))))
      logTime(statement, () => void db.exec(statement))
    db.pragma('wal_checkpoint(truncate)')
    db.close()
    writeFileSync(keyFile, first.key)
  }
  console.error(`${(statSync(file).size / 2 ** 30).toFixed(1)} GiB`)
  const size = createSize(
    Number(new Sqlite(file, { readonly: true }).prepare('select complete_at from turn_history').pluck().get()),
  )
  const open = () => openSqliteStore({ file, process: { id: `bench-${Math.random()}`, pid: process.pid }, clock })
  await withStore(open, async (store) => {
    if (turns <= maxCheckedTurns)
      await checkHistory(store, size, (statement) => {
        const db = new Sqlite(file)
        try {
          const prepared = db.prepare(statement)
          return Promise.resolve(prepared.reader ? prepared.raw().all() : [prepared.run().changes])
        } finally {
          db.close()
        }
      })
  })
  const cookie = await withStore(open, openConsole)
  const { gateway, upstream } = await startMeasured({ env, joinsCluster: true })
  await measureReads('SQLite', gateway, cookie, size)
  if (pairs > 0) {
    const loadKeys = join(folder, 'load-keys')
    if (!existsSync(loadKeys))
      writeFileSync(loadKeys, JSON.stringify(addAccounts(file, readFileSync(keyFile, 'utf8'), loadAccounts)))
    await measureLoad(gateway, cookie, size, JSON.parse(readFileSync(loadKeys, 'utf8')) as readonly string[])
  }
  await gateway.stop()
  await upstream.stop()
}

async function measurePostgres(): Promise<void> {
  const open = (url: string) =>
    openPostgresStore({ url, process: { id: `bench-${Math.random()}`, version: '1.0.0' }, clock, ledger: openLedger })
  const server = await startPostgresServer(scope, async (url) => (await open(url)).close(), { within: tmpdir() })
  if (server === undefined) throw new Error('PostgreSQL is not installed')
  const url = await server.createDatabase(scope)
  const client = new Client({ connectionString: url })
  // The statement that runs meanwhile fails by itself.
  client.on('error', () => undefined)
  await client.connect()
  const size = createSize(clock.now() - (clock.now() % dayMs))
  await client.query(`set work_mem = '512MB'; set maintenance_work_mem = '1GB'; set session_replication_role = 'replica'`)
  for (const statement of listHistoryStatements('postgres', size)) await logTime(statement, () => client.query(statement))
  await logTime('vacuum analyze', () => client.query('vacuum analyze'))
  const { rows } = await client.query('select pg_database_size(current_database()) as bytes')
  console.error(`${(Number(rows[0].bytes) / 2 ** 30).toFixed(1)} GiB`)
  await withStore(
    () => open(url),
    async (store) => {
      if (turns <= maxCheckedTurns)
        await checkHistory(store, size, async (text) => (await client.query({ text, rowMode: 'array' })).rows)
    },
  )
  await client.end()
  const cookie = await withStore(() => open(url), openConsole)
  const folder = createTemporaryFolder(scope, tmpdir())
  const { gateway, upstream } = await startMeasured({
    // Emails of several nodes need a mail server, and none is sent.
    env: { DATA_DIR: folder, STORE_URL: url, SMTP_URL: 'smtp://127.0.0.1:9' },
    joinsCluster: true,
  })
  await measureReads('PostgreSQL', gateway, cookie, size)
  if (pairs > 0) {
    const seeder = await AccountSeeder.open(scope, url)
    const keys: string[] = []
    while (keys.length < loadAccounts) keys.push((await seeder.createMember('max')).key.token)
    await measureLoad(gateway, cookie, size, keys)
  }
  await gateway.stop()
  await upstream.stop()
}

async function startMeasured(variant: GatewayVariant) {
  const upstream = await startUpstream()
  scope.teardown(() => upstream.stop())
  const gateway = await startGateway(upstream.url, variant)
  scope.teardown(() => gateway.stop())
  return { gateway, upstream }
}

async function withStore<Result>(open: () => Promise<Store>, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await open()
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Returns the cookie of a console that a shell opened. */
async function openConsole(store: Store): Promise<string> {
  const token = mintToken(randomBytes)
  const now = clock.now()
  await store.operators.createSession({
    account: null,
    session: null,
    systemUser: 'bench',
    id: `ops_${now}`,
    hash: hashToken(token),
    address: null,
    client: null,
    verifiedAt: now,
    createdAt: now,
    expiresAt: now + dayMs,
  })
  return `svc_operator_session=${token}`
}

/** Empties lists and sums, has the collector make them anew, and compares. Groups may have other numbers. */
async function checkHistory(
  store: Store,
  { end }: HistorySize,
  query: (statement: string) => Promise<readonly unknown[]>,
): Promise<void> {
  const read = async () => ({
    turns: await query(`select s.id, s.account, s.seq, s.started_at, s.credential, s.request_id, g.product, g.target, g.ending,
      g.plan
      from turn_search as s join turn_group as g on g.id = s.group_id order by s.id`),
    sums: await query(`select s.account, s.span, s.starts_at, s.credential, g.product, g.target, g.ending, g.plan, s.turns, s.credits,
      s.input_tokens, s.cached_input_tokens, s.output_tokens, s.cost_nanodollars, s.duration, s.first_token
      from turn_sum as s join turn_group as g on g.id = s.group_id
      order by s.account, s.span, s.starts_at, s.credential, g.product, g.target, g.ending, g.plan`),
  })
  const made = await read()
  for (const table of ['turn_search', 'turn_sum', 'turn_group', 'turn_history_block', 'turn_history_pending'])
    await query(`delete from ${table}`)
  await query('update turn_history set version = 0, newest_turn = 0, kept_from = 0, complete_at = null')
  const history = new TurnHistoryService({ store, clock, historyCalendar: createCalendar('UTC') })
  const pacing = {
    clock: { monotonicMs: () => clock.monotonicMs(), wait: () => Promise.resolve() },
    signal: new AbortController().signal,
  }
  await history.collect(days + 2, pacing)
  await query(`update turn_history set complete_at = ${end}`)
  const collected = await read()
  for (const name of ['turns', 'sums'] as const) {
    const [one, other] = [made[name], collected[name]]
    const differing = one.findIndex((row, index) => JSON.stringify(row) !== JSON.stringify(other[index]))
    if (one.length !== other.length || differing !== -1)
      throw new Error(
        `the collector writes other ${name}: ${one.length} and ${other.length} rows, ${JSON.stringify([one[differing], other[differing]])}`,
      )
    console.error(`${one.length} rows of ${name} are as the collector writes them`)
  }
}

async function measureReads(name: string, gateway: GatewayProgram, cookie: string, size: HistorySize): Promise<void> {
  console.log(`\n${name}, ${turns} turns of ${accounts} accounts\n`)
  console.log('| Read | p50 ms | p95 ms | KB | |\n|---|--:|--:|--:|---|')
  for (const [title, createPath] of Object.entries(listReads(size, createRandom(1)))) {
    if (!title.includes(values.only)) continue
    const times: number[] = []
    let bytes = 0
    for (let repeat = 0; repeat <= repeats; repeat += 1) {
      const path = createPath()
      const started = performance.now()
      const response = await fetch(gateway.url + path, { headers: { cookie } })
      const body = await response.arrayBuffer()
      // The first one opens what the later ones find open.
      if (repeat > 0) times.push(performance.now() - started)
      bytes = Math.max(bytes, body.byteLength)
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${Buffer.from(body).toString().slice(0, 300)}`)
    }
    const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)]
    const isOver = p95 > maxP95Ms
    isSlow ||= isOver
    console.log(
      `| ${title} | ${p50.toFixed(1)} | ${p95.toFixed(1)} | ${(bytes / 1000).toFixed(0)} | ${isOver ? 'too slow' : ''} |`,
    )
  }
}

/** Turns by the clock, in pairs with and without a reader, in alternating order. */
async function measureLoad(gateway: GatewayProgram, cookie: string, size: HistorySize, keys: readonly string[]): Promise<void> {
  const subject: Subject = {
    name: 'svc-gateway',
    url: `${gateway.url}/v1/chat/completions`,
    models: { ...upstreamModels, whole: 'svc-2.1-fast' },
    headers: {},
    keys,
    pid: gateway.pid,
    stop: () => Promise.resolve(),
  }
  const dispatcher = new Agent({ connections: 256 })
  let sent = 0
  const run = async (forSeconds: number, isRead: boolean) => {
    const end = new AbortController()
    const reader = isRead ? readOn(gateway, cookie, size, end.signal) : Promise.resolve(0)
    const { latenciesMs, sendDelaysMs, failed } = await runOpenLoop(subject, rate, forSeconds, sent, dispatcher)
    sent += rate * forSeconds
    end.abort()
    const opened = await reader
    if (failed > 0) console.error(`${failed} turns failed`)
    return { p50: quantile(latenciesMs, 0.5), p99: quantile(latenciesMs, 0.99), late: quantile(sendDelaysMs, 0.99), opened }
  }
  await run(20, true)
  const ratios: number[] = []
  console.log(`\n${rate} turns a second for ${seconds} s, without and with a reader\n`)
  console.log(
    '| Pair | p50 ms | p99 ms | p50 ms, reader | p99 ms, reader | pages read | sent late, p99 ms |\n|--:|--:|--:|--:|--:|--:|--:|',
  )
  for (let pair = 1; pair <= pairs; pair += 1) {
    const order = pair % 2 === 1 ? [false, true] : [true, false]
    const [one, other] = [await run(seconds, order[0] === true), await run(seconds, order[1] === true)]
    const [alone, read] = order[0] === true ? [other, one] : [one, other]
    ratios.push(read.p99 / alone.p99)
    console.log(
      `| ${pair} | ${[alone.p50, alone.p99, read.p50, read.p99].map((ms) => ms.toFixed(1)).join(' | ')} | ${read.opened} | ${Math.max(alone.late, read.late).toFixed(1)} |`,
    )
  }
  const { median, min, max } = computeSpread(ratios)
  console.log(`\np99 with a reader, against without: median ${median.toFixed(2)}, ${min.toFixed(2)} to ${max.toFixed(2)}`)
  await dispatcher.close()
}

/** Opens one page after another beside the live figures of the first one. Returns how many. */
async function readOn(gateway: GatewayProgram, cookie: string, size: HistorySize, signal: AbortSignal): Promise<number> {
  const live = fetch(`${gateway.url}/operator/live`, { headers: { cookie }, signal })
    .then((response) => response.text())
    .catch(() => undefined)
  const reads = Object.values(listReads(size, createRandom(2)))
  let opened = 0
  while (!signal.aborted) {
    const path = reads[opened % reads.length]?.() ?? ''
    await (await fetch(gateway.url + path, { headers: { cookie } })).arrayBuffer()
    opened += 1
    await pause(readerPauseMs)
  }
  await live
  return opened
}

function logTime<Result>(what: string, work: () => Result): Result {
  const started = performance.now()
  const log = (): void => {
    const took = (performance.now() - started) / 1000
    if (took > 1) console.error(`${what.replaceAll(/\s+/g, ' ').slice(0, 60)}: ${took.toFixed(1)} s`)
  }
  const result = work()
  if (result instanceof Promise) return result.finally(log) as Result
  log()
  return result
}
