/** Three nodes under load, restarted one after the other, and one of them killed: members are told of nothing that is not in the books, once. */
import t from 'tap'
import { booksOf, Load } from '../support/cluster-load.ts'
import type { Asked } from '../support/cluster-load.ts'
import { startCluster } from '../support/cluster.ts'
import type { ClusterNode } from '../support/cluster.ts'
import { Desk } from '../support/desk.ts'
import { until } from '../support/gateway.ts'
import { nextVersion } from '../support/next-version.ts'

const much = { day: 1e9, week: 1e9, month: 1e9 }
const plan = { name: 'Test', prices: [{ amount: 0 }], rpm: 100_000, concurrency: 1_000, pools: { fast: much, premium: much } }
const little = { day: 1, week: 1, month: 1 }
const plans = { ample: plan, little: { ...plan, pools: { fast: little, premium: little } }, narrow: { ...plan, concurrency: 5 } }
const config = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000 }, plans: { ...base.plans, ...${JSON.stringify(plans)} } }`

/** In the tables that every turn uses: a version may add to them, and the one before must not notice. */
const itsChanges = `create table novelty (id bigint primary key);
  ${['account', 'api_key', 'purse', 'pack', 'turn'].map((table) => `alter table ${table} add column novelty text`).join('; ')}`

/** Turns are under way most of the time, so that whatever ends a node ends it in their midst; and they are few, for all have one machine. */
const lasting = () => ({ tokens: 3, headMs: 200 })

/** Three nodes, a balancer and a database have one machine here, and each look is a request to them. */
const lookMs = 50

const cluster = await startCluster(t, { config })
if (cluster !== undefined) {
  const { url, nodes, demo } = cluster
  const [first, second, third] = nodes as readonly [ClusterNode, ClusterNode, ClusterNode]
  const desk = await Desk.open(t, cluster.storeUrl)
  const chat = ({ url }: ClusterNode, token: string, body: object = {}): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }], ...body }),
    })
  const held = async (): Promise<number> =>
    Number((await cluster.query(`select count(*) as held from turn where state = 'held'`))[0]?.['held'])

  const asked: Asked[] = []
  const [one, other, packed] = [await desk.member('ample'), await desk.member('ample'), await desk.member('little')]
  const keys = [one, other, packed].map(({ key }) => key.token)
  const pack = { kind: 'grant', pool: 'premium', credits: 1e9, at: Date.now(), expiresAt: Date.now() + 86_400_000 } as const
  await desk.store.ledger.grant({ ...pack, id: 'pack', account: packed.account })

  /** As the balancer said last of it. */
  const isUp = (node: ClusterNode): boolean => {
    const name = `nodes/node-${nodes.indexOf(node) + 1} is `
    const log = cluster.balancer.log()
    return log.slice(log.lastIndexOf(name)).startsWith(`${name}UP`)
  }

  t.test(
    'a new version in place of one after the other, and an old one restarted beside it, under load: no request fails',
    async (t) => {
      demo.script(lasting)
      const versions = async () =>
        (await cluster.query('select distinct version from process where alive_until > now() order by version')).length
      const next = nextVersion(t, { changes: itsChanges, config })
      const load = new Load(url, keys, 8, 100)
      for (const [node, as] of [
        [first, next],
        [second, undefined],
        [third, next],
        [second, next],
      ] as const) {
        const before = load.asked.length
        await until(() => load.asked.length > before + 20, 'turns to go on', lookMs)
        t.equal(await node.stop(), 0)
        await node.start(as)
        await until(() => node.isReady(), 'it to be back', lookMs)
        await until(() => isUp(node), 'the balancer to see it', lookMs)
        t.equal(await versions(), node === second && as === next ? 1 : 2, 'versions at work')
      }
      const all = await load.end()
      asked.push(...all)
      t.same(
        all.filter(({ told }) => told !== 'settled'),
        [],
        `of ${all.length}`,
      )
    },
  )

  t.test('one is killed: others go on, and what it held is given back', async (t) => {
    const { key } = await desk.member('narrow')
    demo.script(() => ({ tokens: 2_000, betweenMs: 100 }))
    const streams = await Promise.all(
      Array.from({ length: 5 }, () => chat(first, key.token, { stream: true, max_tokens: 2_048 })),
    )
    t.same(
      streams.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
    demo.script(lasting)
    t.equal((await chat(second, key.token)).status, 429, 'five at once are all there may be')
    const load = new Load(url, keys, 6, 100)
    await until(() => load.asked.length > 30, 'load', lookMs)
    const from = performance.now()
    await first.kill()
    await Promise.all(streams.map((stream) => stream.text().catch(() => '')))
    await until(async () => (await chat(second, key.token)).status === 200, 'its turns at once to be free again', lookMs)
    const seconds = (performance.now() - from) / 1_000
    t.ok(seconds < 25, `${seconds.toFixed(1)} s`)
    const all = await load.end()
    asked.push(...all)
    const failed = all.filter(({ told, endedAt }) => told !== 'settled' && endedAt > from + 5_000)
    t.same(failed, [], 'after five seconds nobody notices')
  })

  t.test('at the end the books have what members were told, once', async (t) => {
    await until(async () => (await held()) === 0, 'every hold to end', lookMs)
    const { lost, minted, acknowledged } = await booksOf(cluster, asked)
    t.same({ lost, minted }, { lost: 0, minted: 0 }, `${acknowledged} acknowledged`)
    const { ok, mismatches, holdsOpen } = await desk.store.ledger.verify()
    t.same({ ok, mismatches, holdsOpen }, { ok: true, mismatches: [], holdsOpen: 0 })
  })
}
