/** Settlements that the database does not accept become pending: journaled, retried, and written once, also after the process has died. */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import type { Test } from 'tap'
import { PendingSettlements } from '../../../../src/store/sqlite/settlement-retry.ts'
import { SettlementJournal, getJournalPath, readJournal } from '../../../../src/store/sqlite/process/settlement-journal.ts'
import { Writer } from '../../../../src/store/sqlite/writer/writer.ts'
import { spawnWriter } from '../../../../src/store/sqlite/writer/writer-connection.ts'
import type { SqliteStore } from '../../../../src/store/sqlite/open.ts'
import type { EndingOrder } from '../../../../src/store/ledger/orders.ts'
import { pauseThread } from '../../../support/processes/pause-thread.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import {
  addAccount,
  readBalance,
  createSettleOrder,
  createGrantOrder,
  reserveHold,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, OtherProcess, withRawDatabase } from '../../../support/store/sqlite/support.ts'

/** A server that waits 100 ms for locks, its log, and a connection that can lock the database. */
async function openServer(t: Test) {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'store.db')
  const messages: string[] = []
  const record = (_facts: object, text: string): void => void messages.push(text)
  const store = await openStoreAt(t, file, {
    role: 'server',
    busyTimeoutMs: 100,
    process: { id: 'one', pid: process.pid },
    log: { info: record, error: record, fatal: record },
  })
  await addAccount(store)
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  return { folder, file, store, messages, hog, journal: getJournalPath(file, 'one') }
}

const paid = (store: SqliteStore): Promise<void> =>
  waitUntil(() => store.ledger.stats().pendingSettlements === 0, 'no settlement to be pending')

t.test('keeps settlements durable while another process holds the lock, and writes them when it is released', async (t) => {
  const { store, hog, messages, file, journal } = await openServer(t)
  const [used, failed] = [await reserveHold(store), await reserveHold(store)]
  const beside = await openStoreAt(t, file)
  hog.exec('begin immediate')
  const [settled, refunded] = await Promise.all([
    store.ledger.settle(createSettleOrder(used.id, 30)),
    store.ledger.refund(createRefundOrder(failed.id)),
  ])
  t.match([settled, refunded], [{ state: 'settled', credits: 30 }, { state: 'refunded' }], 'the clients have their answers')
  t.match(store.ledger.stats(), { pendingSettlements: 2, pendingSince: noon, holdsOpen: 2 })
  t.same(
    readJournal(journal).map(({ kind, hold }) => [kind, hold]),
    [
      ['settle', used.id],
      ['refund', failed.id],
    ],
  )
  t.equal(statSync(journal).mode & 0o777, 0o600)
  t.equal(await beside.ledger.countPendingSettlements(), 2, 'a command beside the server counts them and does not write them')

  const late = noon + 1e12
  const sweep = store.ledger.expire(late, late)
  hog.exec('rollback')
  await sweep
  await paid(store)
  t.same(
    (await store.ledger.turns({ limit: 9 })).map(({ state, credits }) => [state, credits]),
    [
      ['refunded', 0],
      ['settled', 30],
    ],
    'no lease has ended them',
  )
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
  await waitUntil(() => readJournal(journal).length === 0, 'the journal to be cleared')
  t.equal(messages.length, 2, messages.join('; '))
  await store.close()
  t.notOk(existsSync(journal), 'the journal is removed at the end')
})

t.test('keeps the first ending of a hold when a second one comes while the first is pending', async (t) => {
  const { store, hog, journal } = await openServer(t)
  const [used, failed] = [await reserveHold(store), await reserveHold(store)]
  hog.exec('begin immediate')
  t.match(
    await Promise.all([store.ledger.settle(createSettleOrder(used.id, 30)), store.ledger.refund(createRefundOrder(failed.id))]),
    [{ applied: true }, { applied: true }],
  )
  const second = [store.ledger.refund(createRefundOrder(used.id)), store.ledger.settle(createSettleOrder(failed.id, 30))]
  hog.exec('rollback')
  t.match(await Promise.all(second), [
    { applied: false, state: 'settled', credits: 30 },
    { applied: false, state: 'refunded', credits: 0 },
  ])
  t.ok(readJournal(journal).length <= 2, 'the second ones are not in the journal')
  await paid(store)
  t.match(await store.ledger.refund(createRefundOrder(used.id)), { applied: false, state: 'settled' }, 'as from the ledger')
  t.same(
    (await store.ledger.turns({ limit: 9 })).map(({ state, credits }) => [state, credits]),
    [
      ['refunded', 0],
      ['settled', 30],
    ],
  )
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('journals a settlement after one second if the writer is slow', async (t) => {
  const { store, file, journal } = await openServer(t)
  const hold = await reserveHold(store)
  // A transaction of this process blocks the writer; no busy timeout ends it.
  const begun = Promise.withResolvers<void>()
  const transaction = store.db.write.transaction().execute(async (inside) => {
    await sql`select 1`.execute(inside)
    begun.resolve()
    await waitUntil(() => readJournal(journal).length === 1, 'the settlement to be in the journal')
    t.equal(
      withRawDatabase(file, (db) => db.prepare("select count(*) from turn where state = 'held'").pluck().get()),
      1,
    )
  })
  await begun.promise
  t.match(await store.ledger.settle(createSettleOrder(hold.id, 30)), { state: 'settled', credits: 30 })
  await transaction
  await paid(store)
  t.match(await store.ledger.turns({ limit: 9 }), [{ state: 'settled', credits: 30 }])
})

t.test('writes the pending settlements of a killed process at the next start, before it releases its other holds', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const first = await openStoreAt(t, file)
  await addAccount(first)
  const dying = new OtherProcess(t, 'owe', file)
  await dying.waitForLine('held 3')
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  hog.exec('begin immediate')
  dying.send('go')
  for (const ending of ['settled', 'refunded']) await dying.waitForLine(ending)
  await dying.kill()
  hog.exec('rollback')
  t.equal(await first.ledger.countPendingSettlements(), 2)

  const messages: string[] = []
  const log = { info: (_: object, text: string) => void messages.push(text), error: () => undefined, fatal: () => undefined }
  const next = await openStoreAt(t, file, { role: 'server', log })
  t.same(
    (await next.ledger.turns({ limit: 9 })).map(({ state, credits }) => [state, credits]),
    [
      ['expired', 0],
      ['refunded', 0],
      ['settled', 30],
    ],
  )
  t.equal(messages.length, 1)
  t.same((await readBalance(next)).used, [30, 30, 30])
  t.match(await next.ledger.verify(), { ok: true, holdsOpen: 0 })
  t.same(
    readdirSync(join(file, '..')).filter((name) => name.includes('.settlements-other')),
    [],
    'its journal is removed',
  )
})

t.test('applies a journal only to the holds of its own process', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const hold = await reserveHold(store)
  const journal = await SettlementJournal.create(file, 'a-stranger')
  await journal.append(settling(hold.id))
  await journal.close(true)
  t.equal(await store.ledger.countPendingSettlements(), 0)
  await withRawDatabase(file, (db) => db.prepare("insert into process (name, pid, started_at) values ('a-stranger', 1, 1)").run())
  t.equal(await store.ledger.expire(noon, noon), 0)
  t.match(await store.ledger.turns({ limit: 9 }), [{ state: 'held' }])
})

t.test('keeps settlements pending while the database is full, and writes them when there is room', async (t) => {
  const { store } = await openServer(t)
  const holds = await Promise.all(Array.from({ length: 400 }, () => reserveHold(store, { amount: 1 })))
  await fillDatabase(store)
  // A turn keeps room for its ending, but not for a name as long as this.
  const target = 'm'.repeat(200)
  const endings = await Promise.all(holds.map(({ id }) => store.ledger.settle({ ...createSettleOrder(id, 1), target })))
  t.ok(endings.every(({ state }) => state === 'settled'))
  t.ok(store.ledger.stats().pendingSettlements > 0, `${store.ledger.stats().pendingSettlements} are pending`)
  await makeRoom(store)
  await paid(store)
  t.same((await readBalance(store)).used, [400, 400, 400])
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('changes nothing when a settlement whose answer was lost is retried after its commit', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const hold = await reserveHold(store)
  await store.ledger.settle(createSettleOrder(hold.id, 30))
  const writer = new Writer(spawnWriter({ file, busyTimeoutMs: 100, allowCreate: false, checkpointPages: 8000 }))
  await writer.register('another', process.pid, noon)
  const pending = new PendingSettlements(writer, await SettlementJournal.create(file, 'another'), {
    info() {},
    error() {},
    fatal() {},
  })
  t.same(await pending.end(settling(hold.id)), { kind: 'ended', applied: false, state: 'settled', credits: 30, debt: 0 })
  t.equal(pending.count, 0)
  await writer.close()
  await pending.close()
})

t.test('accepts no new turn with too many pending settlements, and still ends running ones', async (t) => {
  const { store, hog } = await openServer(t)
  const holds = await Promise.all(Array.from({ length: 1_010 }, () => reserveHold(store, { amount: 0, minAmount: 0 })))
  hog.exec('begin immediate')
  await Promise.all(holds.slice(0, 1_005).map(({ id }) => store.ledger.settle(createSettleOrder(id, 0))))
  await t.rejects(store.ledger.reserve(createReserveOrder()), {
    code: 'temporarily_unavailable',
    status: 503,
    details: { retryAfter: 5 },
  })
  await Promise.all(holds.slice(1_005).map(({ id }) => store.ledger.settle(createSettleOrder(id, 0))))
  t.equal(store.ledger.stats().pendingSettlements, 1_010)
  hog.exec('rollback')
  await paid(store)
  t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'held')
})

t.test('accepts no new turn with too many pending settlements on a full disk, and writes them when there is room', async (t) => {
  const { store, journal } = await openServer(t)
  const count = 1_200
  const holds = await Promise.all(Array.from({ length: count }, () => reserveHold(store, { amount: 0, minAmount: 0 })))
  await fillDatabase(store)
  const target = 'm'.repeat(2_000)
  const endings = await Promise.all(holds.map(({ id }) => store.ledger.settle({ ...createSettleOrder(id, 0), target })))
  t.ok(
    endings.every(({ state }) => state === 'settled'),
    'running turns end',
  )
  const { pendingSettlements } = store.ledger.stats()
  t.ok(pendingSettlements >= 1_000 && pendingSettlements <= count, `${pendingSettlements} are pending`)
  t.ok(readJournal(journal).length >= pendingSettlements)
  const refusal: unknown = await store.ledger
    .reserve(createReserveOrder({ amount: 0, minAmount: 0 }))
    .catch((error: unknown) => error)
  t.match(refusal, { code: 'temporarily_unavailable', status: 503, details: { retryAfter: 30 } })
  t.notOk((refusal as Error).cause, 'the bound refuses it, not the database')
  await makeRoom(store)
  await paid(store)
  t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'held')
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 1 })
})

t.test('reports no settlement as durable if the journal fails as well, and still retries it', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const [hold, lost] = [await reserveHold(store), await reserveHold(store)]
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  const fatal: object[] = []
  const writer = new Writer(spawnWriter({ file, busyTimeoutMs: 50, allowCreate: false, checkpointPages: 8000 }))
  await writer.register('another', process.pid, noon)
  const noSpace = { append: () => Promise.reject(new Error('no space')), clear: () => undefined, close: () => Promise.resolve() }
  const pending = new PendingSettlements(
    writer,
    noSpace,
    { info() {}, error() {}, fatal: (facts) => void fatal.push(facts) },
    { responseTimeoutMs: 200 },
  )
  hog.exec('begin immediate')
  await t.rejects(pending.end(settling(hold.id)), { code: 'internal_error', cause: { code: 'SQLITE_BUSY' } })
  t.equal(pending.count, 1, 'it is still pending')
  hog.exec('rollback')
  await waitUntil(() => pending.count === 0, 'it to be written')
  t.match(await store.ledger.turns({ limit: 1, state: 'settled' }), [{ credits: 30 }])

  hog.exec('begin immediate')
  const never = t.rejects(pending.end(settling(lost.id)), { code: 'internal_error' })
  await waitUntil(() => pending.count === 1, 'it to be pending')
  await pending.drain(10)
  await writer.close()
  await pending.close()
  t.match(fatal, [{ pending: 1, lost: [{ kind: 'settle', hold: lost.id }] }], 'the log has the lost settlement')
  hog.exec('rollback')
  await never
})

t.test('reports no journaled settlement as durable while its hold may be missing on disk', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const [first, second, third] = [await reserveHold(store), await reserveHold(store), await reserveHold(store)]
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  const writer = new Writer(spawnWriter({ file, busyTimeoutMs: 50, allowCreate: false, checkpointPages: 8000 }))
  await writer.register('another', process.pid, noon)
  let hasHold = false
  const kept = { append: async () => hasHold, clear: () => undefined, close: async () => undefined }
  const pending = new PendingSettlements(writer, kept, { info() {}, error() {}, fatal() {} }, { responseTimeoutMs: 200 })
  hog.exec('begin immediate')
  await t.rejects(pending.end(settling(first.id)), { code: 'internal_error', cause: { code: 'SQLITE_BUSY' } })
  hasHold = true
  await t.rejects(pending.end(settling(second.id)), { code: 'internal_error' }, 'the hold is still not flushed')
  hog.exec('rollback')
  await waitUntil(() => pending.count === 0, 'both to be written')
  hog.exec('begin immediate')
  t.equal(await pending.end(settling(third.id)), 'journaled', 'the ledger has flushed a later operation')
  hog.exec('rollback')
  await waitUntil(() => pending.count === 0, 'it to be written')
  await writer.close()
  await pending.close()
})

t.test('reports a settlement as durable that the journal takes after a pause of the process', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const { id } = await reserveHold(store)
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  const writer = new Writer(spawnWriter({ file, busyTimeoutMs: 50, allowCreate: false, checkpointPages: 8000 }))
  await writer.register('another', process.pid, noon)
  const journal = { append: async () => true, clear: () => undefined, close: async () => undefined }
  const pending = new PendingSettlements(writer, journal, { info() {}, error() {}, fatal() {} }, { responseTimeoutMs: 1_500 })
  hog.exec('begin immediate')
  const ended = pending.end(settling(id))
  await pauseThread(2_000)
  t.equal(await ended, 'journaled')
  hog.exec('rollback')
  await waitUntil(() => pending.count === 0, 'it to be written')
  await writer.close()
  await pending.close()
})

t.test('waits for pending settlements at a stop, and leaves the rest in the journal', async (t) => {
  const { store, hog, file, messages } = await openServer(t)
  const [soon, late] = [await reserveHold(store), await reserveHold(store)]
  hog.exec('begin immediate')
  await store.ledger.settle(createSettleOrder(soon.id, 30))
  await store.ledger.settle(createSettleOrder(late.id, 40))
  await store.close({ flushMs: 50 })
  hog.exec('rollback')
  t.match(messages.at(-1), /the next start writes them from the journal/)
  const next = await openStoreAt(t, file, { role: 'server' })
  t.same((await readBalance(next)).used, [70, 70, 70])
  t.match(await next.ledger.verify(), { ok: true, holdsOpen: 0 })

  const hold = await reserveHold(next)
  hog.exec('begin immediate')
  await next.ledger.settle(createSettleOrder(hold.id, 1))
  const closed = next.close({ flushMs: 10_000 })
  hog.exec('rollback')
  await closed
  t.equal(
    withRawDatabase(file, (db) => db.prepare("select count(*) from turn where state = 'settled'").pluck().get()),
    3,
  )
})

t.test('refuses and logs a settlement that arrives after the store is closed', async (t) => {
  const { store, messages } = await openServer(t)
  const { id } = await reserveHold(store)
  await store.close()
  await t.rejects(store.ledger.settle(createSettleOrder(id, 30)), { code: 'internal_error' })
  t.match(messages.at(-1), /is lost/)
})

t.test('ignores an incomplete line and reads the others', async (t) => {
  const database = join(createTemporaryFolder(t), 'store.db')
  writeFileSync(database, '')
  const file = getJournalPath(database, 'one')
  const journal = await SettlementJournal.create(database, 'one')
  const room = statSync(file).size
  const orders = [1, 2, 3].map((hold) => settling(hold, 'upstream/模型-é'))
  await Promise.all(orders.map((order) => journal.append(order)))
  t.equal(statSync(file).size, room, 'it uses the allocated space')
  t.same(readJournal(file), orders)
  await journal.close(true)
  const whole = readFileSync(file, 'latin1')
  const second = whole.indexOf('\n') + 20
  writeFileSync(file, `${whole.slice(0, second)}?${whole.slice(second + 1)}`, 'latin1')
  appendFileSync(file, '00000000 {"kind":')
  t.same(readJournal(file), [orders[0], orders[2]])
})

type TestStore = Awaited<ReturnType<typeof openStoreAt>>

async function fillDatabase(store: TestStore): Promise<void> {
  await sql`pragma max_page_count = 1`.execute(store.db.write)
  // Rows that fit into existing pages may still be written.
  await Promise.allSettled(Array.from({ length: 2000 }, (_, index) => store.ledger.grant(createGrantOrder(`pack${index}`, 1))))
}

async function makeRoom(store: TestStore): Promise<void> {
  // In one commit with settlements that have no room it is refused with them.
  const isAccepted = (): Promise<boolean> =>
    sql`pragma max_page_count = 1000000`.execute(store.db.write).then(
      () => true,
      () => false,
    )
  await waitUntil(isAccepted, 'space to be freed')
}

function settling(hold: number, target: string | null = null): EndingOrder {
  return { kind: 'settle', ...createSettleOrder(hold, 30), target }
}
