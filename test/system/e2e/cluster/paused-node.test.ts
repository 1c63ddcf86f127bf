/** A node that is paused under load, alone and together with its database: its turns end as if there had been no pause. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startCluster } from '../../../support/cluster/cluster.ts'
import { AccountSeeder } from '../../../support/cluster/account-seeder.ts'
import { checkAccounting, LoadGenerator } from '../../../support/cluster/cluster-load.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'

/** Longer than a hold waits for the database, and shorter than a node's lease. */
const pausedMs = 5_500
const plans = '{ ...base.plans, max: { ...base.plans.max, rpm: 1_000_000, concurrency: 1_000 } }'

const cluster = await startCluster(t, { nodes: 1, config: `{ ...base, limits: { addressRpm: 1_000_000 }, plans: ${plans} }` })
if (cluster !== undefined) {
  const { nodes, demo, postgres, storeUrl } = cluster
  demo.script(() => ({ tokens: 3 }))
  const seeder = await AccountSeeder.open(t, storeUrl)

  t.test('ends and charges all turns that were running when the node was paused', async (t) => {
    const [node] = nodes
    if (node === undefined) throw new Error('there is no node')
    const members = await Promise.all(Array.from({ length: 4 }, () => seeder.createMember('max')))
    const load = new LoadGenerator(
      t,
      node.url,
      members.map(({ key }) => key.token),
      32,
    )
    for (const isDatabasePaused of [false, true]) {
      const before = load.requests.length
      await waitUntil(() => load.requests.length > before + 100, 'load')
      node.running.child.kill('SIGSTOP')
      if (isDatabasePaused) postgres.pause()
      await pause(pausedMs)
      node.running.child.kill('SIGCONT')
      // The database is slower to come back.
      if (isDatabasePaused) await pause(500)
      if (isDatabasePaused) postgres.resume()
    }
    const all = await load.stop()
    t.same(
      all.filter(({ outcome }) => outcome !== 'settled'),
      [],
      `of ${all.length}`,
    )
    const { acknowledged, ...faults } = await checkAccounting(cluster, all)
    t.same(faults, { lost: 0, doubleCharged: 0, minted: 0, holdsOpen: 0 }, `${acknowledged} acknowledged`)
  })
}
