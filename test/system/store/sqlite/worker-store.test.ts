/** Several threads of one server on one writer: each owns its holds, and those of an ended thread are released at once. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Test } from 'tap'
import { getJournalPath, SettlementJournal } from '../../../../src/store/sqlite/process/settlement-journal.ts'
import type { SqliteStore } from '../../../../src/store/sqlite/open.ts'
import type { WriterReply, WriterRequest } from '../../../../src/store/sqlite/connection/writer-protocol.ts'
import { openWorkerStore } from '../../../../src/store/sqlite/worker-store.ts'
import {
  toAccountId,
  addAccount,
  createSettleOrder,
  reserveHold,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../../../support/store/contract/store-contract.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

const silent = { info() {}, error() {}, fatal() {} }

async function openServer(t: Test, transactionTimeoutMs = 5_000) {
  const file = join(createTemporaryFolder(t), 'gateway.db')
  const store = await openStoreAt(t, file, { process: { id: 'server', pid: process.pid }, role: 'server', transactionTimeoutMs })
  await addAccount(store)
  return { file, store }
}

/** A thread's store, opened in this thread; its messages go through the same ports. */
async function openThread(t: Test, store: SqliteStore, thread: number) {
  const opened = await store.threads.open(thread)
  const lines = [opened.port]
  const own = await openWorkerStore({
    ...opened.parts,
    openPort: async () => lines.shift() ?? store.threads.openPort(thread),
    log: silent,
    onFault: (code) => store.threads.recordFault(code),
  })
  t.teardown(() => own.close())
  /** As when its thread ends: the port is closed. */
  return { own, cut: () => opened.port.close() }
}

function statesIn(file: string): readonly unknown[] {
  return withRawDatabase(file, (db) => db.prepare('select id, state from turn order by id').raw().all())
}

t.test("a thread that has ended leaves no hold behind, and no other thread's is touched", async (t) => {
  const { file, store } = await openServer(t)
  const [one, two] = [await openThread(t, store, 1), await openThread(t, store, 2)]
  const [lost, kept, ended, servers] = [
    await reserveHold(one.own),
    await reserveHold(two.own),
    await reserveHold(one.own),
    await reserveHold(store),
  ]
  await one.own.ledger.settle(createSettleOrder(ended.id, 30))
  one.cut()
  t.same(await store.threads.release(1), { expired: 1, recovered: 0 })
  t.same(statesIn(file), [
    [lost.id, 'expired'],
    [kept.id, 'held'],
    [ended.id, 'settled'],
    [servers.id, 'held'],
  ])
  t.same(await store.threads.release(1), { expired: 0, recovered: 0 }, 'once')
  t.equal(store.ledger.stats().releasedHolds, 1, 'the released hold is counted once')
  await two.own.ledger.settle(createSettleOrder(kept.id, 10))
  await store.ledger.refund(createRefundOrder(servers.id))
  t.ok((await store.ledger.verify()).ok)
})

t.test('writes the journaled settlement of an ended thread instead of releasing the hold', async (t) => {
  const { file, store } = await openServer(t)
  const { own, cut } = await openThread(t, store, 1)
  const [known, lost] = [await reserveHold(own), await reserveHold(own)]
  const journal = await SettlementJournal.create(file, 'server.1')
  await journal.append({ kind: 'settle', ...createSettleOrder(known.id, 40) })
  await journal.close(true)
  cut()
  t.same(await store.threads.release(1), { expired: 1, recovered: 1 })
  t.same(statesIn(file), [
    [known.id, 'settled'],
    [lost.id, 'expired'],
  ])
  t.notOk(existsSync(getJournalPath(file, 'server.1')), 'its journal is removed')
  t.ok((await store.ledger.verify()).ok)
})

t.test('executes the last request of an ended thread', async (t) => {
  const { file, store } = await openServer(t)
  const { own, cut } = await openThread(t, store, 1)
  const hold = await reserveHold(own)
  const last = own.ledger.settle(createSettleOrder(hold.id, 30)).catch(() => undefined)
  await new Promise((resolve) => setImmediate(resolve))
  cut()
  t.same(await store.threads.release(1), { expired: 0, recovered: 0 })
  t.same(statesIn(file), [[hold.id, 'settled']])
  await Promise.race([last, undefined])
})

t.test('rolls back the open transaction of an ended thread at once', async (t) => {
  const { store } = await openServer(t)
  const { own } = await openThread(t, store, 1)
  const { port } = await store.threads.open(2)
  port.postMessage(['begin'])
  const [[results]] = (await once(port, 'message')) as [WriterReply]
  t.same(results, [], 'the transaction has begun')
  const waiting = [reserveHold(own), reserveHold(store)]
  port.close()
  await Promise.all(waiting)
  t.same(await store.threads.release(2), { expired: 0, recovered: 0 })
})

t.test(
  "an operation that fails undoes nothing of another thread's in the same commit, and each is answered for itself",
  async (t) => {
    const { file, store } = await openServer(t)
    const { own } = await openThread(t, store, 1)
    const [held, kept] = [await reserveHold(own), await reserveHold(own)]
    const { port } = await store.threads.open(2)
    const endWaiting = await keepWaiting(store)
    // Ends the transaction of all that share it.
    port.postMessage(['batch', true, [['sql', 'insert or rollback into account select * from account', []]]])
    const failing = once(port, 'message')
    const settled = own.ledger.settle(createSettleOrder(held.id, 30))
    await endWaiting()
    const [[[fault]]] = (await failing) as [WriterReply]
    t.equal(fault?.[0], 'fault')
    t.match(await settled, { applied: true, credits: 30 })
    t.same(statesIn(file), [
      [held.id, 'settled'],
      [kept.id, 'held'],
    ])
    await own.ledger.refund(createRefundOrder(kept.id))
    t.ok((await store.ledger.verify()).ok)
    port.close()
  },
)

t.test(
  "a thread that is cut off while its operations share a commit leaves another thread's confirmed, and money exact",
  async (t) => {
    const { file, store } = await openServer(t)
    const [one, two] = [await openThread(t, store, 1), await openThread(t, store, 2)]
    const [lost, ended, kept] = [await reserveHold(one.own), await reserveHold(one.own), await reserveHold(two.own)]
    const endWaiting = await keepWaiting(store)
    const last = one.own.ledger.settle(createSettleOrder(ended.id, 30)).catch(() => undefined)
    const settled = two.own.ledger.settle(createSettleOrder(kept.id, 10))
    await endWaiting(one.cut)
    t.match(await settled, { applied: true, credits: 10 })
    t.same(await store.threads.release(1), { expired: 1, recovered: 0 })
    t.same(statesIn(file), [
      [lost.id, 'expired'],
      [ended.id, 'settled'],
      [kept.id, 'settled'],
    ])
    t.ok((await store.ledger.verify()).ok)
    await Promise.race([last, undefined])
  },
)

/** What is sent from now on shares a commit, which begins when the returned function is called. */
async function keepWaiting(store: SqliteStore): Promise<(before?: () => void) => Promise<void>> {
  const { port } = await store.threads.open(9)
  const request = async (message: WriterRequest): Promise<void> => {
    port.postMessage(message)
    await once(port, 'message')
  }
  await request(['begin'])
  return async (before) => {
    await new Promise((resolve) => setImmediate(resolve))
    // The second answer comes after what was sent before the first one has arrived.
    for (const _ of [1, 2]) await request(['query', ['sql', 'select 1', []]])
    before?.()
    await request(['rollback'])
    port.close()
  }
}

t.test('counts concurrent turns over all threads', async (t) => {
  const { store } = await openServer(t)
  const [one, two] = [await openThread(t, store, 1), await openThread(t, store, 2)]
  const order = createReserveOrder({ amount: 10, maxConcurrentTurns: 5 })
  const all = await Promise.all(
    Array.from({ length: 30 }, (_, index) => [one.own, two.own, store][index % 3]?.ledger.reserve(order)),
  )
  const held = all.flatMap((answer) => (answer?.kind === 'held' ? answer.hold.id : []))
  t.equal(held.length, 5)
  t.ok(all.every((answer) => answer?.kind === 'held' || answer?.kind === 'concurrency_limit'))
  await one.own.ledger.refund(createRefundOrder(held[0] ?? 0))
  t.equal((await two.own.ledger.reserve(order)).kind, 'held', 'in place of an ended turn')
  t.equal((await one.own.ledger.reserve(order)).kind, 'concurrency_limit')
  const other = await addAccount(store, 2)
  t.equal((await one.own.ledger.reserve({ ...order, account: other })).kind, 'held', 'another account has its own')
})

t.test("where the writer's thread dies, all have a new one, and a living thread's holds stay its own", async (t) => {
  const { file, store } = await openServer(t)
  const { own } = await openThread(t, store, 1)
  const hold = await reserveHold(own)
  const tooMuch = sql`
    with recursive counted(n) as (select 1 union all select n + 1 from counted limit 700)
    select printf('%.*c', 1000000, 'x') || n as megabyte from counted`
  await t.rejects(tooMuch.execute(store.db.write))
  await store.ledger.expire(noon, 0)
  t.same(statesIn(file), [[hold.id, 'held']])
  await own.ledger.settle(createSettleOrder(hold.id, 30))
  // If the port closed with the writer thread, the settlement stays in the journal until there is a new port.
  await waitUntil(() => own.ledger.stats().pendingSettlements === 0, 'no settlement to be pending')
  t.same(statesIn(file), [[hold.id, 'settled']])
  await reserveHold(own, { account: toAccountId(1) })
  await own.close()
  t.same(await store.threads.release(1), { expired: 1, recovered: 0 }, 'the thread still owns its holds')
})

t.test("a server that finds what a killed one's threads held gives it back", async (t) => {
  const file = join(createTemporaryFolder(t), 'gateway.db')
  const first = await openStoreAt(t, file, { process: { id: 'first', pid: 1 }, role: 'server' })
  await addAccount(first)
  const { own } = await openThread(t, first, 1)
  await reserveHold(own)
  await own.close()
  // Not released, as when the process is killed.
  await first.close()
  const second = await openStoreAt(t, file, { process: { id: 'second', pid: 2 }, role: 'server' })
  t.equal((await second.ledger.verify()).holdsOpen, 0)
  t.same(
    withRawDatabase(file, (db) => db.prepare('select name from process').pluck().all()),
    ['second'],
  )
})
