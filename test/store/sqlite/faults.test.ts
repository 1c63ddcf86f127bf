/** A database that cannot be written: what waits, what is refused, and that nothing is half done. */
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import Sqlite from 'better-sqlite3'
import { addAccount, balanceOf, endOf, grantOf, holdOf, noon, orderOf } from '../contract.ts'
import { until } from '../../support/gateway.ts'
import { folderOf, openAt } from './support.ts'

t.test('on a full disk operations are refused, nothing is half done, and it goes on by itself once there is room', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const open = await holdOf(store, { want: 10 })
  await sql`pragma max_page_count = 1`.execute(store.db.write)
  // SQLite never goes below what is in use, so the first few rows may still fit.
  const grants = await Promise.allSettled(
    Array.from({ length: 2000 }, (_, index) => store.ledger.grant(grantOf(`pack${index}`, 1))),
  )
  t.match(grants.find((grant) => grant.status === 'rejected')?.reason, {
    code: 'internal_error',
    details: { cause: { code: 'SQLITE_FULL' } },
  })
  t.equal(store.ledger.vitals().writable, false)
  t.same((await balanceOf(store)).reserved, [10, 10, 10], 'reading still works')

  await sql`pragma max_page_count = 1000000`.execute(store.db.write)
  t.match(await store.ledger.settle(endOf(open.id, 10)), { done: true, credits: 10 })
  t.equal(store.ledger.vitals().writable, true)
  t.same((await store.ledger.verify()).mismatches, [])
})

t.test('while another process keeps the lock operations wait, then are refused; the event loop goes on', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file, { busyTimeoutMs: 300 })
  await addAccount(store)
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  hog.exec('begin immediate')
  let ticks = 0
  const timer = setInterval(() => (ticks += 1), 5)
  t.teardown(() => clearInterval(timer))
  const refusals = await Promise.allSettled(Array.from({ length: 10 }, () => store.ledger.reserve(orderOf())))
  t.ok(refusals.every((refusal) => refusal.status === 'rejected'))
  t.ok(ticks > 5, `the event loop turned ${ticks} times meanwhile`)
  t.equal(store.ledger.vitals().writable, false)
  t.same((await balanceOf(store)).reserved, [0, 0, 0])

  const patient = store.ledger.reserve(orderOf())
  hog.exec('rollback')
  t.equal((await patient).kind, 'held')
  t.ok((await store.ledger.verify()).ok)
})

t.test('more operations than the queue holds are refused at once, and none of them half done', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const answers = await Promise.allSettled(
    Array.from({ length: 12_000 }, () => store.ledger.reserve(orderOf({ want: 50, floor: 50 }))),
  )
  t.equal(answers.filter((answer) => answer.status === 'rejected').length, 2000)
  t.equal(answers.filter((answer) => answer.status === 'fulfilled' && answer.value.kind === 'held').length, 20)
})

t.test(
  'when the writer’s thread dies its operations are refused, what is to end is given again, and the next ones go on with another, holds and all',
  async (t) => {
    const store = await openAt(t, join(folderOf(t), 'store.db'), { role: 'server' })
    await addAccount(store)
    const [open, ending] = [await holdOf(store), await holdOf(store)]
    const tooMuch = sql`
    with recursive counted(n) as (select 1 union all select n + 1 from counted limit 700)
    select printf('%.*c', 1000000, 'x') || n as megabyte from counted`
    const ended = store.ledger.settle(endOf(ending.id, 20))
    const together = await Promise.allSettled([tooMuch.execute(store.db.write), store.ledger.reserve(orderOf())])
    t.same(
      together.map((answer) => answer.status),
      ['rejected', 'rejected'],
    )
    t.equal(store.ledger.vitals().writable, false)
    t.match(await ended, { state: 'settled', credits: 20 }, 'whether or not its commit was done')
    t.equal((await store.ledger.reserve(orderOf())).kind, 'held')
    t.equal(await store.ledger.expire(noon, noon), 0, 'the hold is still this process’s own')
    t.match(await store.ledger.settle(endOf(open.id, 10)), { done: true })
    await until(() => store.ledger.vitals().owed === 0, 'what is owed to be paid')
    t.match(store.ledger.vitals(), { writable: true, holdsOpen: 1 })
    t.same((await balanceOf(store)).used, [30, 30, 30])
    t.same((await store.ledger.verify()).mismatches, [])
  },
)
