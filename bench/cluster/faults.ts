/** What each failure costs members under load, and whether the books are right after it. */
import { setTimeout as pause } from 'node:timers/promises'
import { booksOf, Load, recoveryMs } from '../../test/support/cluster-load.ts'
import type { Asked, Books } from '../../test/support/cluster-load.ts'
import type { Cluster, ClusterNode } from '../../test/support/cluster.ts'
import { startCluster } from '../../test/support/cluster.ts'
import { Desk } from '../../test/support/desk.ts'
import type { Scope } from '../../test/support/scope.ts'

export interface FaultFigures extends Books {
  readonly what: string
  readonly asked: number
  readonly failed: number
  readonly recoveryMs: number
  /** Until nobody's hold was open any more that a dead node had. */
  readonly holdsMs: number | null
  readonly mismatches: number
  /** What those who failed were told, and how many of them. */
  readonly failures: Readonly<Record<string, number>>
}

export const ample = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000_000 },
  plans: Object.fromEntries(Object.entries(base.plans).map(([id, plan]) => [id, { ...plan, rpm: 1_000_000_000, concurrency: 100_000,
    pools: { fast: { day: 1e12, week: 1e12, month: 1e12 }, premium: { day: 1e12, week: 1e12, month: 1e12 } } }])) }`
const clients = 24
const members = 12

interface Fault {
  readonly what: string
  /** Does it, and gives the instant from which recovery counts. */
  readonly befall: () => Promise<number>
  /** As it was before. */
  readonly mend?: () => Promise<void>
  readonly leavesHolds?: boolean
}

export async function measureFaults(t: Scope, only: string | undefined, say: (line: string) => void): Promise<FaultFigures[]> {
  const cluster = await startCluster(t, { config: ample, withStandby: true })
  if (cluster === undefined) throw new Error('no cluster')
  cluster.demo.script(() => ({ tokens: 3, headMs: 20 }))
  const desk = await Desk.open(t, cluster.storeUrl)
  const keys: string[] = []
  for (let nth = 0; nth < members; nth += 1) keys.push((await desk.member('max')).key.token)
  const asked: Asked[] = []
  const figures: FaultFigures[] = []
  for (const fault of faultsOf(cluster).filter(({ what }) => only === undefined || what.includes(only))) {
    say(fault.what)
    figures.push(await measure(cluster, desk, keys, fault, asked, say))
    say(JSON.stringify(figures.at(-1)))
  }
  return figures
}

function faultsOf({ nodes, postgres, standby, valkey }: Cluster): readonly Fault[] {
  const [node] = nodes as [ClusterNode]
  const ways = nodes.flatMap((each) => each.ways)
  return [
    { what: 'nothing', befall: async () => performance.now() },
    {
      what: 'a node killed',
      befall: () => instantOf(() => node.kill()),
      mend: () => node.start(),
      leavesHolds: true,
    },
    {
      what: 'answers of the database cut after commits, 10 s',
      async befall() {
        const until = performance.now() + 10_000
        while (performance.now() < until) {
          await pause(150)
          await Promise.all(ways.map((way) => way.cut(10)))
        }
        return performance.now()
      },
    },
    {
      what: 'a node cut off from the database, 12 s',
      async befall() {
        node.cutOff()
        const from = performance.now()
        await pause(12_000)
        // As after a time-out: what was under way comes no more.
        node.cutOff(false)
        for (const way of node.ways) await way.cut(0)
        return from
      },
      async mend() {
        while (!(await node.isReady())) await pause(50)
      },
    },
    { what: 'Valkey killed', befall: () => instantOf(() => valkey.kill()), mend: () => valkey.startAgain() },
    {
      what: 'the database crashed, and started a second later',
      async befall() {
        const from = await instantOf(() => postgres.crash())
        await pause(1_000)
        await postgres.start()
        return from
      },
    },
    {
      what: 'the primary killed, its standby promoted a second later',
      async befall() {
        const from = await instantOf(() => postgres.crash())
        await pause(1_000)
        await standby?.promote()
        return from
      },
    },
  ]
}

async function instantOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return from
}

async function measure(
  cluster: Cluster,
  desk: Desk,
  keys: readonly string[],
  { what, befall, mend, leavesHolds = false }: Fault,
  asked: Asked[],
  say: (line: string) => void,
): Promise<FaultFigures> {
  const load = new Load(cluster.url, keys, clients)
  await until(() => load.asked.filter(({ told }) => told === 'settled').length >= 200)
  const beganAt = performance.now()
  const from = await befall()
  // Until it has been well for two seconds, or is given up.
  await until(() => {
    const now = performance.now()
    const late = load.asked.filter(({ endedAt }) => endedAt > now - 2_000)
    return now - from > 2_000 && late.length > 20 && late.every(({ told }) => told === 'settled')
  }, 60_000)
  let holdsMs: number | null = null
  if (leavesHolds) {
    // Turns are short: what is still held of that time was held by the dead.
    const then = Date.now() - (performance.now() - from)
    await until(async () => (await held(cluster, `and started_at < ${then.toFixed(0)}`)) === 0)
    holdsMs = performance.now() - from
  }
  const all = await load.end()
  await mend?.()
  await until(async () => (await held(cluster)) === 0)
  asked.push(...all)
  const during = all.filter(({ endedAt }) => endedAt >= beganAt)
  const failed = during.filter(({ told }) => told !== 'settled')
  for (const { id, beganAt: began, endedAt, told, status, said } of failed.slice(0, 10)) {
    const [after, took] = [began - from, endedAt - began].map((ms) => `${(ms / 1_000).toFixed(2)} s`)
    say(`${told} ${status} ${id}: asked ${after} after, took ${took}: ${reasonIn(said)}`)
  }
  for (const row of await cluster.query(`select id, owner, request_id, started_at from turn where state = 'held'`))
    say(`still held: ${JSON.stringify(row)}`)
  const { mismatches } = await desk.store.ledger.verify()
  return {
    what,
    asked: during.length,
    failed: failed.length,
    recoveryMs: Math.max(0, recoveryMs(all, from)),
    holdsMs,
    mismatches: mismatches.length,
    failures: countsOf(failed.map((each) => (each.told === 'broken' ? 'broken off' : `${each.status} ${reasonIn(each.said)}`))),
    ...(await booksOf(cluster, asked)),
  }
}

function reasonIn(said: string): string {
  return /"code":\s*"(\w+)"/.exec(said)?.[1] ?? said.slice(0, 60)
}

function countsOf(all: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(all, (each) => each)].map(([each, those]) => [each, those.length]))
}

async function held({ query }: Cluster, also = ''): Promise<number> {
  const [row] = await query(`select count(*) as held from turn where state = 'held' ${also}`)
  return Number(row?.['held'])
}

async function until(isSo: () => boolean | Promise<boolean>, mostMs = 30_000): Promise<void> {
  const end = performance.now() + mostMs
  while (!(await isSo()) && performance.now() < end) await pause(20)
}
