/** Sends ten times as many requests as a plan allows, from all nodes: at once, and steadily. */
import { setTimeout as pause } from 'node:timers/promises'
import { startCluster } from '../../test/support/cluster/cluster.ts'
import { AccountSeeder } from '../../test/support/cluster/account-seeder.ts'
import type { TestScope } from '../../test/support/test-scope.ts'
import { unlimitedConfig } from './faults.ts'

export interface LimitFigures {
  readonly name: string
  readonly offered: number
  readonly admitted: number
  readonly allowed: number
  readonly failed: number
}

const perMinute = 300
const config = `{ ...${unlimitedConfig}, plans: { ...${unlimitedConfig}.plans, slow: { ...base.plans.max, rpm: ${perMinute}, concurrency: 100_000,
  pools: { fast: { day: 1e12, week: 1e12, month: 1e12 }, premium: { day: 1e12, week: 1e12, month: 1e12 } } } } }`

export async function measureLimits(t: TestScope): Promise<LimitFigures[]> {
  const cluster = await startCluster(t, { config })
  if (cluster === undefined) throw new Error('no cluster')
  const { nodes } = cluster
  const { key } = await (await AccountSeeder.open(t, cluster.storeUrl)).createMember('slow')
  let nth = 0
  const sendTurn = async (): Promise<number> => {
    const answer = await fetch(`${nodes[nth++ % nodes.length]?.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }),
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const toFigures = (name: string, statuses: readonly number[], allowed: number): LimitFigures => ({
    name,
    offered: statuses.length,
    admitted: statuses.filter((status) => status === 200).length,
    allowed,
    failed: statuses.filter((status) => status !== 200 && status !== 429).length,
  })

  const from = performance.now()
  const atOnce: number[] = []
  await Promise.all(
    Array.from({ length: 60 }, async () => {
      while (atOnce.length < 10 * perMinute) atOnce.push(await sendTurn())
    }),
  )
  const toRefilled = (seconds: number): number => (perMinute * seconds) / 60
  const burst = toFigures('ten times a minute’s at once', atOnce, perMinute + toRefilled((performance.now() - from) / 1_000))

  const seconds = 20
  const began = performance.now()
  const steady: Promise<number>[] = []
  for (let tick = 1; tick <= seconds * 10; tick += 1) {
    for (let each = 0; each < perMinute / 60; each += 1) steady.push(sendTurn())
    await pause(Math.max(0, began + tick * 100 - performance.now()))
  }
  const statuses = await Promise.all(steady)
  return [burst, toFigures(`ten times as fast, ${seconds} s`, statuses, toRefilled((performance.now() - began) / 1_000))]
}
