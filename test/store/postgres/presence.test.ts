/** Who is alive, by the database's clock, and who does the chores. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { Elections } from '../../../src/store/postgres/elections.ts'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import type { PresenceOptions } from '../../../src/store/postgres/presence.ts'
import { aliveMs, Presence, renewEveryMs } from '../../../src/store/postgres/presence.ts'
import { postgresFor } from '../../support/postgres.ts'
import { addAccount, holdOf } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.database(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    const connections = new Connections({ url, most: 3, patienceMs: 50 })
    let ticks = 0
    const clock = { now: () => Date.now(), ticks: () => ticks }
    t.teardown(async () => {
      await client.end()
      await connections.close()
    })
    return {
      url,
      client,
      connections,
      pass: (ms: number) => void (ticks += ms),
      enrol: async (name: string, options: Partial<PresenceOptions> = {}) => {
        const presence = await Presence.enrol({ connections, name, version: '1.0.0', clock, ...options })
        t.teardown(() => presence.leave().catch(() => undefined))
        return presence
      },
      /** Nothing was heard of it for too long. */
      silence: ({ id }: { readonly id: number }) =>
        client.query(`update process set alive_until = clock_timestamp() - interval '1 ms' where id = $1`, [id]),
    }
  }

  t.test('a node that is not heard of in time is dead, and found by one that was heard without a gap', async (t) => {
    const { enrol, silence, pass } = await ground(t)
    const [one, other] = [await enrol('one'), await enrol('other')]
    await silence(other)
    t.same(await one.dead(), [], 'too early: perhaps nobody could be heard')
    for (let passed = 0; passed < aliveMs; passed += renewEveryMs) {
      pass(renewEveryMs)
      await one.renew()
    }
    const dead = await one.dead()
    t.same(
      dead.filter(({ name }) => name !== 'furnisher'),
      [{ id: other.id, name: 'other' }],
    )
    t.equal(await one.alive(), 1)
    for (const node of dead) await one.forget(node)
    t.same(await one.dead(), [])
    pass(3 * renewEveryMs)
    await one.renew()
    t.same(await one.dead(), [], 'after a gap all have the same time to come back')
  })

  t.test('what is held by a node that is forgotten already is found as well: its bytes may come late', async (t) => {
    const { enrol, pass, client, url } = await ground(t)
    const store = await openOn(t, url, { ledger: openLedger })
    await addAccount(store)
    await holdOf(store)
    await client.query('update turn set owner = 4711')
    const one = await enrol('one')
    for (let passed = 0; passed < aliveMs; passed += renewEveryMs) {
      pass(renewEveryMs)
      await one.renew()
    }
    t.ok((await one.dead()).some(({ id }) => id === 4711))
  })

  t.test('a node that was given up for dead comes back under another number', async (t) => {
    const { enrol, silence } = await ground(t)
    const numbers: number[] = []
    const node = await enrol('node', { onNumber: (id) => void numbers.push(id) })
    const first = node.id
    await silence(node)
    await node.renew()
    t.not(node.id, first)
    t.same(numbers, [node.id])
    t.equal(await node.alive(), 1)
    await node.renew()
    t.same(numbers, [node.id], 'once')
  })

  t.test('a node knows by itself from when on it may be taken for dead', async (t) => {
    const faults: unknown[] = []
    const { enrol, client, pass } = await ground(t)
    const node = await enrol('node', { onFault: (error) => void faults.push(error) })
    pass(aliveMs - 1)
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

  t.test('a node that leaves is dead at once, and its clock is held against the database’s', async (t) => {
    const { enrol, client } = await ground(t)
    const node = await enrol('node', { clock: { now: () => Date.now() + 60_000, ticks: () => 0 } })
    t.ok(Math.abs(node.clockAheadMs - 60_000) < 2_000, `${node.clockAheadMs}`)
    await node.leave()
    t.equal(node.isAlive, false)
    const { rows } = await client.query('select count(*)::int as alive from process where alive_until > clock_timestamp()')
    t.same(rows, [{ alive: 0 }])
  })

  t.test('a chore is one node’s until it is late', async (t) => {
    const { connections, client } = await ground(t)
    const [one, other] = [new Elections(connections, { id: 1 }), new Elections(connections, { id: 2 })]
    const both = await Promise.all([one.isMine('sweep', 60_000), other.isMine('sweep', 60_000)])
    t.equal(both.filter(Boolean).length, 1)
    const [holder, waiting] = both[0] === true ? [one, other] : [other, one]
    t.equal(await holder.isMine('sweep', 60_000), true, 'whoever has it keeps it')
    t.equal(await waiting.isMine('pay', 60_000), true, 'another chore may be another’s')
    await client.query(`update chore set until = clock_timestamp() - interval '1 ms' where name = 'sweep'`)
    t.equal(await waiting.isMine('sweep', 60_000), true)
    t.equal(await holder.isMine('sweep', 60_000), false)
  })
}
