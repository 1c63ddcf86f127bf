/** Measures how long after the revocation of a key, a session, a plan or an account the last node still accepts it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, ClusterNode } from '../../test/support/cluster/cluster.ts'
import { startCluster } from '../../test/support/cluster/cluster.ts'
import { AccountSeeder } from '../../test/support/cluster/account-seeder.ts'
import type { TestScope } from '../../test/support/test-scope.ts'
import { unlimitedConfig } from './faults.ts'

export interface Revocation {
  readonly kind: string
  readonly ms: number
}

const config = `{ ...${unlimitedConfig}, plans: { ...${unlimitedConfig}.plans, other: { ...${unlimitedConfig}.plans.max, rpm: 999_999 } } }`
const pollMs = 10

export async function measureRevocation(t: TestScope, times: number): Promise<Revocation[]> {
  const cluster = await startCluster(t, { config })
  if (cluster === undefined) throw new Error('no cluster')
  const seeder = await AccountSeeder.open(t, cluster.storeUrl)
  const found: Revocation[] = []
  for (let nth = 0; nth < times; nth += 1) found.push(await measureOne(cluster, seeder, nth))
  return found
}

async function measureOne({ nodes }: Cluster, seeder: AccountSeeder, nth: number): Promise<Revocation> {
  const { account, key } = await seeder.createMember('max')
  const session = await seeder.createSession(account)
  const { apiKeys, sessions, accounts } = seeder.store
  const isRefused = ({ status }: Response): boolean => status === 401 || status === 403
  const kinds: readonly [string, string, () => Promise<unknown>, (answer: Response) => boolean][] = [
    ['key', key.token, () => apiKeys.revoke(account, key.id, Date.now()), isRefused],
    ['session', session.token, () => sessions.end(account, session.id), isRefused],
    [
      'plan',
      key.token,
      () => accounts.setPlan(account, 'other'),
      ({ headers }) => headers.get('x-ratelimit-limit-requests') === '999999',
    ],
    ['disabled account', key.token, () => accounts.setStatus(account, 'disabled'), isRefused],
  ]
  const [kind, token, revoke, hasTakenEffect] = kinds[nth % kinds.length] as (typeof kinds)[number]
  // Every node has cached it before.
  for (const node of nodes) {
    const { status } = await sendTurn(node, token)
    if (status !== 200) throw new Error(`${kind}: ${status} before it was taken away`)
  }
  // A different phase of the nodes' polls each time.
  await pause((nth * 37) % 300)
  await revoke()
  const from = performance.now()
  await Promise.all(
    nodes.map(async (node) => {
      while (!hasTakenEffect(await sendTurn(node, token))) {
        if (performance.now() - from > 10_000) throw new Error(`${kind}: a node still believes in it after 10 s`)
        await pause(pollMs)
      }
    }),
  )
  return { kind, ms: performance.now() - from }
}

async function sendTurn({ url }: ClusterNode, token: string): Promise<Response> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await answer.arrayBuffer()
  return answer
}
