/** Books of the first version, carried over or left alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { migrate } from '../../../src/store/migrate.ts'
import { migrations } from '../../../src/store/migrations/all.ts'
import { openForReading, prepareFile } from '../../../src/store/sqlite/connection.ts'
import { databaseOn, sqliteDialect } from '../../../src/store/sqlite/dialect.ts'
import { readingOf } from '../../../src/store/sqlite/reading.ts'
import { verifyFile } from '../../../src/store/sqlite/verify-file.ts'
import { Writer } from '../../../src/store/sqlite/writer.ts'
import { threadOf } from '../../../src/store/sqlite/writer-link.ts'
import { accountId, balanceOf, endOf, holdOf, noon } from '../contract.ts'
import { folderOf, openAt, raw } from '../sqlite/support.ts'

const tomorrow = noon + 86_400_000

/** A database as the first version left it when it was killed. */
async function oldDatabase(t: Test): Promise<string> {
  const file = join(folderOf(t), 'store.db')
  prepareFile(file)
  const writer = new Writer(threadOf({ file, busyTimeoutMs: 1000, mayBeNew: true, checkpointPages: 8000 }))
  await writer.ready()
  const reader = openForReading(file, 1000)
  await migrate(databaseOn(readingOf(reader), writer).write, sqliteDialect, () => noon, migrations.slice(0, 4))
  reader.close()
  await writer.close()
  raw(file, (db) => db.exec(readFileSync(join(import.meta.dirname, 'version-1.sql'), 'utf8')))
  return file
}

t.test('books of the first version are carried over: balances, turns, open holds, and they go on', async (t) => {
  const file = await oldDatabase(t)
  const old = raw(file, (db) => db.prepare('select id, state, credits, debt, price_input from turn order by id').all())
  const store = await openAt(t, file, { role: 'server' })
  t.match(await store.ledger.verify(), { ok: true, mismatches: [], holdsOpen: 0, accounts: 3, turns: 8 })
  const now = raw(file, (db) => db.prepare('select id, state, credits, debt, price_input from turn order by id').all())
  t.same(now.slice(0, -2), old.slice(0, -2), 'no turn has become another')
  t.match(now.slice(-2), [{ state: 'expired' }, { state: 'expired' }], 'but the two whose process is dead')
  // What the first version itself said of these balances before it was killed.
  t.match(await balanceOf(store), { used: [1240, 1245, 1245], debt: [240, 240, 240], reserved: [0, 0, 0] })
  t.match(await balanceOf(store, { account: accountId(2), at: tomorrow, pool: 'fast' }), {
    reserved: [0, 0, 0],
    packs: { later: 70 },
  })
  await store.ledger.settle(endOf((await holdOf(store, { at: tomorrow, account: accountId(2) })).id, 40, tomorrow))
  t.match(await balanceOf(store, { account: accountId(2), at: tomorrow }), { used: [45, 52, 52] })
  t.same((await store.ledger.verify()).mismatches, [])
  t.ok((await store.ledger.forgetTurns(tomorrow + 1, 1000)) > 0, 'old turns are forgotten like new ones')
  t.same((await store.ledger.verify()).mismatches, [])
})

t.test('an old turn that is changed or deleted afterwards is found', async (t) => {
  for (const change of [
    'update turn set price_input = 1 where id = 4',
    'update turn set settled_packs = null where settled_packs is not null',
  ]) {
    const file = await oldDatabase(t)
    await (await openAt(t, file, { role: 'server' })).close()
    raw(file, (db) => db.exec(change))
    t.notOk(verifyFile(file).ok, change)
  }
})

t.test('books that do not add up are not taken over, and stay as they were', async (t) => {
  for (const change of [
    'update purse set premium_day_settled = premium_day_settled + 1, premium_day_debt = premium_day_debt + 1',
    'update pack set settled = settled - 1 where settled > 0',
    "update turn set credits = credits + 1 where state = 'settled'",
    "delete from turn where state = 'held'",
    "drop trigger entry_no_delete; delete from entry where kind = 'limit'",
    "drop trigger entry_no_update; update entry set plan = plan + 1 where kind = 'settle'",
  ]) {
    const file = await oldDatabase(t)
    raw(file, (db) => db.exec(change))
    const rows = (): unknown =>
      raw(file, (db) => [
        db.prepare('select * from entry').all(),
        db.prepare('select * from turn').all(),
        db.prepare('select * from migration').all(),
      ])
    const before = rows()
    await t.rejects(
      openAt(t, file, { role: 'server' }),
      { message: /The ledger of account .*does not add up .*Nothing was changed/ },
      change,
    )
    t.same(rows(), before)
  }
})
