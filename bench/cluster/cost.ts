/** What a turn costs of the processor on PostgreSQL, its server and Valkey's included, against SQLite; and three nodes against one. */
import { tmpdir } from 'node:os'
import { startBalancer } from '../../test/support/balancer.ts'
import { Desk } from '../../test/support/desk.ts'
import { clusterFor } from '../../test/support/postgres.ts'
import type { Scope } from '../../test/support/scope.ts'
import { startValkey } from '../../test/support/valkey.ts'
import { startGateway, startUpstream } from '../processes.ts'
import type { GatewayKind } from '../processes.ts'
import { addAccounts } from '../run/accounts.ts'
import { closedLoop } from '../run/closed-loop.ts'
import { inEveryShape } from '../run/subject.ts'
import type { Subject } from '../run/subject.ts'
import { sumOf, usedBy } from '../run/threads.ts'

export interface CostSample {
  readonly subject: string
  readonly clients: number
  readonly round: number
  /** Microseconds of processor a turn: of the gateways, and of what they keep their things in. */
  readonly gateway: number
  readonly engines: number
  readonly turnsPerSecond: number
  readonly failed: number
}

export const sqlite = 'SQLite'
export const postgres = 'PostgreSQL'
export const oneBehind = 'one node behind HAProxy'
export const threeBehind = 'three nodes behind HAProxy'

interface Measured {
  readonly subject: Subject
  readonly gateways: readonly number[]
  readonly engines: () => readonly number[]
}

const accounts = 100

export async function measureCost(
  t: Scope,
  { rounds, seconds, warmSeconds, clients }: { rounds: number; seconds: number; warmSeconds: number; clients: readonly number[] },
  say: (line: string) => void,
): Promise<CostSample[]> {
  const upstream = await startUpstream()
  t.teardown(() => upstream.stop())
  // On the disk, as SQLite's file is.
  const database = await clusterFor(t, async () => {}, { durable: true, within: tmpdir() })
  const valkey = database && (await startValkey(t))
  if (database === undefined || valkey === undefined) throw new Error('no engines')
  const url = await database.database(t, { empty: true })
  const env = { STORE_URL: url, LIMITS_URL: valkey.url, SMTP_URL: 'smtp://127.0.0.1:9', TRUSTED_PROXIES: '127.0.0.1' }
  const start = async (kind: GatewayKind = {}) => {
    const gateway = await startGateway(upstream.url, kind)
    t.teardown(() => gateway.stop())
    return gateway
  }
  const alone = await start()
  const first = await start({ env })
  const others = [await start({ env, joins: true }), await start({ env, joins: true })]
  const desk = await Desk.open(t, url)
  const keys = [first.key]
  while (keys.length < accounts) keys.push((await desk.member('max')).key.token)
  await desk.store.close()
  const engines = (): readonly number[] => [database.pid ?? 0, valkey.pid]
  const hostOf = (each: { readonly url: string }): string => new URL(each.url).host
  const one = await startBalancer(t, [hostOf(first)])
  const three = await startBalancer(t, [first, ...others].map(hostOf))
  if (one === undefined || three === undefined) throw new Error('no balancer')
  const all = [first.pid, ...others.map(({ pid }) => pid)]
  const measured: readonly Measured[] = [
    {
      subject: subjectOf(sqlite, alone, addAccounts(alone.database, alone.key, accounts)),
      gateways: [alone.pid],
      engines: () => [],
    },
    { subject: subjectOf(postgres, first, keys), gateways: [first.pid], engines },
    { subject: subjectOf(oneBehind, one, keys), gateways: [first.pid], engines },
    { subject: subjectOf(threeBehind, three, keys), gateways: all, engines },
  ]
  const asked = new Map<Measured, number>()
  const samples: CostSample[] = []
  for (const each of measured) {
    say(`warming up ${each.subject.name}`)
    asked.set(each, (await closedLoop(each.subject, 'whole', 64, warmSeconds, 0)).turns)
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const count of clients) {
      // Those behind a balancer are compared where there is work for three.
      const those = measured.filter((_, index) => index < 2 || count === Math.max(...clients))
      for (const each of round % 2 === 0 ? those : those.toReversed()) {
        const before = usedOf(each)
        const { turns, seconds: took, failed } = await closedLoop(each.subject, 'whole', count, seconds, asked.get(each) ?? 0)
        const after = usedOf(each)
        asked.set(each, (asked.get(each) ?? 0) + turns)
        samples.push({
          subject: each.subject.name,
          clients: count,
          round,
          gateway: (after.gateways - before.gateways) / turns,
          engines: (after.engines - before.engines) / turns,
          turnsPerSecond: turns / took,
          failed,
        })
        say(JSON.stringify(samples.at(-1)))
      }
    }
  }
  return samples
}

function usedOf({ gateways, engines }: Measured): { readonly gateways: number; readonly engines: number } {
  const used = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + sumOf(usedBy(pid)), 0)
  return { gateways: used(gateways), engines: used(engines()) }
}

function subjectOf(name: string, { url, pid }: { readonly url: string; readonly pid: number }, keys: readonly string[]): Subject {
  return {
    name,
    url: `${url}/v1/chat/completions`,
    models: inEveryShape('svc-2.1'),
    headers: {},
    keys,
    pid,
    stop: async () => undefined,
  }
}
