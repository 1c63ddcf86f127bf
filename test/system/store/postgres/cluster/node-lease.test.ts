/** Node leases by the database's clock, and job leases. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { JobLeases } from '../../../../../src/store/postgres/cluster/job-leases.ts'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import type { NodeLeaseOptions } from '../../../../../src/store/postgres/cluster/node-lease.ts'
import { leaseMs, RenewedNodeLease, renewIntervalMs } from '../../../../../src/store/postgres/cluster/node-lease.ts'
import { createClock } from '../../../../../src/system/clock.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { addAccount, reserveHold } from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.createDatabase(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    const connections = new Connections({ url, max: 3, timeoutMs: 30_000 })
    let ticks = 0
    const clock = createClock({ monotonicMs: () => ticks })
    t.teardown(async () => {
      await client.end()
      await connections.close()
    })
    return {
      url,
      client,
      connections,
      countAlive: async (): Promise<number> => {
        const { rows } = await client.query('select count(*)::int as alive from process where alive_until > clock_timestamp()')
        return rows[0].alive
      },
      pass: (ms: number) => void (ticks += ms),
      register: async (name: string, options: Partial<NodeLeaseOptions> = {}) => {
        const presence = await RenewedNodeLease.register({ connections, name, version: '1.0.0', clock, ...options })
        t.teardown(() => presence.release().catch(() => undefined))
        return presence
      },
      /** Expires the lease. */
      silence: ({ id }: { readonly id: number }) =>
        client.query(`update process set alive_until = clock_timestamp() - interval '1 ms' where id = $1`, [id]),
    }
  }

  t.test('finds a node with an expired lease, if this node has renewed without a gap', async (t) => {
    const { register, silence, pass, countAlive } = await ground(t)
    const [one, other] = [await register('one'), await register('other')]
    await silence(other)
    t.same(await one.findDeadNodes(), [], 'too early: the database may have been unreachable for all')
    for (let passed = 0; passed < leaseMs; passed += renewIntervalMs) {
      pass(renewIntervalMs)
      await one.renew()
    }
    const dead = await one.findDeadNodes()
    t.same(
      dead.filter(({ name }) => name !== 'furnisher'),
      [{ id: other.id, name: 'other' }],
    )
    t.equal(await countAlive(), 1)
    for (const node of dead) await one.removeNode(node)
    t.same(await one.findDeadNodes(), [])
    pass(3 * renewIntervalMs)
    await one.renew()
    t.same(await one.findDeadNodes(), [], 'after a gap all nodes have the same time to return')
  })

  t.test('finds the holds of a removed node whose statement arrived late', async (t) => {
    const { register, pass, client, url } = await ground(t)
    const store = await openTestStore(t, url, { ledger: openLedger })
    await addAccount(store)
    await reserveHold(store)
    await client.query('update turn set owner_process = 4711')
    const one = await register('one')
    for (let passed = 0; passed < leaseMs; passed += renewIntervalMs) {
      pass(renewIntervalMs)
      await one.renew()
    }
    t.ok((await one.findDeadNodes()).some(({ id }) => id === 4711))
  })

  t.test('registers a node with an expired lease under a new id', async (t) => {
    const { register, silence, countAlive } = await ground(t)
    const numbers: number[] = []
    const node = await register('node', { onNewId: (id) => void numbers.push(id) })
    const first = node.id
    await silence(node)
    await node.renew()
    t.not(node.id, first)
    t.same(numbers, [node.id])
    t.equal(await countAlive(), 1)
    await node.renew()
    t.same(numbers, [node.id], 'once')
  })

  t.test('reports itself as not alive when its lease may have expired', async (t) => {
    const faults: unknown[] = []
    const { register, client, pass } = await ground(t)
    const node = await register('node', { onError: (error) => void faults.push(error) })
    pass(leaseMs - 1)
    t.equal(node.isAlive, true)
    await client.query('alter table process rename to elsewhere')
    await node.renew()
    pass(1)
    t.equal(node.isAlive, false)
    t.equal(faults.length, 1)
    await client.query('alter table elsewhere rename to process')
    await node.renew()
    t.equal(node.isAlive, true)
  })

  t.test('ends the lease at once on release, and measures the clock difference to the database', async (t) => {
    const { register, countAlive } = await ground(t)
    const node = await register('node', { clock: createClock({ now: () => Date.now() + 60_000, monotonicMs: () => 0 }) })
    t.ok(Math.abs(node.clockAheadMs - 60_000) < 2_000, `${node.clockAheadMs}`)
    await node.release()
    t.equal(node.isAlive, false)
    t.equal(await countAlive(), 0)
  })

  t.test('reports once in which sections other nodes have another configuration, and when they agree again', async (t) => {
    const { register } = await ground(t)
    const reports: (readonly string[])[] = []
    const one = await register('one', {
      config: { plans: 'a', prices: 'b' },
      onConfigDifference: (sections) => void reports.push(sections),
    })
    const same = await register('same', { config: { plans: 'a', prices: 'b' } })
    await one.renew()
    t.same(reports, [])
    const other = await register('other', {
      config: { plans: 'c', prices: 'b' },
      onConfigDifference: (sections) => void reports.push(['other', ...sections]),
    })
    t.same(reports, [['other', 'plans']], 'a node that starts finds it at once')
    for (let count = 0; count < 3; count += 1) await one.renew()
    t.same(reports.slice(1), [['plans']], 'a living one finds it at its next renewal, and reports it once')
    await other.release()
    await one.renew()
    t.same(reports.slice(2), [[]])
    t.equal(one.nodeCount, 2)
    await same.release()
  })

  t.test('nodes that reload one after the other differ until the last has, and stay alive', async (t) => {
    const { register } = await ground(t)
    const reports: (readonly string[])[] = []
    const [one, other] = [
      await register('one', {
        config: { prices: 'a' },
        onConfigDifference: (sections) => void reports.push(['one', ...sections]),
      }),
      await register('other', {
        config: { prices: 'a' },
        onConfigDifference: (sections) => void reports.push(['other', ...sections]),
      }),
    ]
    const renewAll = async (): Promise<void> => {
      await one.renew()
      await other.renew()
      await one.renew()
    }
    await renewAll()
    t.same(reports, [])
    one.setConfigFingerprint({ prices: 'b' })
    await renewAll()
    t.same(reports.splice(0).toSorted(), [
      ['one', 'prices'],
      ['other', 'prices'],
    ])
    t.ok(one.isAlive && other.isAlive)
    other.setConfigFingerprint({ prices: 'b' })
    await renewAll()
    t.same(reports.splice(0).toSorted(), [['one'], ['other']])
  })

  t.test('keeps a job lease for one node until it expires', async (t) => {
    const { connections, client } = await ground(t)
    const clock = { now: () => Date.now() }
    const [one, other] = [1, 2].map((id) => new JobLeases(connections, { id }, clock)) as [JobLeases, JobLeases]
    const both = await Promise.all([one.acquire('sweep', 60_000), other.acquire('sweep', 60_000)])
    t.equal(both.filter(Boolean).length, 1)
    const [holder, waiting] = both[0] === true ? [one, other] : [other, one]
    t.equal(await holder.acquire('sweep', 60_000), true, 'the holder renews it')
    t.equal(await waiting.acquire('pay', 60_000), true, 'another job may have another holder')
    await client.query(`update job_lease set lease_until = clock_timestamp() - interval '1 ms' where name = 'sweep'`)
    t.equal(await waiting.acquire('sweep', 60_000), true)
    t.equal(await holder.acquire('sweep', 60_000), false)
  })

  t.test('gives no job lease to a node whose clock is wrong, and takes back the one it holds', async (t) => {
    const { connections } = await ground(t)
    let aheadMs = 0
    const wrong = new JobLeases(connections, { id: 1 }, { now: () => Date.now() + aheadMs })
    const right = new JobLeases(connections, { id: 2 }, { now: () => Date.now() })
    for (const error of [40 * 86_400_000, -40 * 86_400_000]) {
      aheadMs = 0
      t.equal(await wrong.acquire(`sweep ${error}`, 60_000), true)
      aheadMs = error
      t.equal(await right.acquire(`sweep ${error}`, 60_000), false, 'it is another’s')
      t.equal(await wrong.acquire(`sweep ${error}`, 60_000), false)
      t.equal(await right.acquire(`sweep ${error}`, 60_000), true, 'it was given up')
    }
  })
}
