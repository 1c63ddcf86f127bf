/** Measures the CPU time of a turn on PostgreSQL, including its server and Valkey, against SQLite; and of three nodes against one. */
import { tmpdir } from 'node:os'
import { startLoadBalancer } from '../../test/support/servers/load-balancer.ts'
import { AccountSeeder } from '../../test/support/cluster/account-seeder.ts'
import { startPostgresServer } from '../../test/support/servers/postgres/postgres.ts'
import type { TestScope } from '../../test/support/test-scope.ts'
import { startValkey } from '../../test/support/servers/valkey.ts'
import { startGateway, startUpstream } from '../support/processes.ts'
import type { GatewayVariant } from '../support/processes.ts'
import { addAccounts } from '../run/subjects/accounts.ts'
import { runClosedLoop } from '../run/load/closed-loop.ts'
import { useModelForEveryShape } from '../run/subjects/subject.ts'
import type { Subject } from '../run/subjects/subject.ts'
import { sumThreadCpu, readThreadCpu } from '../run/machine/thread-cpu.ts'

export interface CostSample {
  readonly subject: string
  readonly clients: number
  readonly round: number
  /** Microseconds of CPU time per turn: of the gateways, and of their stores. */
  readonly gatewayUs: number
  readonly enginesUs: number
  readonly turnsPerSecond: number
  readonly failed: number
}

export const sqlite = 'SQLite'
export const postgres = 'PostgreSQL'
export const oneNode = 'one node behind HAProxy'
export const threeNodes = 'three nodes behind HAProxy'

interface MeasuredSetup {
  readonly subject: Subject
  readonly gateways: readonly number[]
  readonly engines: () => readonly number[]
}

const accounts = 100

export async function measureCost(
  t: TestScope,
  { rounds, seconds, warmSeconds, clients }: { rounds: number; seconds: number; warmSeconds: number; clients: readonly number[] },
  print: (line: string) => void,
): Promise<CostSample[]> {
  const upstream = await startUpstream()
  t.teardown(() => upstream.stop())
  // On the disk, like SQLite's file.
  const database = await startPostgresServer(t, async () => {}, { durable: true, within: tmpdir() })
  const valkey = database && (await startValkey(t))
  if (database === undefined || valkey === undefined) throw new Error('no engines')
  const url = await database.createDatabase(t, { empty: true })
  const env = { STORE_URL: url, LIMITS_URL: valkey.url, SMTP_URL: 'smtp://127.0.0.1:9', TRUSTED_PROXIES: '127.0.0.1' }
  const start = async (kind: GatewayVariant = {}) => {
    const gateway = await startGateway(upstream.url, kind)
    t.teardown(() => gateway.stop())
    return gateway
  }
  const alone = await start()
  const first = await start({ env })
  const others = [await start({ env, joinsCluster: true }), await start({ env, joinsCluster: true })]
  const seeder = await AccountSeeder.open(t, url)
  const keys = [first.key]
  while (keys.length < accounts) keys.push((await seeder.createMember('max')).key.token)
  await seeder.store.close()
  const engines = (): readonly number[] => [database.pid ?? 0, valkey.pid]
  const hostOf = (each: { readonly url: string }): string => new URL(each.url).host
  const one = await startLoadBalancer(t, [hostOf(first)])
  const three = await startLoadBalancer(t, [first, ...others].map(hostOf))
  if (one === undefined || three === undefined) throw new Error('no balancer')
  const all = [first.pid, ...others.map(({ pid }) => pid)]
  const measured: readonly MeasuredSetup[] = [
    {
      subject: createSubject(sqlite, alone, addAccounts(alone.database, alone.key, accounts)),
      gateways: [alone.pid],
      engines: () => [],
    },
    { subject: createSubject(postgres, first, keys), gateways: [first.pid], engines },
    { subject: createSubject(oneNode, one, keys), gateways: [first.pid], engines },
    { subject: createSubject(threeNodes, three, keys), gateways: all, engines },
  ]
  const turnsSent = new Map<MeasuredSetup, number>()
  const samples: CostSample[] = []
  for (const each of measured) {
    print(`warming up ${each.subject.name}`)
    turnsSent.set(each, (await runClosedLoop(each.subject, 'whole', 64, warmSeconds, 0)).turns)
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const count of clients) {
      // Clusters behind a balancer are compared under a load for three nodes.
      const those = measured.filter((_, index) => index < 2 || count === Math.max(...clients))
      for (const each of round % 2 === 0 ? those : those.toReversed()) {
        const before = readCpuUse(each)
        const {
          turns,
          seconds: took,
          failed,
        } = await runClosedLoop(each.subject, 'whole', count, seconds, turnsSent.get(each) ?? 0)
        const after = readCpuUse(each)
        turnsSent.set(each, (turnsSent.get(each) ?? 0) + turns)
        samples.push({
          subject: each.subject.name,
          clients: count,
          round,
          gatewayUs: (after.gateways - before.gateways) / turns,
          enginesUs: (after.engines - before.engines) / turns,
          turnsPerSecond: turns / took,
          failed,
        })
        print(JSON.stringify(samples.at(-1)))
      }
    }
  }
  return samples
}

function readCpuUse({ gateways, engines }: MeasuredSetup): { readonly gateways: number; readonly engines: number } {
  const used = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + sumThreadCpu(readThreadCpu(pid)), 0)
  return { gateways: used(gateways), engines: used(engines()) }
}

function createSubject(
  name: string,
  { url, pid }: { readonly url: string; readonly pid: number },
  keys: readonly string[],
): Subject {
  return {
    name,
    url: `${url}/v1/chat/completions`,
    models: useModelForEveryShape('svc-2.1'),
    headers: {},
    keys,
    pid,
    stop: async () => undefined,
  }
}
