/** Background jobs: what a shutdown waits for, and how a lack of database connections is reported. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { checkSharedStore } from '../../../src/operator/commands/doctor/check-shared-store.ts'
import { BackgroundJobs } from '../../../src/server/background-jobs.ts'
import type { Services } from '../../../src/services/services.ts'
import { startGateway, testConfig, waitUntil } from '../../support/gateway/test-gateway.ts'
import { startPgBouncer } from '../../support/proxies/pgbouncer.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import { providePostgres } from '../../support/servers/postgres/postgres.ts'

t.test('aborts a long job at shutdown without logging a failure', async (t) => {
  const clock = new SimulatedClock()
  const begun: string[] = []
  const failed: unknown[] = []
  const untilAborted = (what: string, signal?: AbortSignal) => {
    begun.push(what)
    return new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const nothing = async () => 0
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  const jobs = new BackgroundJobs({
    clock,
    config: { backup: null, site: { status: false }, store: { keepTurnsForDays: 1 } },
    credentials: { flushLastUsed: nothing, pollChanges: nothing, pollIntervalMs: 1e9 },
    // Fails at the shutdown for a reason of its own, which is logged.
    images: { cleanUp: () => stopped.then(() => Promise.reject(new Error('no room'))) },
    ledger: {
      turns: async () => [],
      expire: nothing,
      pruneTurns: (_before: number, _limit: number, signal: AbortSignal) => untilAborted('forgetting', signal),
    },
    log: { warn() {}, error: (facts: unknown) => failed.push(facts) },
    membership: {
      boosts: { payInvites: nothing, deliverOverdue: nothing },
      usageAlerts: { sendDue: nothing },
      subscriptions: { advanceDue: nothing },
      purchaseMail: { recordDue: nothing, sendDue: nothing },
      deletions: { sweep: nothing },
      consoleSessions: { isOpen: async () => true },
      turnHistory: { collect: nothing },
      deleteExpired: nothing,
    },
    orders: null,
    telemetry: { recordLedgerCheck() {}, recordWaitingDeletions() {} },
    store: {
      cluster: null,
      audit: { list: async () => [] },
      accountDeletions: { summarize: async () => ({ count: 0, oldestRequestedAt: null }) },
      takenOutTargets: { list: async () => [] },
      ledger: { verify: (signal: AbortSignal) => untilAborted('verifying', signal) },
    },
    upstreams: { takenOut: { replace() {} } },
  } as unknown as Services)
  await clock.run(3_600_000)
  t.same(begun, ['forgetting', 'verifying'])
  const closed = jobs.close()
  stop()
  await closed
  t.match(failed, [{ job: 'clean up images', err: { message: 'no room' } }])
  t.equal(failed.length, 1)
})

t.test('a job that fails every two seconds is one line a minute, with the number of failures', async (t) => {
  const clock = new SimulatedClock()
  const lines: { job: string; failures: number }[] = []
  const nothing = async () => 0
  const full = () => Promise.reject(new Error('database or disk is full'))
  const jobs = new BackgroundJobs({
    clock,
    config: { backup: null, site: { status: false }, store: { keepTurnsForDays: 1 } },
    credentials: { flushLastUsed: full, pollChanges: nothing, pollIntervalMs: 1e9 },
    ledger: { turns: async () => [], expire: full },
    log: { warn() {}, error: (fields: { job: string; failures: number }) => void lines.push(fields) },
    membership: {
      boosts: { payInvites: full, deliverOverdue: nothing },
      usageAlerts: { sendDue: full },
      subscriptions: { advanceDue: full },
      purchaseMail: { recordDue: full, sendDue: full },
      deletions: { sweep: full },
      consoleSessions: { isOpen: async () => true },
      turnHistory: { collect: full },
      deleteExpired: full,
    },
    orders: null,
    telemetry: { recordWaitingDeletions() {} },
    store: {
      cluster: null,
      audit: { list: async () => [] },
      accountDeletions: { summarize: full },
      takenOutTargets: { list: full },
    },
  } as unknown as Services)
  await clock.run(60_000)
  await jobs.close()
  const listLines = (job: string) => lines.filter((line) => line.job === job).map(({ failures }) => failures)
  t.same([listLines('pay boosts'), listLines('end plans'), listLines('expire holds')], [[1], [1], [1]])
  t.same([...new Set(lines.map(({ job }) => job))].toSorted(), [
    'collect turns',
    'complete deletions',
    'count deletions',
    'end plans',
    'expire holds',
    'follow targets',
    'pay boosts',
    'send emails about purchases',
    'send usage alerts',
    'tidy membership',
    'write key uses',
  ])
})

t.test('a job that finds no free connection behind a pooler is in the notes of /readyz and in doctor', async (t) => {
  const postgres = await providePostgres(t, async () => {})
  if (postgres === undefined) return
  const storeUrl = await postgres.createDatabase(t, { empty: true })
  const pooler = await startPgBouncer(t, {
    file: 'pgbouncer/session-mode.ini',
    storeUrl,
    edit: (text) =>
      text.replace(/^default_pool_size.*$/m, 'default_pool_size = 11').replace(/^(query_wait_timeout).*$/m, '$1 = 1'),
  })
  if (pooler === undefined) return
  const mail = { smtpUrl: 'smtp://127.0.0.1:9' }
  const { url, services } = await startGateway(t, { store: { url: pooler.storeUrl }, mail }, { verify: false })
  const readNotes = async () => {
    const { notes = [] } = (await (await fetch(`${url}/readyz`)).json()) as { readonly notes?: readonly string[] }
    return notes.join('\n')
  }
  const doctor = (storeUrl: string) => checkSharedStore(testConfig(t, { store: { url: storeUrl }, mail, workers: 1 }))
  const noted = /^background jobs: no free connection for: [^\n]*verify the ledger[^\n]*; raise the pool size of the pooler/m

  const clients = await useUpPool(t, pooler.storeUrl)
  startJobs(t, services)
  await waitUntil(async () => noted.test(await readNotes()), 'the job to be noted')
  t.match(
    (await doctor(storeUrl)).find(({ what }) => what === 'background jobs'),
    { ok: false, detail: /verify the ledger/ },
  )
  t.match(await doctor(pooler.storeUrl), [{ what: 'database', ok: false, detail: /raise the pool size of the pooler/ }])

  await Promise.all(clients.map((client) => client.end()))
  startJobs(t, services)
  await waitUntil(async () => !(await readNotes()).includes('background jobs'), 'the note to end after a successful run')
  t.match(
    (await doctor(pooler.storeUrl)).find(({ what }) => what === 'background jobs'),
    { ok: true },
  )
})

/** Opens sessions until the pooler has no server connection left. */
async function useUpPool(t: Test, connectionString: string): Promise<readonly Client[]> {
  const clients: Client[] = []
  for (;;) {
    const client = new Client({ connectionString })
    client.on('error', () => undefined)
    await client.connect()
    const isFull = await client.query('select 1').then(
      () => false,
      () => true,
    )
    if (isFull) return clients
    clients.push(client)
    t.teardown(() => client.end())
  }
}

/** Starts each job once, an hour early. */
function startJobs(t: Test, services: Services): void {
  const clock = new SimulatedClock({ now: services.clock.now() })
  const jobs = new BackgroundJobs({ ...services, clock })
  t.teardown(() => jobs.close())
  clock.advance(3_600_000)
}
