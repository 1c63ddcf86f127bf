/** Opening and closing: which files are taken for a database of ours, and what is left when the last one has gone. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sql } from 'kysely'
import { openSqliteStore } from '../../../src/store/sqlite/open.ts'
import { addAccount, balanceOf, endOf, grantOf, holdOf, noon, orderOf } from '../contract.ts'
import { folderOf, openAsIs, openAt, Other, raw } from './support.ts'

t.test('what was written is there after closing and opening again', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const first = await openAt(t, file)
  await addAccount(first)
  await first.ledger.settle(endOf((await holdOf(first)).id, 30))
  await first.close()
  await first.close()
  const second = await openAt(t, file)
  t.equal(await second.accounts.count(), 1)
  t.same((await balanceOf(second)).used, [30, 30, 30])
  t.ok((await second.ledger.verify()).ok)
})

t.test('after the last one has closed there is one file, and everything is in it', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'store.db')
  const [first, second] = [await openAt(t, file), await openAt(t, file)]
  await addAccount(first)
  await first.ledger.settle(endOf((await holdOf(first)).id, 30))
  await first.close()
  t.match(
    raw(file, (db) => db.prepare('select credits from turn').all()),
    [{ credits: 30 }],
  )
  await second.accounts.count()
  // A long read, in a thread and with a connection of its own.
  await second.ledger.turns({ limit: 100, since: 0 })
  await second.close()
  t.same(readdirSync(folder), ['store.db'])
  const copy = join(folderOf(t), 'copy.db')
  copyFileSync(file, copy)
  t.same((await balanceOf(await openAt(t, copy))).used, [30, 30, 30])
})

t.test('where there was a database, an empty one is not taken for a new installation, and is left as it is', async (t) => {
  const file = join(folderOf(t), 'store.db')
  await t.rejects(openAsIs(t, file, { mayBeNew: false }), { name: 'Unusable', message: /no database/ })
  t.notOk(existsSync(file))
  raw(file, (db) => db.exec('create table letter (text); drop table letter'))
  const before = readFileSync(file)
  await t.rejects(openAsIs(t, file, { mayBeNew: false }), {
    name: 'Unusable',
    message: /it is empty, though there was a database here/,
  })
  t.ok(before.equals(readFileSync(file)))
})

t.test("another program's database is refused and left as it is", async (t) => {
  const file = join(folderOf(t), 'store.db')
  raw(file, (db) => db.exec('create table letter (text)'))
  const before = readFileSync(file)
  await t.rejects(openAt(t, file), { name: 'Unusable', message: /a database of another program/ })
  t.ok(before.equals(readFileSync(file)))
  raw(file, (db) => db.exec('pragma application_id = 7; create table migration (name)'))
  await t.rejects(
    openAt(t, file),
    { name: 'Unusable', message: /a database of another program/ },
    'also where it marked it as its own',
  )
})

t.test('a database from before databases were marked is known by its tables, and marked', async (t) => {
  const file = join(folderOf(t), 'store.db')
  await (await openAt(t, file)).close()
  raw(file, (db) => db.pragma('application_id = 0'))
  await (await openAt(t, file, { mayBeNew: false })).close()
  t.equal(
    raw(file, (db) => db.pragma('application_id', { simple: true })),
    0x73766367,
  )
})

t.test('the database belongs to its user alone, and so does a folder made for it', async (t) => {
  const folder = join(folderOf(t), 'data', 'deep')
  const store = await openAsIs(t, join(folder, 'store.db'))
  await addAccount(store)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of readdirSync(folder)) {
    t.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
  }
})

t.test('a database of a newer version is refused with a sentence', async (t) => {
  const file = join(folderOf(t), 'store.db')
  await (await openAt(t, file)).close()
  raw(file, (db) => db.prepare('insert into migration (name, applied_at) values (?, 1)').run('9999-from-the-future'))
  await t.rejects(openAt(t, file), { message: /newer version of svc-gateway .*9999-from-the-future/ })
})

t.test('a file that is no database is refused and left as it is', async (t) => {
  const file = join(folderOf(t), 'store.db')
  writeFileSync(file, 'this is a letter, not a database'.repeat(100))
  await t.rejects(openAt(t, file), { message: /not a database/ })
  t.equal(statSync(file).size, 3200)
})

t.test('a place where no file can be made is refused with a sentence', async (t) => {
  const folder = folderOf(t)
  mkdirSync(join(folder, 'store.db'))
  await t.rejects(openAt(t, join(folder, 'store.db')), {
    name: 'Unusable',
    message: /store\.db cannot be written: it is a folder \(EISDIR\)/,
  })
})

t.test('migrations are done once, and an interrupted start is taken up by the next', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const names = (): unknown[] => raw(file, (db) => db.prepare('select name, applied_at from migration order by name').all())
  await (await openAsIs(t, file)).close()
  const first = names()
  await (await openAt(t, file, { clock: { now: () => noon + 5 } })).close()
  t.same(names(), first)
  raw(file, (db) => {
    db.exec('drop table entry; drop table turn; drop table pack; drop table bucket; drop table written_purse; drop table process')
    db.exec('drop table checkpoint; drop table roster; drop table roster_end; drop table purse_mark; drop table purse_mark_hold')
    db.prepare(
      "delete from migration where name in ('0002-ledger', '0005-turn-links', '0008-contradicted-usage', '0012-written-purses')",
    ).run()
  })
  const store = await openAt(t, file)
  await addAccount(store)
  t.equal((await store.ledger.reserve(orderOf())).kind, 'held')
})

t.test('a database that an older version works on is not changed under it', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const older = await openAt(t, file, { role: 'server' })
  await addAccount(older)
  const names = (): unknown => raw(file, (db) => db.prepare('select name from migration order by name').pluck().all())
  raw(file, (db) => db.exec("delete from migration where name = '0012-written-purses'"))
  const before = names()
  await t.rejects(openAt(t, file, { busyTimeoutMs: 200 }), { name: 'Unusable', message: /older version .* Stop it first/ })
  // The first version kept no place for its server.
  for (const suffix of ['.server-lock', '.server']) rmSync(file + suffix)
  await t.rejects(openAt(t, file, { role: 'server', busyTimeoutMs: 200 }), { message: /older version .* Stop it first/ })
  t.same(names(), before)
  t.equal((await older.ledger.reserve(orderOf())).kind, 'held', 'it goes on')
})

t.test('processes that open the same new file at once all come up', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const others = [1, 2, 3, 4].map(() => new Other(t, 'open', file))
  await Promise.all(others.map((other) => other.line('closed')))
  t.same(await Promise.all(others.map((other) => other.ended())), [0, 0, 0, 0])
})

t.test('a store in memory leaves nothing behind', async (t) => {
  const store = await openSqliteStore({ file: ':memory:', process: { id: 'test', pid: process.pid }, clock: { now: () => noon } })
  const [{ file } = { file: '' }] = (await sql<{ file: string }>`pragma database_list`.execute((await store.database()).read))
    .rows
  t.ok(existsSync(file))
  await store.close()
  t.notOk(existsSync(file))
})

t.test('after closing, operations are refused and nothing hangs', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const last = holdOf(store)
  await store.close()
  t.ok((await last).id, 'what was given before is done')
  await t.rejects(store.ledger.reserve(orderOf()), { code: 'internal_error' })
  t.equal(store.ledger.vitals().writable, false)
})

t.test('a backup is whole, verified, readable by its user alone, and never replaces a file', async (t) => {
  const folder = folderOf(t)
  const store = await openAt(t, join(folder, 'store.db'))
  await addAccount(store)
  await store.ledger.grant(grantOf('pack', 50))
  const turns = Array.from({ length: 50 }, async () => store.ledger.settle(endOf((await holdOf(store, { want: 10 })).id, 10)))
  const copy = join(folder, 'copy.db')
  await Promise.all([store.backup(copy), ...turns])
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.notOk(existsSync(`${copy}.part`))
  await t.rejects(store.backup(copy), { message: /EEXIST/ })
  const restored = await openAt(t, copy)
  t.ok((await restored.ledger.verify()).ok)
  t.same((await balanceOf(restored)).packs, { pack: 50 })
  await restored.ledger.settle(endOf((await holdOf(restored)).id, 10))
  t.ok((await restored.ledger.verify()).ok)
})

t.test('a process that could not be enrolled leaves no file of its own', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'store.db')
  await (await openAt(t, file)).close()
  raw(file, (db) => db.exec("create trigger full before insert on process begin select raise(abort, 'no room'); end"))
  await t.rejects(openAt(t, file), { message: 'no room' })
  t.same(readdirSync(folder), ['store.db'])
})
