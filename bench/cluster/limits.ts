/** Ten times as many requests as a plan allows, from all nodes: at once, and steadily. */
import { setTimeout as pause } from 'node:timers/promises'
import { startCluster } from '../../test/support/cluster.ts'
import { Desk } from '../../test/support/desk.ts'
import type { Scope } from '../../test/support/scope.ts'
import { ample } from './faults.ts'

export interface LimitFigures {
  readonly what: string
  readonly offered: number
  readonly admitted: number
  readonly allowed: number
  readonly failed: number
}

const perMinute = 300
const config = `{ ...${ample}, plans: { ...${ample}.plans, slow: { ...base.plans.max, rpm: ${perMinute}, concurrency: 100_000,
  pools: { fast: { day: 1e12, week: 1e12, month: 1e12 }, premium: { day: 1e12, week: 1e12, month: 1e12 } } } } }`

export async function measureLimits(t: Scope): Promise<LimitFigures[]> {
  const cluster = await startCluster(t, { config })
  if (cluster === undefined) throw new Error('no cluster')
  const { nodes } = cluster
  const { key } = await (await Desk.open(t, cluster.storeUrl)).member('slow')
  let nth = 0
  const ask = async (): Promise<number> => {
    const answer = await fetch(`${nodes[nth++ % nodes.length]?.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }),
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const figuresOf = (what: string, statuses: readonly number[], allowed: number): LimitFigures => ({
    what,
    offered: statuses.length,
    admitted: statuses.filter((status) => status === 200).length,
    allowed,
    failed: statuses.filter((status) => status !== 200 && status !== 429).length,
  })

  const from = performance.now()
  const atOnce: number[] = []
  await Promise.all(
    Array.from({ length: 60 }, async () => {
      while (atOnce.length < 10 * perMinute) atOnce.push(await ask())
    }),
  )
  const back = (seconds: number): number => (perMinute * seconds) / 60
  const burst = figuresOf('ten times a minute’s at once', atOnce, perMinute + back((performance.now() - from) / 1_000))

  const seconds = 20
  const began = performance.now()
  const steady: Promise<number>[] = []
  for (let tick = 1; tick <= seconds * 10; tick += 1) {
    for (let each = 0; each < perMinute / 60; each += 1) steady.push(ask())
    await pause(Math.max(0, began + tick * 100 - performance.now()))
  }
  const statuses = await Promise.all(steady)
  return [burst, figuresOf(`ten times as fast, ${seconds} s`, statuses, back((performance.now() - began) / 1_000))]
}
