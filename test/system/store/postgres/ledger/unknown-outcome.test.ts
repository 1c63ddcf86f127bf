/** Lost answers after a commit, servers that crash and return, several nodes on one database: nothing is lost or executed twice. */
import { setTimeout as after } from 'node:timers/promises'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { GatewayError } from '../../../../../src/errors.ts'
import { SeenDatabase } from '../../../../../src/store/postgres/connection/seen-database.ts'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import type { PostgresStore } from '../../../../../src/store/postgres/open.ts'
import { commandLease } from '../../../../../src/store/postgres/cluster/node-lease.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { FaultProxy } from '../../../../support/servers/fault-proxy.ts'
import type { TestPostgresServer } from '../../../../support/servers/postgres/postgres.ts'
import { startPostgresServer } from '../../../../support/servers/postgres/postgres.ts'
import {
  toAccountId,
  addAccount,
  readBalance,
  createSettleOrder,
  createGrantOrder,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const plenty = { day: 1e9, week: 1e9, month: 1e9 }
const members = 5

const cluster = await startPostgresServer(t, createTestSchema, { durable: true })

/** A store whose ledger connects through a proxy; everything else connects directly. */
async function openBehindProxy(
  t: Test,
  cluster: TestPostgresServer,
): Promise<{ store: PostgresStore; proxy: FaultProxy; url: string }> {
  const url = await cluster.createDatabase(t)
  const through = new URL(url)
  const proxy = await FaultProxy.start(t, Number(through.port))
  through.port = String(proxy.port)
  const store = await openTestStore(t, url, { ledger: (parts) => openLedger({ ...parts, url: through.href }) })
  return { store, proxy, url }
}

/** Runs turns of 7 credits until `isOver`; returns those whose charge was acknowledged. */
async function runTurnsUntil(store: PostgresStore, isOver: () => boolean, clients = 6): Promise<readonly number[]> {
  const charged: number[] = []
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (!isOver()) {
        const account = toAccountId(1 + (client % members))
        const answer = await store.ledger.reserve(createReserveOrder({ account, limits: plenty })).catch(assertUnavailable)
        if (answer === undefined) continue
        if (answer.kind !== 'held') throw new Error(`it answered ${answer.kind}`)
        const ending = await store.ledger.settle(createSettleOrder(answer.hold.id, 7))
        if (!ending.applied) throw new Error('it had been ended before')
        charged.push(answer.hold.id)
      }
    }),
  )
  return charged
}

/** On a busy machine a hold may time out: then it is refused and released. */
function assertUnavailable(error: unknown): undefined {
  if (!(error instanceof GatewayError) || error.code !== 'temporarily_unavailable') throw error
}

async function assertLedgerAddsUp(t: Test, store: PostgresStore, charged: readonly number[]): Promise<void> {
  await waitUntil(() => store.ledger.stats().queue === 0, 'the queue to be empty')
  const { mismatches, holdsOpen } = await store.ledger.verify()
  t.same(mismatches, [])
  t.equal(holdsOpen, 0)
  const settled = await store.database.read.selectFrom('turn').select(['id', 'credits']).where('state', '=', 'settled').execute()
  t.same(new Set(settled.map(({ id }) => id)), new Set(charged), 'exactly the acknowledged turns')
  t.equal(
    settled.reduce((sum, { credits }) => sum + credits, 0),
    7 * charged.length,
  )
}

if (cluster !== undefined) {
  t.test('charges each turn once when answers are lost after the commit', async (t) => {
    const { store, proxy } = await openBehindProxy(t, cluster)
    for (let index = 1; index <= members; index += 1) await addAccount(store, index)
    let over = false
    const turns = runTurnsUntil(store, () => over)
    for (let count = 0; count < 12; count += 1) {
      // In another phase of a batch each time, after some progress.
      const before = store.ledger.stats().operations
      await waitUntil(() => store.ledger.stats().operations > before, 'turns to continue')
      await after(count % 6)
      await proxy.dropConnections(10)
    }
    over = true
    const charged = await turns
    t.ok(proxy.droppedConnections >= 6, `${proxy.droppedConnections} cuts, ${charged.length} turns`)
    await assertLedgerAddsUp(t, store, charged)
  })

  t.test('returns the outcome of a hold and a charge whose answers were lost', async (t) => {
    const { store, proxy } = await openBehindProxy(t, cluster)
    await addAccount(store)
    for (let count = 0; count < 4; count += 1) {
      const held = heldBy(store)
      await proxy.dropConnections(40)
      const { id } = await held
      const ending = store.ledger.settle(createSettleOrder(id, 3))
      await proxy.dropConnections(40)
      t.same(await ending, { applied: true, state: 'settled', credits: 3, debt: 0 })
      t.match(await store.ledger.settle(createSettleOrder(id, 3)), { applied: false }, 'a second time with its state')
    }
    t.same((await readBalance(store)).used, [12, 12, 12])
    t.same((await store.ledger.verify()).mismatches, [])
  })

  t.test('grants a pack once when its answer is lost', async (t) => {
    const { store, proxy } = await openBehindProxy(t, cluster)
    await addAccount(store)
    for (let count = 0; count < 10; count += 1) {
      const granted = store.ledger.grant(createGrantOrder(`pack-${count}`, 10))
      await proxy.dropConnections(30)
      t.equal((await granted).granted, 10)
    }
    t.same(Object.values((await readBalance(store)).packs), Array(10).fill(10))
    t.same((await store.ledger.verify()).mismatches, [])
  })

  t.test('lets turns wait for a database that crashes and returns, and charges them once', async (t) => {
    const url = await cluster.createDatabase(t)
    const store = await openTestStore(t, url, { ledger: openLedger })
    for (let index = 1; index <= members; index += 1) await addAccount(store, index)
    let over = false
    const turns = runTurnsUntil(store, () => over)
    await after(300)
    await cluster.crash()
    await cluster.start()
    await after(300)
    over = true
    await assertLedgerAddsUp(t, store, await turns)
  })

  t.test('refuses a hold in time while the database is unavailable, and releases it if it was made', async (t) => {
    const { store, proxy } = await openBehindProxy(t, cluster)
    await addAccount(store)
    await store.ledger.settle(createSettleOrder((await heldBy(store)).id, 1))
    proxy.isBlocked = true
    await t.rejects(store.ledger.reserve(createReserveOrder()), GatewayError)
    t.match(store.ledger.stats(), { writable: false })
    proxy.isBlocked = false
    await proxy.dropConnections(0)
    await waitUntil(() => store.ledger.stats().writable, 'the probe to find the database again without a turn')
    const { id } = await heldBy(store)
    await store.ledger.settle(createSettleOrder(id, 2))
    t.same((await readBalance(store)).reserved, [0, 0, 0], 'refused turns hold nothing')
    t.match(store.ledger.stats(), { writable: true })
  })

  t.test('waits for the database with a settlement whose hold another thread has made', async (t) => {
    const { store, proxy, url } = await openBehindProxy(t, cluster)
    await addAccount(store)
    const { id } = await heldBy(await openTestStore(t, url, { ledger: openLedger }))
    proxy.isBlocked = true
    const ending = store.ledger.settle(createSettleOrder(id, 5)).catch((error: unknown) => error)
    // Longer than a probe and shorter than the timeout of a settlement.
    await after(4_000)
    proxy.isBlocked = false
    await proxy.dropConnections(0)
    t.match(await ending, { applied: true, state: 'settled', credits: 5 })
  })

  t.test('fails only the operation of a batch that violates a constraint', async (t) => {
    const store = await openTestStore(t, await cluster.createDatabase(t), { ledger: openLedger })
    await addAccount(store, 1)
    await addAccount(store, 2)
    const answers = await Promise.allSettled([
      store.ledger.reserve(createReserveOrder()),
      store.ledger.reserve(createReserveOrder({ account: 'acc_nobody' })),
      store.ledger.settle(createSettleOrder(987_654_321, 1)),
      store.ledger.reserve(createReserveOrder({ account: toAccountId(2), amount: 50 })),
      store.ledger.reserve(createReserveOrder({ amount: 60, price: { input: Number.NaN, output: 1, discountPercent: 0 } })),
    ])
    t.same(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled', 'rejected'],
    )
    t.same((await readBalance(store)).reserved, [100, 100, 100])
    t.same((await store.ledger.verify()).mismatches, [])
  })

  t.test('admits 20 of 200 concurrent turns on three nodes, and one of fifty with the same key', async (t) => {
    const url = await cluster.createDatabase(t)
    const stores = await Promise.all([1, 2, 3].map(() => openTestStore(t, url, { ledger: openLedger })))
    const [first] = stores as [PostgresStore]
    await addAccount(first)
    const nth = (index: number): PostgresStore => stores[index % 3] ?? first
    const limits = { day: 200, week: 200, month: 200 }
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        nth(index).ledger.reserve(createReserveOrder({ limits, amount: 10, minAmount: 10 })),
      ),
    )
    const held = answers.flatMap((answer) => (answer.kind === 'held' ? [answer.hold.id] : []))
    t.equal(held.length, 20)
    t.equal(new Set(held).size, 20, 'each has an id of its own')
    await Promise.all(held.map((id, index) => nth(index).ledger.settle(createSettleOrder(id, 5))))
    t.same((await readBalance(first, { plan: limits })).used, [100, 100, 100])

    const idempotency = { key: 'once', bodyHash: 'body' }
    const keyed = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        nth(index).ledger.reserve(createReserveOrder({ limits, amount: 10, idempotency })),
      ),
    )
    t.same(keyed.map(({ kind }) => kind).toSorted(), [...Array<string>(49).fill('duplicate'), 'held'])
    const crowd = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        nth(index).ledger.reserve(createReserveOrder({ amount: 1, limits: plenty, maxConcurrentTurns: 5 })),
      ),
    )
    t.equal(crowd.filter(({ kind }) => kind === 'held').length, 4, 'the limit is five and one is running')
    t.same((await first.ledger.verify()).mismatches, [])
  })

  t.test('releases each hold of a dead node once when several nodes sweep at the same time', async (t) => {
    const url = await cluster.createDatabase(t)
    const store = await openTestStore(t, url, { ledger: openLedger })
    for (let index = 1; index <= members; index += 1) await addAccount(store, index)
    const dead = { id: store.nodeLease.id, name: 'dead' }
    for (let index = 0; index < 15; index += 1)
      await store.ledger.reserve(createReserveOrder({ account: toAccountId(1 + (index % members)), limits: plenty }))
    const sweepers = [1, 2, 3].map(() => {
      const nodeLease = { ...commandLease, findDeadNodes: async () => [dead] }
      const ledger = openLedger({
        url,
        seen: new SeenDatabase(),
        database: store.database,
        nodeLease,
        clock: { now: () => noon, monotonicMs: () => 0 },
      })
      t.teardown(() => ledger.close(1_000))
      return ledger
    })
    // All have read the holds to release before the first may begin.
    const keeper = new Client({ connectionString: url })
    await keeper.connect()
    await keeper.query('begin; select 1 from balance for update')
    const sweeps = sweepers.map((ledger) => ledger.expire(noon, 0))
    await waitUntil(async () => {
      // Statistics are cached for the duration of a transaction.
      await keeper.query('select pg_stat_clear_snapshot()')
      const { rows } = await keeper.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows[0]?.waiting === sweepers.length
    }, 'all sweeps to wait for the lock')
    await keeper.query('commit')
    await keeper.end()
    const released = await Promise.all(sweeps)
    t.equal(
      released.reduce((sum, count) => sum + count, 0),
      15,
    )
    const { mismatches, holdsOpen } = await store.ledger.verify()
    t.same([mismatches, holdsOpen], [[], 0])
    t.same(
      sweepers.map((ledger) => ledger.stats().releasedHolds),
      released,
      'each counts what it has released',
    )
    for (const ledger of sweepers) t.ok(ledger.stats().commits < 10, 'no node retried repeatedly')
  })

  t.test('does not charge a hold that another node has released', async (t) => {
    const url = await cluster.createDatabase(t)
    const [one, other] = [
      await openTestStore(t, url, { ledger: openLedger }),
      await openTestStore(t, url, { ledger: openLedger }),
    ]
    await addAccount(one)
    const { id } = await heldBy(one)
    t.equal((await other.ledger.refund(createRefundOrder(id))).applied, true)
    t.match(await one.ledger.settle(createSettleOrder(id, 50)), { applied: false, state: 'refunded', credits: 0 })
    t.same((await readBalance(one)).used, [0, 0, 0])
    t.same((await one.ledger.verify()).mismatches, [])
    t.equal(await one.ledger.expire(noon, 0.5), 0)
    await Promise.all([one.close(), one.close()])
    await t.rejects(one.ledger.reserve(createReserveOrder()), GatewayError, 'a closed store refuses')
  })
}

async function heldBy(store: PostgresStore): Promise<{ readonly id: number }> {
  const answer = await store.ledger.reserve(createReserveOrder())
  if (answer.kind !== 'held') throw new Error(`it answered ${answer.kind}`)
  return answer.hold
}
