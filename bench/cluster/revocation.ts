/** How long after a key, a session, a plan or an account was taken away the last node believes in it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, ClusterNode } from '../../test/support/cluster.ts'
import { startCluster } from '../../test/support/cluster.ts'
import { Desk } from '../../test/support/desk.ts'
import type { Scope } from '../../test/support/scope.ts'
import { ample } from './faults.ts'

export interface Revocation {
  readonly kind: string
  readonly ms: number
}

const config = `{ ...${ample}, plans: { ...${ample}.plans, other: { ...${ample}.plans.max, rpm: 999_999 } } }`
const everyMs = 10

export async function measureRevocation(t: Scope, times: number): Promise<Revocation[]> {
  const cluster = await startCluster(t, { config })
  if (cluster === undefined) throw new Error('no cluster')
  const desk = await Desk.open(t, cluster.storeUrl)
  const found: Revocation[] = []
  for (let nth = 0; nth < times; nth += 1) found.push(await one(cluster, desk, nth))
  return found
}

async function one({ nodes }: Cluster, desk: Desk, nth: number): Promise<Revocation> {
  const { account, key } = await desk.member('max')
  const session = await desk.session(account)
  const { keys, sessions, accounts } = desk.store
  const isRefused = ({ status }: Response): boolean => status === 401 || status === 403
  const kinds: readonly [string, string, () => Promise<unknown>, (answer: Response) => boolean][] = [
    ['key', key.token, () => keys.revoke(account, key.id, Date.now()), isRefused],
    ['session', session.token, () => sessions.end(account, session.id), isRefused],
    [
      'plan',
      key.token,
      () => accounts.setPlan(account, 'other'),
      ({ headers }) => headers.get('x-ratelimit-limit-requests') === '999999',
    ],
    ['disabled account', key.token, () => accounts.setStatus(account, 'disabled'), isRefused],
  ]
  const [kind, token, takeAway, isKnown] = kinds[nth % kinds.length] as (typeof kinds)[number]
  // All of them remember it before.
  for (const node of nodes) {
    const { status } = await ask(node, token)
    if (status !== 200) throw new Error(`${kind}: ${status} before it was taken away`)
  }
  // Another phase of the nodes' looks each time.
  await pause((nth * 37) % 300)
  await takeAway()
  const from = performance.now()
  await Promise.all(
    nodes.map(async (node) => {
      while (!isKnown(await ask(node, token))) {
        if (performance.now() - from > 10_000) throw new Error(`${kind}: a node still believes in it after 10 s`)
        await pause(everyMs)
      }
    }),
  )
  return { kind, ms: performance.now() - from }
}

async function ask({ url }: ClusterNode, token: string): Promise<Response> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await answer.arrayBuffer()
  return answer
}
