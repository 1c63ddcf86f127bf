/** Several threads of one server on one writer: each owns what it holds, and what one of them leaves behind is given back at once. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Test } from 'tap'
import { journalOf, OwedJournal } from '../../../src/store/sqlite/owed-journal.ts'
import type { SqliteStore } from '../../../src/store/sqlite/open.ts'
import type { Reply } from '../../../src/store/sqlite/protocol.ts'
import { openThreadStore } from '../../../src/store/sqlite/thread-store.ts'
import { accountId, addAccount, endOf, holdOf, noon, orderOf, refundOf } from '../contract.ts'
import { until } from '../../support/gateway.ts'
import { folderOf, openAt, raw } from './support.ts'

const silent = { info() {}, error() {}, fatal() {} }

async function openServer(t: Test, transactionLimitMs = 5_000) {
  const file = join(folderOf(t), 'gateway.db')
  const store = await openAt(t, file, { process: { id: 'server', pid: process.pid }, role: 'server', transactionLimitMs })
  await addAccount(store)
  return { file, store }
}

/** A thread's store in this thread: what it says and hears goes the same way. */
async function openThread(t: Test, store: SqliteStore, thread: number) {
  const opened = await store.threads.open(thread)
  const lines = [opened.line]
  const own = await openThreadStore({
    ...opened.parts,
    line: async () => lines.shift() ?? store.threads.line(thread),
    log: silent,
    onFault: (code) => store.threads.met(code),
  })
  t.teardown(() => own.close())
  /** As when its thread ends: the line is cut, and nothing more is said on it. */
  return { own, cut: () => opened.line.close() }
}

function statesIn(file: string): readonly unknown[] {
  return raw(file, (db) => db.prepare('select id, state from turn order by id').raw().all())
}

t.test("a thread that has ended leaves no hold behind, and no other thread's is touched", async (t) => {
  const { file, store } = await openServer(t)
  const [one, two] = [await openThread(t, store, 1), await openThread(t, store, 2)]
  const [lost, kept, ended, servers] = [await holdOf(one.own), await holdOf(two.own), await holdOf(one.own), await holdOf(store)]
  await one.own.ledger.settle(endOf(ended.id, 30))
  one.cut()
  t.same(await store.threads.release(1), { expired: 1, owed: 0 })
  t.same(statesIn(file), [
    [lost.id, 'expired'],
    [kept.id, 'held'],
    [ended.id, 'settled'],
    [servers.id, 'held'],
  ])
  t.same(await store.threads.release(1), { expired: 0, owed: 0 }, 'once')
  await two.own.ledger.settle(endOf(kept.id, 10))
  await store.ledger.refund(refundOf(servers.id))
  t.ok((await store.ledger.verify()).ok)
})

t.test('what it knew of an ending is written, and not given back', async (t) => {
  const { file, store } = await openServer(t)
  const { own, cut } = await openThread(t, store, 1)
  const [known, lost] = [await holdOf(own), await holdOf(own)]
  const journal = await OwedJournal.make(file, 'server.1')
  await journal.write({ kind: 'settle', ...endOf(known.id, 40) })
  await journal.close(true)
  cut()
  t.same(await store.threads.release(1), { expired: 1, owed: 1 })
  t.same(statesIn(file), [
    [known.id, 'settled'],
    [lost.id, 'expired'],
  ])
  t.notOk(existsSync(journalOf(file, 'server.1')), 'its journal is gone')
  t.ok((await store.ledger.verify()).ok)
})

t.test('what it said last counts, although nobody was there to hear the answer', async (t) => {
  const { file, store } = await openServer(t)
  const { own, cut } = await openThread(t, store, 1)
  const hold = await holdOf(own)
  const last = own.ledger.settle(endOf(hold.id, 30)).catch(() => undefined)
  await new Promise((resolve) => setImmediate(resolve))
  cut()
  t.same(await store.threads.release(1), { expired: 0, owed: 0 })
  t.same(statesIn(file), [[hold.id, 'settled']])
  await Promise.race([last, undefined])
})

t.test('a transaction that it had begun is undone, and nobody waits for it', async (t) => {
  const { store } = await openServer(t)
  const { own } = await openThread(t, store, 1)
  const { line } = await store.threads.open(2)
  line.postMessage(['begin'])
  const [[results]] = (await once(line, 'message')) as [Reply]
  t.same(results, [], 'it has begun')
  const waiting = [holdOf(own), holdOf(store)]
  line.close()
  await Promise.all(waiting)
  t.same(await store.threads.release(2), { expired: 0, owed: 0 })
})

t.test('turns at once are counted over all threads', async (t) => {
  const { store } = await openServer(t)
  const [one, two] = [await openThread(t, store, 1), await openThread(t, store, 2)]
  const order = orderOf({ want: 10, concurrency: 5 })
  const all = await Promise.all(
    Array.from({ length: 30 }, (_, index) => [one.own, two.own, store][index % 3]?.ledger.reserve(order)),
  )
  const held = all.flatMap((answer) => (answer?.kind === 'held' ? answer.hold.id : []))
  t.equal(held.length, 5)
  t.ok(all.every((answer) => answer?.kind === 'held' || answer?.kind === 'crowded'))
  await one.own.ledger.refund(refundOf(held[0] ?? 0))
  t.equal((await two.own.ledger.reserve(order)).kind, 'held', 'the place of one that has ended')
  t.equal((await one.own.ledger.reserve(order)).kind, 'crowded')
  const other = await addAccount(store, 2)
  t.equal((await one.own.ledger.reserve({ ...order, account: other })).kind, 'held', 'another account has its own')
})

t.test("where the writer's thread dies, all have a new one, and a living thread's holds stay its own", async (t) => {
  const { file, store } = await openServer(t)
  const { own } = await openThread(t, store, 1)
  const hold = await holdOf(own)
  const tooMuch = sql`
    with recursive counted(n) as (select 1 union all select n + 1 from counted limit 700)
    select printf('%.*c', 1000000, 'x') || n as megabyte from counted`
  await t.rejects(tooMuch.execute(store.db.write))
  await store.ledger.expire(noon, 0)
  t.same(statesIn(file), [[hold.id, 'held']])
  await own.ledger.settle(endOf(hold.id, 30))
  // Where the line had broken with the thread, the ending is in the journal until there is another one.
  await until(() => own.ledger.vitals().owed === 0, 'what is owed to be paid')
  t.same(statesIn(file), [[hold.id, 'settled']])
  await holdOf(own, { account: accountId(1) })
  await own.close()
  t.same(await store.threads.release(1), { expired: 1, owed: 0 }, 'holds are still made in its name')
})

t.test("a server that finds what a killed one's threads held gives it back", async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const first = await openAt(t, file, { process: { id: 'first', pid: 1 }, role: 'server' })
  await addAccount(first)
  const { own } = await openThread(t, first, 1)
  await holdOf(own)
  await own.close()
  // Without having been released: as a process that is killed.
  await first.close()
  const second = await openAt(t, file, { process: { id: 'second', pid: 2 }, role: 'server' })
  t.equal((await second.ledger.verify()).holdsOpen, 0)
  t.same(
    raw(file, (db) => db.prepare('select name from process').pluck().all()),
    ['second'],
  )
})
