/** A node whose clock is 40 days ahead, on a real PostgreSQL: it is not ready, runs no job, and so ends no plan and no session. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { openGateway } from '../../../../src/server/serving-thread.ts'
import { AccountSeeder } from '../../../support/cluster/account-seeder.ts'
import { testConfig, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { createTestSchema } from '../../store/postgres/test-store.ts'
import { createClock } from '../../../../src/system/clock.ts'

const dayMs = 86_400_000
const wrongClock = createClock({ now: () => Date.now() + 40 * dayMs })
/** Plans end every two seconds, unless the clock is wrong. */
const jobRunsMs = 5_000

const postgres = await providePostgres(t, createTestSchema)
if (postgres !== undefined) {
  t.test('a node with a wrong clock ends no plan; a node with the right clock takes over its jobs', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const seeder = await (async () => {
      const first = await openNode(t, url)
      await first.close()
      return AccountSeeder.open(t, url)
    })()
    const { account } = await seeder.createMember('free')
    const endOfPlan = Date.now() + 30 * dayMs
    await seeder.store.accounts.setPlan(account, 'pro', endOfPlan)
    const readPlan = async () => (await seeder.store.accounts.find(account))?.plan

    const wrong = await openNode(t, url, wrongClock)
    const ready = await fetch(`${wrong.url}/readyz`)
    t.equal(ready.status, 503)
    t.match(await ready.json(), { reasons: [/^this node's clock is 40 days ahead of the database's$/] })
    await pause(jobRunsMs)
    t.equal(await readPlan(), 'pro')

    const behind = await openNode(t, url, createClock({ now: () => Date.now() - 40 * dayMs }))
    t.match(await (await fetch(`${behind.url}/readyz`)).json(), {
      reasons: [/^this node's clock is 40 days behind the database's$/],
    })

    const right = await openNode(t, url)
    t.equal((await fetch(`${right.url}/readyz`)).status, 200)
    await seeder.store.accounts.setPlan(account, 'pro', Date.now() - 1)
    await waitUntil(async () => (await readPlan()) === 'free', 'the node with the right clock to end the plan')
  })
}

async function openNode(t: Test, url: string, clock?: typeof wrongClock) {
  const gateway = await openGateway({
    config: testConfig(t, { store: { url }, mail: { smtpUrl: 'smtp://127.0.0.1:1' } }),
    logDestination: { write: () => undefined },
    ...(clock === undefined ? {} : { clock }),
  })
  t.teardown(() => gateway.close({ drainMs: 0 }))
  return gateway
}
