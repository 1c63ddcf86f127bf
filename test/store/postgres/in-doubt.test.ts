/** Answers that are lost after the commit, servers that die and come back, several nodes on one database: nothing is lost, nothing happens twice. */
import { setTimeout as after } from 'node:timers/promises'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { GatewayError } from '../../../src/errors.ts'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import type { PostgresStore } from '../../../src/store/postgres/open.ts'
import { guest } from '../../../src/store/postgres/presence.ts'
import { until } from '../../support/gateway.ts'
import { CuttingProxy } from '../../support/cutting-proxy.ts'
import type { TestCluster } from '../../support/postgres.ts'
import { clusterFor } from '../../support/postgres.ts'
import { accountId, addAccount, balanceOf, endOf, grantOf, noon, orderOf, refundOf } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const plenty = { day: 1e9, week: 1e9, month: 1e9 }
const members = 5

const cluster = await clusterFor(t, furnish, { durable: true })

/** A store whose ledger speaks to the database through a proxy; all else reaches it directly. */
async function behindProxy(t: Test, cluster: TestCluster): Promise<{ store: PostgresStore; proxy: CuttingProxy; url: string }> {
  const url = await cluster.database(t)
  const through = new URL(url)
  const proxy = await CuttingProxy.before(t, Number(through.port))
  through.port = String(proxy.port)
  const store = await openOn(t, url, { ledger: (parts) => openLedger({ ...parts, url: through.href }) })
  return { store, proxy, url }
}

/** Turns until `isOver`, each charged with 7: those whose charge was acknowledged. */
async function turnsUntil(store: PostgresStore, isOver: () => boolean, clients = 6): Promise<readonly number[]> {
  const charged: number[] = []
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (!isOver()) {
        const account = accountId(1 + (client % members))
        const answer = await store.ledger.reserve(orderOf({ account, limits: plenty })).catch(refusedInTime)
        if (answer === undefined) continue
        if (answer.kind !== 'held') throw new Error(`it answered ${answer.kind}`)
        const ending = await store.ledger.settle(endOf(answer.hold.id, 7))
        if (!ending.done) throw new Error('it had been ended before')
        charged.push(answer.hold.id)
      }
    }),
  )
  return charged
}

/** On a machine that is busy with other things a hold may wait longer than its patience: then it is refused, and given back. */
function refusedInTime(error: unknown): undefined {
  if (!(error instanceof GatewayError) || error.code !== 'temporarily_unavailable') throw error
}

async function mustAddUp(t: Test, store: PostgresStore, charged: readonly number[]): Promise<void> {
  await until(() => store.ledger.vitals().queue === 0, 'all that waits to be done')
  const { mismatches, holdsOpen } = await store.ledger.verify()
  t.same(mismatches, [])
  t.equal(holdsOpen, 0)
  const settled = await store.database.read.selectFrom('turn').select(['id', 'credits']).where('state', '=', 'settled').execute()
  t.same(new Set(settled.map(({ id }) => id)), new Set(charged), 'what was acknowledged, and nothing else')
  t.equal(
    settled.reduce((sum, { credits }) => sum + credits, 0),
    7 * charged.length,
  )
}

if (cluster !== undefined) {
  t.test('answers that are lost after the commit: each turn is charged once, and nobody hears of it', async (t) => {
    const { store, proxy } = await behindProxy(t, cluster)
    for (let index = 1; index <= members; index += 1) await addAccount(store, index)
    let over = false
    const turns = turnsUntil(store, () => over)
    for (let count = 0; count < 12; count += 1) {
      // In another phase of a batch each time, and after it has gone on.
      const before = store.ledger.vitals().operations
      await until(() => store.ledger.vitals().operations > before, 'turns to go on')
      await after(count % 6)
      await proxy.cut(10)
    }
    over = true
    const charged = await turns
    t.ok(proxy.cuts >= 6, `${proxy.cuts} cuts, ${charged.length} turns`)
    await mustAddUp(t, store, charged)
  })

  t.test('a hold and a charge whose answers were lost are answered as what they are', async (t) => {
    const { store, proxy } = await behindProxy(t, cluster)
    await addAccount(store)
    for (let count = 0; count < 4; count += 1) {
      const held = heldBy(store)
      await proxy.cut(40)
      const { id } = await held
      const ending = store.ledger.settle(endOf(id, 3))
      await proxy.cut(40)
      t.same(await ending, { done: true, state: 'settled', credits: 3, debt: 0 })
      t.match(await store.ledger.settle(endOf(id, 3)), { done: false }, 'and a second time as what it was')
    }
    t.same((await balanceOf(store)).used, [12, 12, 12])
    t.same((await store.ledger.verify()).mismatches, [])
  })

  t.test('a pack whose answer was lost is granted once', async (t) => {
    const { store, proxy } = await behindProxy(t, cluster)
    await addAccount(store)
    for (let count = 0; count < 10; count += 1) {
      const granted = store.ledger.grant(grantOf(`pack-${count}`, 10))
      await proxy.cut(30)
      t.equal((await granted).granted, 10)
    }
    t.same(Object.values((await balanceOf(store)).packs), Array(10).fill(10))
    t.same((await store.ledger.verify()).mismatches, [])
  })

  t.test('a database that crashes and comes back: turns wait, and are charged once', async (t) => {
    const url = await cluster.database(t)
    const store = await openOn(t, url, { ledger: openLedger })
    for (let index = 1; index <= members; index += 1) await addAccount(store, index)
    let over = false
    const turns = turnsUntil(store, () => over)
    await after(300)
    await cluster.crash()
    await cluster.start()
    await after(300)
    over = true
    await mustAddUp(t, store, await turns)
  })

  t.test('where the database stays away a hold is refused in time, and given back if it was made', async (t) => {
    const { store, proxy } = await behindProxy(t, cluster)
    await addAccount(store)
    await store.ledger.settle(endOf((await heldBy(store)).id, 1))
    proxy.isShut = true
    const asked = performance.now()
    const refused = t.rejects(store.ledger.reserve(orderOf()), GatewayError)
    await refused
    t.ok(performance.now() - asked < 5_000, 'within five seconds')
    t.match(store.ledger.vitals(), { writable: false })
    proxy.isShut = false
    await proxy.cut(0)
    await until(() => store.ledger.vitals().writable, 'it to be known that the database is back, though no turn asked')
    const { id } = await heldBy(store)
    await store.ledger.settle(endOf(id, 2))
    t.same((await balanceOf(store)).reserved, [0, 0, 0], 'nothing is held by what was refused')
    t.match(store.ledger.vitals(), { writable: true })
  })

  t.test('an ending whose hold another thread has made waits for the database like any other', async (t) => {
    const { store, proxy, url } = await behindProxy(t, cluster)
    await addAccount(store)
    const { id } = await heldBy(await openOn(t, url, { ledger: openLedger }))
    proxy.isShut = true
    const ending = store.ledger.settle(endOf(id, 5)).catch((error: unknown) => error)
    // Longer than a look at the database is tried, and shorter than an ending waits.
    await after(4_000)
    proxy.isShut = false
    await proxy.cut(0)
    t.match(await ending, { done: true, state: 'settled', credits: 5 })
  })

  t.test('an operation that breaks a rule of the database takes no other of its batch along', async (t) => {
    const store = await openOn(t, await cluster.database(t), { ledger: openLedger })
    await addAccount(store, 1)
    await addAccount(store, 2)
    const answers = await Promise.allSettled([
      store.ledger.reserve(orderOf()),
      store.ledger.reserve(orderOf({ account: 'acc_nobody' })),
      store.ledger.settle(endOf(987_654_321, 1)),
      store.ledger.reserve(orderOf({ account: accountId(2), want: 50 })),
      store.ledger.reserve(orderOf({ want: 60, price: { input: Number.NaN, output: 1, discountPercent: 0 } })),
    ])
    t.same(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled', 'rejected'],
    )
    t.same((await balanceOf(store)).reserved, [100, 100, 100])
    t.same((await store.ledger.verify()).mismatches, [])
  })

  t.test('three nodes: 200 turns at once on quota for 20, and one key asked fifty times', async (t) => {
    const url = await cluster.database(t)
    const stores = await Promise.all([1, 2, 3].map(() => openOn(t, url, { ledger: openLedger })))
    const [first] = stores as [PostgresStore]
    await addAccount(first)
    const nth = (index: number): PostgresStore => stores[index % 3] ?? first
    const limits = { day: 200, week: 200, month: 200 }
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => nth(index).ledger.reserve(orderOf({ limits, want: 10, floor: 10 }))),
    )
    const held = answers.flatMap((answer) => (answer.kind === 'held' ? [answer.hold.id] : []))
    t.equal(held.length, 20)
    t.equal(new Set(held).size, 20, 'each has its own number')
    await Promise.all(held.map((id, index) => nth(index).ledger.settle(endOf(id, 5))))
    t.same((await balanceOf(first, { plan: limits })).used, [100, 100, 100])

    const idempotency = { key: 'once', bodyHash: 'body' }
    const keyed = await Promise.all(
      Array.from({ length: 50 }, (_, index) => nth(index).ledger.reserve(orderOf({ limits, want: 10, idempotency }))),
    )
    t.same(keyed.map(({ kind }) => kind).toSorted(), [...Array<string>(49).fill('duplicate'), 'held'])
    const crowd = await Promise.all(
      Array.from({ length: 30 }, (_, index) => nth(index).ledger.reserve(orderOf({ want: 1, limits: plenty, concurrency: 5 }))),
    )
    t.equal(crowd.filter(({ kind }) => kind === 'held').length, 4, 'five at once, of which one ran')
    t.same((await first.ledger.verify()).mismatches, [])
  })

  t.test(
    'two nodes that give back what a dead one held, at once: each hold once, and neither stumbles over the other',
    async (t) => {
      const url = await cluster.database(t)
      const store = await openOn(t, url, { ledger: openLedger })
      for (let index = 1; index <= members; index += 1) await addAccount(store, index)
      const dead = { id: store.presence.id, name: 'dead' }
      for (let index = 0; index < 15; index += 1)
        await store.ledger.reserve(orderOf({ account: accountId(1 + (index % members)), limits: plenty }))
      const sweepers = [1, 2, 3].map(() => {
        const presence = { ...guest, dead: async () => [dead] }
        const ledger = openLedger({ url, database: store.database, presence, clock: { now: () => noon, ticks: () => 0 } })
        t.teardown(() => ledger.close(1_000))
        return ledger
      })
      // All of them have seen what is to be given back before the first one may begin.
      const keeper = new Client({ connectionString: url })
      await keeper.connect()
      await keeper.query('begin; select 1 from purse for update')
      const sweeps = sweepers.map((ledger) => ledger.expire(noon, 0))
      await until(async () => {
        // What is looked at stays as it was for as long as a transaction lasts.
        await keeper.query('select pg_stat_clear_snapshot()')
        const { rows } = await keeper.query<{ waiting: number }>(
          `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows[0]?.waiting === sweepers.length
      }, 'all of them to wait')
      await keeper.query('commit')
      await keeper.end()
      const given = await Promise.all(sweeps)
      t.equal(
        given.reduce((sum, count) => sum + count, 0),
        15,
      )
      const { mismatches, holdsOpen } = await store.ledger.verify()
      t.same([mismatches, holdsOpen], [[], 0])
      for (const ledger of sweepers) t.ok(ledger.vitals().commits < 10, 'nobody tried again and again')
    },
  )

  t.test('a hold that another node has given back is not charged by its own, and its own hears so', async (t) => {
    const url = await cluster.database(t)
    const [one, other] = [await openOn(t, url, { ledger: openLedger }), await openOn(t, url, { ledger: openLedger })]
    await addAccount(one)
    const { id } = await heldBy(one)
    t.equal((await other.ledger.refund(refundOf(id))).done, true)
    t.match(await one.ledger.settle(endOf(id, 50)), { done: false, state: 'refunded', credits: 0 })
    t.same((await balanceOf(one)).used, [0, 0, 0])
    t.same((await one.ledger.verify()).mismatches, [])
    t.equal(await one.ledger.expire(noon, 0.5), 0)
    await Promise.all([one.close(), one.close()])
    await t.rejects(one.ledger.reserve(orderOf()), GatewayError, 'and a store that is closed says so')
  })
}

async function heldBy(store: PostgresStore): Promise<{ readonly id: number }> {
  const answer = await store.ledger.reserve(orderOf())
  if (answer.kind !== 'held') throw new Error(`it answered ${answer.kind}`)
  return answer.hold
}
