/** Three nodes under load, restarted one after the other, one killed: each answer that a member received is in the ledger exactly once. */
import t from 'tap'
import { checkAccounting, LoadGenerator } from '../../../support/cluster/cluster-load.ts'
import type { LoadRequest } from '../../../support/cluster/cluster-load.ts'
import { startCluster } from '../../../support/cluster/cluster.ts'
import type { ClusterNode } from '../../../support/cluster/cluster.ts'
import { AccountSeeder } from '../../../support/cluster/account-seeder.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { createNextVersion } from '../../../support/processes/next-version.ts'

const much = { day: 1e9, week: 1e9, month: 1e9 }
const plan = { name: 'Test', prices: [{ amount: 0 }], rpm: 100_000, concurrency: 1_000, pools: { fast: much, premium: much } }
const little = { day: 1, week: 1, month: 1 }
const plans = { ample: plan, little: { ...plan, pools: { fast: little, premium: little } }, narrow: { ...plan, concurrency: 5 } }
const config = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000 }, plans: { ...base.plans, ...${JSON.stringify(plans)} } }`

/** In the tables that every turn uses: a version may add columns, and the version before must keep working. */
const migrationSql = `create table novelty (id bigint primary key);
  ${['account', 'api_key', 'balance', 'pack', 'turn'].map((table) => `alter table ${table} add column novelty text`).join('; ')}`

/** Turns are in flight most of the time, so that a node always ends during some; few, because all nodes share one machine. */
const createSlowScript = () => ({ tokens: 3, headMs: 200 })

/** Three nodes, a balancer and a database share one machine here, and each poll is a request to them. */
const pollMs = 50

const cluster = await startCluster(t, { config })
if (cluster !== undefined) {
  const { url, nodes, demo } = cluster
  const [first, second, third] = nodes as readonly [ClusterNode, ClusterNode, ClusterNode]
  const desk = await AccountSeeder.open(t, cluster.storeUrl)
  const chat = ({ url }: ClusterNode, token: string, body: object = {}): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }], ...body }),
    })
  const held = async (): Promise<number> =>
    Number((await cluster.query(`select count(*) as held from turn where state = 'held'`))[0]?.['held'])

  const asked: LoadRequest[] = []
  const [one, other, packed] = [
    await desk.createMember('ample'),
    await desk.createMember('ample'),
    await desk.createMember('little'),
  ]
  const keys = [one, other, packed].map(({ key }) => key.token)
  const pack = { kind: 'grant', pool: 'premium', credits: 1e9, at: Date.now(), expiresAt: Date.now() + 86_400_000 } as const
  await desk.store.ledger.grant({ ...pack, id: 'pack', account: packed.account })

  /** The balancer's latest state of the node. */
  const isUp = (node: ClusterNode): boolean => {
    const name = `nodes/node-${nodes.indexOf(node) + 1} is `
    const log = cluster.balancer.log()
    return log.slice(log.lastIndexOf(name)).startsWith(`${name}UP`)
  }

  t.test(
    'fails no request while a new version replaces one node after the other and an old one restarts beside it',
    async (t) => {
      demo.script(createSlowScript)
      const versions = async () =>
        (await cluster.query('select distinct version from process where alive_until > now() order by version')).length
      const next = createNextVersion(t, { changes: migrationSql, config })
      const load = new LoadGenerator(t, url, keys, 8, 100)
      for (const [node, as] of [
        [first, next],
        [second, undefined],
        [third, next],
        [second, next],
      ] as const) {
        const before = load.requests.length
        await waitUntil(() => load.requests.length > before + 20, 'turns to go on', pollMs)
        t.equal(await node.stop(), 0)
        await node.start(as)
        await waitUntil(() => node.isReady(), 'it to be back', pollMs)
        await waitUntil(() => isUp(node), 'the balancer to see it', pollMs)
        t.equal(await versions(), node === second && as === next ? 1 : 2, 'versions at work')
      }
      const all = await load.stop()
      asked.push(...all)
      t.same(
        all.filter(({ outcome }) => outcome !== 'settled'),
        [],
        `of ${all.length}`,
      )
    },
  )

  t.test('continues on the other nodes when one is killed, and releases its holds', async (t) => {
    const { key } = await desk.createMember('narrow')
    demo.script(() => ({ tokens: 2_000, betweenMs: 100 }))
    const streams = await Promise.all(
      Array.from({ length: 5 }, () => chat(first, key.token, { stream: true, max_tokens: 2_048 })),
    )
    t.same(
      streams.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
    demo.script(createSlowScript)
    const sixth = await chat(second, key.token)
    t.equal(sixth.status, 429, `five at once are all there may be: ${await sixth.text()}`)
    const load = new LoadGenerator(t, url, keys, 6, 100)
    await waitUntil(() => load.requests.length > 30, 'load', pollMs)
    const from = performance.now()
    await first.kill()
    await Promise.all(streams.map((stream) => stream.text().catch(() => '')))
    await waitUntil(async () => (await chat(second, key.token)).status === 200, 'its turns at once to be free again', pollMs)
    const seconds = (performance.now() - from) / 1_000
    // Twenty seconds, and more where the machine stands still meanwhile.
    t.ok(seconds < 45, `${seconds.toFixed(1)} s`)
    const all = await load.stop()
    asked.push(...all)
    const failed = all.filter(({ outcome, endedAt }) => outcome !== 'settled' && endedAt > from + 5_000)
    t.same(failed, [], 'after five seconds nobody notices')
  })

  t.test('records each answered turn exactly once', async (t) => {
    await waitUntil(async () => (await held()) === 0, 'every hold to end', pollMs)
    const { lost, minted, acknowledged } = await checkAccounting(cluster, asked)
    t.same({ lost, minted }, { lost: 0, minted: 0 }, `${acknowledged} acknowledged`)
    const { ok, mismatches, holdsOpen } = await desk.store.ledger.verify()
    t.same({ ok, mismatches, holdsOpen }, { ok: true, mismatches: [], holdsOpen: 0 })
  })
}
