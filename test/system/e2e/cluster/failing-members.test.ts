/** Two nodes on one PostgreSQL: the failing turns of two members refuse no turn of another, on either node. */
import t from 'tap'
import { AccountSeeder } from '../../../support/cluster/account-seeder.ts'
import { startCluster } from '../../../support/cluster/cluster.ts'
import { createExactPlans, shortTurn } from '../../../support/gateway/exact-plans.ts'

const config = `{ ...base, limits: { ...base.limits, addressRpm: 1_000_000 }, plans: { ...base.plans, ...${JSON.stringify(createExactPlans(30))} } }`
const cluster = await startCluster(t, { nodes: 2, config })

if (cluster !== undefined)
  t.test('each node serves the members whose turns do not fail', async (t) => {
    const seeder = await AccountSeeder.open(t, cluster.storeUrl)
    const members = [await seeder.createMember('ample'), await seeder.createMember('ample'), await seeder.createMember('ample')]
    const [other = '', ...failing] = members.map(({ key }) => key.token)
    const chat = async (at: string, token: string, content: string): Promise<number> => {
      const response = await fetch(`${at}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...shortTurn, messages: [{ role: 'user', content }] }),
      })
      await response.text()
      return response.status
    }
    cluster.demo.script(({ rawBody }) => (rawBody.includes('a null schema') ? { status: 500 } : {}))
    const statuses = { failing: new Set<number>(), other: new Set<number>() }
    for (let round = 0; round < 10; round++)
      for (const { url } of cluster.nodes) {
        for (const token of failing)
          for (let nth = 0; nth < 3; nth++) statuses.failing.add(await chat(url, token, 'a null schema'))
        statuses.other.add(await chat(url, other, 'Hello!'))
      }
    t.same([...statuses.failing], [502])
    t.same([...statuses.other], [200])
  })
