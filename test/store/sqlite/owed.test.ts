/** An ending that the database does not take is owed: kept in the journal, tried again, and written once, also after the process has died. */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import type { Test } from 'tap'
import { Owed } from '../../../src/store/sqlite/owed.ts'
import { OwedJournal, journalOf, readJournal } from '../../../src/store/sqlite/owed-journal.ts'
import { Writer } from '../../../src/store/sqlite/writer.ts'
import { threadOf } from '../../../src/store/sqlite/writer-link.ts'
import type { SqliteStore } from '../../../src/store/sqlite/open.ts'
import type { EndingOrder } from '../../../src/store/ledger/endings.ts'
import { until } from '../../support/gateway.ts'
import { addAccount, balanceOf, endOf, grantOf, holdOf, noon, orderOf, refundOf } from '../contract.ts'
import { folderOf, openAt, Other, raw } from './support.ts'

/** A server that waits a tenth of a second for locks, with a log, and another process's lock to be had. */
async function server(t: Test) {
  const folder = folderOf(t)
  const file = join(folder, 'store.db')
  const told: string[] = []
  const tell = (_facts: object, text: string): void => void told.push(text)
  const store = await openAt(t, file, {
    role: 'server',
    busyTimeoutMs: 100,
    process: { id: 'one', pid: process.pid },
    log: { info: tell, error: tell, fatal: tell },
  })
  await addAccount(store)
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  return { folder, file, store, told, hog, journal: journalOf(file, 'one') }
}

const paid = (store: SqliteStore): Promise<void> => until(() => store.ledger.vitals().owed === 0, 'what is owed to be paid')

t.test(
  'while another process keeps the lock endings are owed: durable, not given back, and written once it is gone',
  async (t) => {
    const { store, hog, told, file, journal } = await server(t)
    const [used, failed] = [await holdOf(store), await holdOf(store)]
    const beside = await openAt(t, file)
    hog.exec('begin immediate')
    const [settled, refunded] = await Promise.all([
      store.ledger.settle(endOf(used.id, 30)),
      store.ledger.refund(refundOf(failed.id)),
    ])
    t.match([settled, refunded], [{ state: 'settled', credits: 30 }, { state: 'refunded' }], 'their clients have their answers')
    t.match(store.ledger.vitals(), { owed: 2, owedSince: noon, holdsOpen: 2 })
    t.same(
      readJournal(journal).map(({ kind, hold }) => [kind, hold]),
      [
        ['settle', used.id],
        ['refund', failed.id],
      ],
    )
    t.equal(statSync(journal).mode & 0o777, 0o600)
    t.equal(await beside.ledger.owed(), 2, 'a command beside the server sees them, and leaves them to it')

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
      'no lease ended them meanwhile',
    )
    t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
    await until(() => readJournal(journal).length === 0, 'the journal to be cleared')
    t.equal(told.length, 2, told.join('; '))
    await store.close()
    t.notOk(existsSync(journal), 'and taken away at the end')
  },
)

t.test('a writer that only takes long is not waited for longer than a second', async (t) => {
  const { store, file, journal } = await server(t)
  const hold = await holdOf(store)
  // A transaction of our own process is in the way, which no busy timeout ends.
  const begun = Promise.withResolvers<void>()
  const transaction = store.db.write.transaction().execute(async (inside) => {
    await sql`select 1`.execute(inside)
    begun.resolve()
    await until(() => readJournal(journal).length === 1, 'the ending to be in the journal')
    t.equal(
      raw(file, (db) => db.prepare("select count(*) from turn where state = 'held'").pluck().get()),
      1,
    )
  })
  await begun.promise
  t.match(await store.ledger.settle(endOf(hold.id, 30)), { state: 'settled', credits: 30 })
  await transaction
  await paid(store)
  t.match(await store.ledger.turns({ limit: 9 }), [{ state: 'settled', credits: 30 }])
})

t.test('a process that is killed while it owes: the next start writes it, before it gives back what is left', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const first = await openAt(t, file)
  await addAccount(first)
  const dying = new Other(t, 'owe', file)
  await dying.line('held 3')
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  hog.exec('begin immediate')
  dying.tell('go')
  for (const ending of ['settled', 'refunded']) await dying.line(ending)
  await dying.kill()
  hog.exec('rollback')
  t.equal(await first.ledger.owed(), 2)

  const told: string[] = []
  const log = { info: (_: object, text: string) => void told.push(text), error: () => undefined, fatal: () => undefined }
  const next = await openAt(t, file, { role: 'server', log })
  t.same(
    (await next.ledger.turns({ limit: 9 })).map(({ state, credits }) => [state, credits]),
    [
      ['expired', 0],
      ['refunded', 0],
      ['settled', 30],
    ],
  )
  t.equal(told.length, 1)
  t.same((await balanceOf(next)).used, [30, 30, 30])
  t.match(await next.ledger.verify(), { ok: true, holdsOpen: 0 })
  t.same(
    readdirSync(join(file, '..')).filter((name) => name.includes('.owed-other')),
    [],
    'its journal is gone',
  )
})

t.test('a journal is for the holds of its own process alone', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const hold = await holdOf(store)
  const journal = await OwedJournal.make(file, 'a-stranger')
  await journal.write(settling(hold.id))
  await journal.close(true)
  t.equal(await store.ledger.owed(), 0)
  await raw(file, (db) => db.prepare("insert into process (name, pid, started_at) values ('a-stranger', 1, 1)").run())
  t.equal(await store.ledger.expire(noon, noon), 0)
  t.match(await store.ledger.turns({ limit: 9 }), [{ state: 'held' }])
})

t.test('a full database owes, and pays when it has room', async (t) => {
  const { store } = await server(t)
  const holds = await Promise.all(Array.from({ length: 400 }, () => holdOf(store, { want: 1 })))
  await sql`pragma max_page_count = 1`.execute(store.db.write)
  // What fits into pages that are there already may still be taken.
  await Promise.allSettled(Array.from({ length: 2000 }, (_, index) => store.ledger.grant(grantOf(`pack${index}`, 1))))
  // A turn keeps room for its ending, but not for a name as long as this.
  const target = 'm'.repeat(200)
  const endings = await Promise.all(holds.map(({ id }) => store.ledger.settle({ ...endOf(id, 1), target })))
  t.ok(endings.every(({ state }) => state === 'settled'))
  t.ok(store.ledger.vitals().owed > 0, `${store.ledger.vitals().owed} are owed`)
  // Where it shares a commit with endings that have no room it is refused with them.
  const makeRoom = () => sql`pragma max_page_count = 1000000`.execute(store.db.write)
  await until(
    () =>
      makeRoom().then(
        () => true,
        () => false,
      ),
    'room to be made',
  )
  await paid(store)
  t.same((await balanceOf(store)).used, [400, 400, 400])
  t.match(await store.ledger.verify(), { ok: true, holdsOpen: 0 })
})

t.test('a commit that was done though its answer never came: given again it changes nothing, and is paid', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const hold = await holdOf(store)
  await store.ledger.settle(endOf(hold.id, 30))
  const writer = new Writer(threadOf({ file, busyTimeoutMs: 100, mayBeNew: false, checkpointPages: 8000 }))
  await writer.enrol('another', process.pid, noon)
  const owed = new Owed(writer, await OwedJournal.make(file, 'another'), { info() {}, error() {}, fatal() {} })
  t.same(await owed.end(settling(hold.id)), ['ended', false, 'settled', 30, 0])
  t.equal(owed.count, 0)
  await writer.close()
  await owed.close()
})

t.test('beyond a number of owed endings no new turn is begun; those that run may still end', async (t) => {
  const { store, hog } = await server(t)
  const holds = await Promise.all(Array.from({ length: 1_010 }, () => holdOf(store, { want: 0, floor: 0 })))
  hog.exec('begin immediate')
  await Promise.all(holds.slice(0, 1_005).map(({ id }) => store.ledger.settle(endOf(id, 0))))
  await t.rejects(store.ledger.reserve(orderOf()), { code: 'temporarily_unavailable', status: 503, details: { retryAfter: 5 } })
  await Promise.all(holds.slice(1_005).map(({ id }) => store.ledger.settle(endOf(id, 0))))
  t.equal(store.ledger.vitals().owed, 1_010)
  hog.exec('rollback')
  await paid(store)
  t.equal((await store.ledger.reserve(orderOf())).kind, 'held')
})

t.test('where the journal refuses as well nobody is told that it is durable, and it is tried again all the same', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const [hold, lost] = [await holdOf(store), await holdOf(store)]
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  const fatal: object[] = []
  const writer = new Writer(threadOf({ file, busyTimeoutMs: 50, mayBeNew: false, checkpointPages: 8000 }))
  await writer.enrol('another', process.pid, noon)
  const noSpace = { write: () => Promise.reject(new Error('no space')), clear: () => undefined, close: () => Promise.resolve() }
  const owed = new Owed(writer, noSpace, { info() {}, error() {}, fatal: (facts) => void fatal.push(facts) }, 200)
  hog.exec('begin immediate')
  await t.rejects(owed.end(settling(hold.id)), { code: 'internal_error', cause: { code: 'SQLITE_BUSY' } })
  t.equal(owed.count, 1, 'it is still owed')
  hog.exec('rollback')
  await until(() => owed.count === 0, 'it to be written')
  t.match(await store.ledger.turns({ limit: 1, state: 'settled' }), [{ credits: 30 }])

  hog.exec('begin immediate')
  const never = t.rejects(owed.end(settling(lost.id)), { code: 'internal_error' })
  await until(() => owed.count === 1, 'it to be owed')
  await owed.drain(10)
  await writer.close()
  await owed.close()
  t.match(fatal, [{ owed: 1, lost: [{ kind: 'settle', hold: lost.id }] }], 'the log is the last to have it')
  hog.exec('rollback')
  await never
})

t.test('while the disk may lack the hold of an ending, its being in the journal is told to nobody', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const [first, second, third] = [await holdOf(store), await holdOf(store), await holdOf(store)]
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  const writer = new Writer(threadOf({ file, busyTimeoutMs: 50, mayBeNew: false, checkpointPages: 8000 }))
  await writer.enrol('another', process.pid, noon)
  let hasHold = false
  const kept = { write: async () => hasHold, clear: () => undefined, close: async () => undefined }
  const owed = new Owed(writer, kept, { info() {}, error() {}, fatal() {} }, 200)
  hog.exec('begin immediate')
  await t.rejects(owed.end(settling(first.id)), { code: 'internal_error', cause: { code: 'SQLITE_BUSY' } })
  hasHold = true
  await t.rejects(owed.end(settling(second.id)), { code: 'internal_error' }, 'what was lacking is not there by itself')
  hog.exec('rollback')
  await until(() => owed.count === 0, 'both to be written')
  hog.exec('begin immediate')
  t.equal(await owed.end(settling(third.id)), 'journaled', 'the ledger has flushed what it was given since')
  hog.exec('rollback')
  await until(() => owed.count === 0, 'it to be written')
  await writer.close()
  await owed.close()
})

t.test('a clean stop waits for what is owed, and leaves the rest in the journal', async (t) => {
  const { store, hog, file, told } = await server(t)
  const [soon, late] = [await holdOf(store), await holdOf(store)]
  hog.exec('begin immediate')
  await store.ledger.settle(endOf(soon.id, 30))
  await store.ledger.settle(endOf(late.id, 40))
  await store.close({ owedMs: 50 })
  hog.exec('rollback')
  t.match(told.at(-1), /the journal has them for the next start/)
  const next = await openAt(t, file, { role: 'server' })
  t.same((await balanceOf(next)).used, [70, 70, 70])
  t.match(await next.ledger.verify(), { ok: true, holdsOpen: 0 })

  const hold = await holdOf(next)
  hog.exec('begin immediate')
  await next.ledger.settle(endOf(hold.id, 1))
  const closed = next.close({ owedMs: 10_000 })
  hog.exec('rollback')
  await closed
  t.equal(
    raw(file, (db) => db.prepare("select count(*) from turn where state = 'settled'").pluck().get()),
    3,
  )
})

t.test('an ending that comes after the store has closed is refused, and told', async (t) => {
  const { store, told } = await server(t)
  const { id } = await holdOf(store)
  await store.close()
  await t.rejects(store.ledger.settle(endOf(id, 30)), { code: 'internal_error' })
  t.match(told.at(-1), /is lost/)
})

t.test('a line that is not whole is none, and takes no other with it', async (t) => {
  const database = join(folderOf(t), 'store.db')
  writeFileSync(database, '')
  const file = journalOf(database, 'one')
  const journal = await OwedJournal.make(database, 'one')
  const room = statSync(file).size
  const orders = [1, 2, 3].map((hold) => settling(hold, 'upstream/模型-é'))
  await Promise.all(orders.map((order) => journal.write(order)))
  t.equal(statSync(file).size, room, 'it lies in the room that was taken before')
  t.same(readJournal(file), orders)
  await journal.close(true)
  const whole = readFileSync(file, 'latin1')
  const second = whole.indexOf('\n') + 20
  writeFileSync(file, `${whole.slice(0, second)}?${whole.slice(second + 1)}`, 'latin1')
  appendFileSync(file, '00000000 {"kind":')
  t.same(readJournal(file), [orders[0], orders[2]])
})

function settling(hold: number, target: string | null = null): EndingOrder {
  return { kind: 'settle', ...endOf(hold, 30), target }
}
