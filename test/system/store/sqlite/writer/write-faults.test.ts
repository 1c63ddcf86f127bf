/** An unwritable database: which operations wait, which are refused, and that none is executed partly. */
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import Sqlite from 'better-sqlite3'
import {
  addAccount,
  readBalance,
  createSettleOrder,
  createGrantOrder,
  reserveHold,
  noon,
  createReserveOrder,
} from '../../../../support/store/contract/store-contract.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder, openStoreAt } from '../../../../support/store/sqlite/support.ts'

t.test('refuses operations on a full disk, and continues by itself when there is room', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const open = await reserveHold(store, { amount: 10 })
  await sql`pragma max_page_count = 1`.execute(store.db.write)
  // SQLite does not lower the limit below the pages in use, so the first rows may still fit.
  const grants = await Promise.allSettled(
    Array.from({ length: 2000 }, (_, index) => store.ledger.grant(createGrantOrder(`pack${index}`, 1))),
  )
  t.match(grants.find((grant) => grant.status === 'rejected')?.reason, {
    code: 'temporarily_unavailable',
    details: { retryAfter: 30, cause: { code: 'SQLITE_FULL' } },
  })
  t.match(store.ledger.stats(), { writable: false, isDiskFull: true })
  t.same((await readBalance(store)).reserved, [10, 10, 10], 'reads still work')

  await sql`pragma max_page_count = 1000000`.execute(store.db.write)
  t.match(await store.ledger.settle(createSettleOrder(open.id, 10)), { applied: true, credits: 10 })
  t.match(store.ledger.stats(), { writable: true, isDiskFull: false })
  t.same((await store.ledger.verify()).mismatches, [])
})

t.test('waits for another process’s lock, then refuses, without blocking the event loop', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file, { busyTimeoutMs: 300 })
  await addAccount(store)
  const hog = new Sqlite(file)
  t.teardown(() => hog.close())
  hog.exec('begin immediate')
  let ticks = 0
  const timer = setInterval(() => (ticks += 1), 5)
  t.teardown(() => clearInterval(timer))
  const refusals = await Promise.allSettled(Array.from({ length: 10 }, () => store.ledger.reserve(createReserveOrder())))
  t.ok(refusals.every((refusal) => refusal.status === 'rejected'))
  t.ok(ticks > 5, `the event loop turned ${ticks} times meanwhile`)
  t.equal(store.ledger.stats().writable, false)
  t.same((await readBalance(store)).reserved, [0, 0, 0])

  const patient = store.ledger.reserve(createReserveOrder())
  hog.exec('rollback')
  t.equal((await patient).kind, 'held')
  t.ok((await store.ledger.verify()).ok)
})

t.test('refuses operations beyond the queue limit at once', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const answers = await Promise.allSettled(
    Array.from({ length: 12_000 }, () => store.ledger.reserve(createReserveOrder({ amount: 50, minAmount: 50 }))),
  )
  t.equal(answers.filter((answer) => answer.status === 'rejected').length, 2000)
  t.equal(answers.filter((answer) => answer.status === 'fulfilled' && answer.value.kind === 'held').length, 20)
})

t.test('refuses the operations of a dead writer thread, retries its settlements, and continues with a new thread', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'), { role: 'server' })
  await addAccount(store)
  const [open, ending] = [await reserveHold(store), await reserveHold(store)]
  const tooMuch = sql`
    with recursive counted(n) as (select 1 union all select n + 1 from counted limit 700)
    select printf('%.*c', 1000000, 'x') || n as megabyte from counted`
  const ended = store.ledger.settle(createSettleOrder(ending.id, 20))
  const together = await Promise.allSettled([tooMuch.execute(store.db.write), store.ledger.reserve(createReserveOrder())])
  t.same(
    together.map((answer) => answer.status),
    ['rejected', 'rejected'],
  )
  t.equal(store.ledger.stats().writable, false)
  t.match(await ended, { state: 'settled', credits: 20 }, 'whether or not it was committed')
  t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'held')
  t.equal(await store.ledger.expire(noon, noon), 0, 'this process still owns the hold')
  t.match(await store.ledger.settle(createSettleOrder(open.id, 10)), { applied: true })
  await waitUntil(() => store.ledger.stats().pendingSettlements === 0, 'no settlement to be pending')
  t.match(store.ledger.stats(), { writable: true, holdsOpen: 1 })
  t.same((await readBalance(store)).used, [30, 30, 30])
  t.same((await store.ledger.verify()).mismatches, [])
})
