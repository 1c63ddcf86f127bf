/** Measures what each failure costs members under load, and whether the ledger is consistent after it. */
import { setTimeout as pause } from 'node:timers/promises'
import { checkAccounting, LoadGenerator, measureRecoveryMs } from '../../test/support/cluster/cluster-load.ts'
import type { LoadRequest, AccountingCheck } from '../../test/support/cluster/cluster-load.ts'
import type { Cluster, ClusterNode } from '../../test/support/cluster/cluster.ts'
import { startCluster } from '../../test/support/cluster/cluster.ts'
import { AccountSeeder } from '../../test/support/cluster/account-seeder.ts'
import { startPgBouncer } from '../../test/support/proxies/pgbouncer.ts'
import type { TestScope } from '../../test/support/test-scope.ts'

export interface FaultFigures extends AccountingCheck {
  readonly name: string
  readonly requests: number
  readonly failed: number
  readonly recoveryMs: number
  /** Time until every hold of the dead node was released. */
  readonly holdsMs: number | null
  readonly mismatches: number
  /** The error codes of failed requests, with their counts. */
  readonly failures: Readonly<Record<string, number>>
}

export const unlimitedConfig = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000_000 },
  plans: Object.fromEntries(Object.entries(base.plans).map(([id, plan]) => [id, { ...plan, rpm: 1_000_000_000, concurrency: 100_000,
    pools: { fast: { day: 1e12, week: 1e12, month: 1e12 }, premium: { day: 1e12, week: 1e12, month: 1e12 } } }])) }`
const clients = 24
const members = 12

interface Fault {
  readonly name: string
  /** Causes the failure and returns the time from which recovery counts. */
  readonly inject: () => Promise<number>
  /** Restores the previous state. */
  readonly repair?: () => Promise<void>
  readonly leavesHolds?: boolean
}

export async function measureFaults(
  t: TestScope,
  only: string | undefined,
  print: (line: string) => void,
): Promise<FaultFigures[]> {
  const cluster = await startCluster(t, { config: unlimitedConfig, withStandby: true })
  if (cluster === undefined) throw new Error('no cluster')
  cluster.demo.script(() => ({ tokens: 3, headMs: 20 }))
  const seeder = await AccountSeeder.open(t, cluster.storeUrl)
  const keys: string[] = []
  for (let nth = 0; nth < members; nth += 1) keys.push((await seeder.createMember('max')).key.token)
  const requests: LoadRequest[] = []
  const figures: FaultFigures[] = []
  for (const fault of createFaults(t, cluster).filter(({ name }) => only === undefined || name.includes(only))) {
    print(fault.name)
    figures.push(await measureFault(t, cluster, seeder, keys, fault, requests, print))
    print(JSON.stringify(figures.at(-1)))
  }
  return figures
}

function createFaults(t: TestScope, { nodes, postgres, standby, valkey, storeUrl }: Cluster): readonly Fault[] {
  const [node] = nodes as [ClusterNode]
  const ways = nodes.flatMap((each) => each.databaseProxies)
  return [
    { name: 'nothing', inject: async () => performance.now() },
    {
      name: 'a node killed',
      inject: () => runFromNow(() => node.kill()),
      repair: () => node.start(),
      leavesHolds: true,
    },
    {
      name: 'answers of the database cut after commits, 10 s',
      async inject() {
        const until = performance.now() + 10_000
        while (performance.now() < until) {
          await pause(150)
          await Promise.all(ways.map((way) => way.dropConnections(10)))
        }
        return performance.now()
      },
    },
    {
      name: 'a node cut off from the database, 12 s',
      async inject() {
        node.cutDatabase()
        const from = performance.now()
        await pause(12_000)
        // As after a timeout: packets in flight are lost.
        node.cutDatabase(false)
        for (const way of node.databaseProxies) await way.dropConnections(0)
        return from
      },
      async repair() {
        while (!(await node.isReady())) await pause(50)
      },
    },
    {
      name: 'a pooler without prepared statements comes between, 10 s',
      async inject() {
        const [primary = '', ...others] = storeUrl.split(',')
        const database = others.at(-1)?.replace(/^[^/]*/, '') ?? ''
        const pooler = await startPgBouncer(t, {
          file: 'pgbouncer/transaction-mode.ini',
          storeUrl: primary + database,
          edit: (text) =>
            `${text.replace(/^max_prepared_statements.*$/m, '').replace(/^svc = /m, `${database.slice(1)} = `)}\nserver_round_robin = 1\n`,
        })
        if (pooler === undefined) throw new Error('PgBouncer is missing')
        const toPrimary = nodes.flatMap((each) => each.databaseProxies.slice(0, 1))
        const direct = toPrimary.map(({ target }) => target)
        const from = performance.now()
        await Promise.all(
          toPrimary.map((way) => {
            way.target = Number(new URL(pooler.storeUrl).port)
            return way.dropConnections(0)
          }),
        )
        await pause(10_000)
        for (const [index, way] of toPrimary.entries()) {
          way.target = direct[index] ?? way.target
          await way.dropConnections(0)
        }
        return from
      },
    },
    { name: 'Valkey killed', inject: () => runFromNow(() => valkey.kill()), repair: () => valkey.restart() },
    {
      name: 'the database crashed, and started a second later',
      async inject() {
        const from = await runFromNow(() => postgres.crash())
        await pause(1_000)
        await postgres.start()
        return from
      },
    },
    {
      name: 'the primary killed, its standby promoted a second later',
      async inject() {
        const from = await runFromNow(() => postgres.crash())
        await pause(1_000)
        await standby?.promote()
        return from
      },
    },
  ]
}

async function runFromNow(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return from
}

async function measureFault(
  t: TestScope,
  cluster: Cluster,
  seeder: AccountSeeder,
  keys: readonly string[],
  { name, inject, repair, leavesHolds = false }: Fault,
  requests: LoadRequest[],
  print: (line: string) => void,
): Promise<FaultFigures> {
  const load = new LoadGenerator(t, cluster.url, keys, clients)
  await waitUntil(() => load.requests.filter(({ outcome }) => outcome === 'settled').length >= 200)
  const beganAt = performance.now()
  const from = await inject()
  // Until no request has failed for two seconds, or the time is over.
  await waitUntil(() => {
    const now = performance.now()
    const late = load.requests.filter(({ endedAt }) => endedAt > now - 2_000)
    return now - from > 2_000 && late.length > 20 && late.every(({ outcome }) => outcome === 'settled')
  }, 60_000)
  let holdsMs: number | null = null
  if (leavesHolds) {
    // Turns are short: holds that remain from that time belong to the dead node.
    const then = Date.now() - (performance.now() - from)
    await waitUntil(async () => (await countOpenHolds(cluster, `and started_at < ${then.toFixed(0)}`)) === 0)
    holdsMs = performance.now() - from
  }
  const all = await load.stop()
  await repair?.()
  await waitUntil(async () => (await countOpenHolds(cluster)) === 0)
  requests.push(...all)
  const during = all.filter(({ endedAt }) => endedAt >= beganAt)
  const failed = during.filter(({ outcome }) => outcome !== 'settled')
  for (const { id, startedAt: began, endedAt, outcome, status, responseText } of failed.slice(0, 10)) {
    const [after, took] = [began - from, endedAt - began].map((ms) => `${(ms / 1_000).toFixed(2)} s`)
    print(`${outcome} ${status} ${id}: asked ${after} after, took ${took}: ${parseReason(responseText)}`)
  }
  for (const row of await cluster.query(
    `select id, owner_process as owner, request_id, started_at from turn where state = 'held'`,
  ))
    print(`still held: ${JSON.stringify(row)}`)
  const { mismatches } = await seeder.store.ledger.verify()
  return {
    name,
    requests: during.length,
    failed: failed.length,
    recoveryMs: Math.max(0, measureRecoveryMs(all, from)),
    holdsMs,
    mismatches: mismatches.length,
    failures: countBy(
      failed.map((each) => (each.outcome === 'broken' ? 'broken off' : `${each.status} ${parseReason(each.responseText)}`)),
    ),
    ...(await checkAccounting(cluster, requests)),
  }
}

function parseReason(said: string): string {
  return /"code":\s*"(\w+)"/.exec(said)?.[1] ?? said.slice(0, 60)
}

function countBy(all: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(all, (each) => each)].map(([each, those]) => [each, those.length]))
}

async function countOpenHolds({ query }: Cluster, also = ''): Promise<number> {
  const [row] = await query(`select count(*) as held from turn where state = 'held' ${also}`)
  return Number(row?.['held'])
}

async function waitUntil(condition: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await condition()) && performance.now() < end) await pause(20)
}
