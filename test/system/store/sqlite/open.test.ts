/** Opening and closing: which files are accepted, and what the last process leaves behind. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sql } from 'kysely'
import type { Migration } from '../../../../src/store/migrations/migration.ts'
import { migrateFile } from '../../../../src/store/sqlite/maintenance/migrate-file.ts'
import { migrations } from '../../../../src/store/migrations/migrations.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/open.ts'
import {
  addAccount,
  readBalance,
  createSettleOrder,
  createGrantOrder,
  reserveHold,
  noon,
  createReserveOrder,
} from '../../../support/store/contract/store-contract.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import { createSubscriptionService } from '../contract/subscription-contract.ts'
import {
  createTemporaryFolder,
  openStoreAsIs,
  openStoreAt,
  OtherProcess,
  withRawDatabase,
} from '../../../support/store/sqlite/support.ts'

t.test('keeps data after closing and opening again', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const first = await openStoreAt(t, file)
  await addAccount(first)
  await first.ledger.settle(createSettleOrder((await reserveHold(first)).id, 30))
  await first.close()
  await first.close()
  const second = await openStoreAt(t, file)
  t.equal(await second.accounts.count(), 1)
  t.same((await readBalance(second)).used, [30, 30, 30])
  t.ok((await second.ledger.verify()).ok)
})

t.test('leaves one complete file after the last process has closed it', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'store.db')
  const [first, second] = [await openStoreAt(t, file), await openStoreAt(t, file)]
  await addAccount(first)
  await first.ledger.settle(createSettleOrder((await reserveHold(first)).id, 30))
  await first.close()
  t.match(
    withRawDatabase(file, (db) => db.prepare('select credits from turn').all()),
    [{ credits: 30 }],
  )
  await second.accounts.count()
  // A long read in a thread, on a connection of its own.
  await second.ledger.turns({ limit: 100, since: 0 })
  await second.close()
  t.same(readdirSync(folder), ['store.db'])
  const copy = join(createTemporaryFolder(t), 'copy.db')
  copyFileSync(file, copy)
  t.same((await readBalance(await openStoreAt(t, copy))).used, [30, 30, 30])
})

t.test('refuses an empty file where a database must exist, and leaves it unchanged', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await t.rejects(openStoreAsIs(t, file, { allowCreate: false }), { name: 'OperatorError', message: /no database/ })
  t.notOk(existsSync(file))
  withRawDatabase(file, (db) => db.exec('create table letter (text); drop table letter'))
  const before = readFileSync(file)
  await t.rejects(openStoreAsIs(t, file, { allowCreate: false }), {
    name: 'OperatorError',
    message: /it is empty, although a database was here before/,
  })
  t.ok(before.equals(readFileSync(file)))
})

t.test("another program's database is refused and left as it is", async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  withRawDatabase(file, (db) => db.exec('create table letter (text)'))
  const before = readFileSync(file)
  await t.rejects(openStoreAt(t, file), { name: 'OperatorError', message: /a database of another program/ })
  t.ok(before.equals(readFileSync(file)))
  withRawDatabase(file, (db) => db.exec('pragma application_id = 7; create table migration (name)'))
  await t.rejects(
    openStoreAt(t, file),
    { name: 'OperatorError', message: /a database of another program/ },
    'also if the application id is set',
  )
})

t.test('accepts a database without an application id by its tables, and sets the id', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file)).close()
  withRawDatabase(file, (db) => db.pragma('application_id = 0'))
  await (await openStoreAt(t, file, { allowCreate: false })).close()
  t.equal(
    withRawDatabase(file, (db) => db.pragma('application_id', { simple: true })),
    0x73766367,
  )
})

t.test('creates the database and its folder for their user only', async (t) => {
  const folder = join(createTemporaryFolder(t), 'data', 'deep')
  const store = await openStoreAsIs(t, join(folder, 'store.db'))
  await addAccount(store)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of readdirSync(folder)) {
    t.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
  }
})

t.test('refuses a database of a newer version with a sentence', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file)).close()
  withRawDatabase(file, (db) => db.prepare('insert into migration (name, applied_at) values (?, 1)').run('9999-from-the-future'))
  await t.rejects(openStoreAt(t, file), { message: /newer version of svc-gateway .*9999-from-the-future/ })
})

t.test('does not call a database of an older layout newer', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file)).close()
  withRawDatabase(file, (db) =>
    db.exec(`delete from migration; insert into migration (name, applied_at) values ('0012-written-purses', 1)`),
  )
  await t.rejects(openStoreAt(t, file), { message: /older layout .*0012-written-purses/ })
})

t.test('refuses a file that is not a database, and leaves it unchanged', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  writeFileSync(file, 'this is a letter, not a database'.repeat(100))
  await t.rejects(openStoreAt(t, file), { message: /not a database/ })
  t.equal(statSync(file).size, 3200)
})

t.test('refuses a path where no file can be created, with a sentence', async (t) => {
  const folder = createTemporaryFolder(t)
  mkdirSync(join(folder, 'store.db'))
  await t.rejects(openStoreAt(t, join(folder, 'store.db')), {
    name: 'OperatorError',
    message: /store\.db cannot be written: it is a folder \(EISDIR\)/,
  })
})

t.test('a plan with an end of the version before terms becomes a subscription, with a copy of the old database', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'store.db')
  // A store would prepare statements of this version.
  withRawDatabase(file, (db) => db.exec('create table migration (name text not null primary key, applied_at integer not null)'))
  await migrateFile(file, () => noon, migrations.slice(0, 5))
  withRawDatabase(file, (db) =>
    db.exec(`insert into account (id, email, canonical_email, plan, plan_until, status, email_verified, created_at) values
      ('acc_1', 'a@example.org', 'a@example.org', 'pro', ${noon + 86_400_000}, 'active', 1, ${noon}),
      ('acc_2', 'b@example.org', 'b@example.org', 'pro', null, 'active', 1, ${noon})`),
  )
  const store = await openStoreAsIs(t, file, { role: 'server' })
  t.ok(
    readdirSync(folder, { recursive: true }).some((name) => String(name).includes('before')),
    `the copy in ${readdirSync(folder, { recursive: true })}`,
  )
  t.match(await store.accounts.find('acc_1'), { plan: 'pro', planUntil: noon + 86_400_000, terms: null })
  const time = { now: noon }
  await createSubscriptionService(store, time).advanceDue()
  t.match(await store.accounts.find('acc_1'), { plan: 'pro', planUntil: noon + 86_400_000, terms: { id: 'pro@1' } })
  t.match(await store.accounts.find('acc_2'), { plan: 'pro', planUntil: null, terms: null })
  time.now += 86_400_000
  await createSubscriptionService(store, time).advanceDue()
  t.match(await store.accounts.find('acc_1'), { plan: 'free', planUntil: null, terms: null })
})

t.test('the database refuses to change or delete terms', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await createSubscriptionService(store, { now: noon }).give(await addAccount(store), createPlan('pro', 5), noon + 1)
  withRawDatabase(file, (db) => {
    t.throws(() => db.exec(`update plan_terms set content = '{}'`), /rows of plan_terms are final/)
    t.throws(() => db.exec('delete from plan_terms'), /rows of plan_terms are final/)
  })
})

/** What the next version adds to the schema. */
const nextMigration: Migration = {
  name: '9999-next',
  up: (db) => db.schema.alterTable('turn').addColumn('novelty', 'text').execute(),
}

function readMigrations(file: string): unknown[] {
  return withRawDatabase(file, (db) => db.prepare('select name, applied_at from migration order by name').all())
}

function hasNovelty(file: string): boolean {
  return withRawDatabase(
    file,
    (db) => db.prepare(`select 1 from pragma_table_info('turn') where name = 'novelty'`).all().length > 0,
  )
}

t.test('each migration runs once, and the next start repeats one that failed', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAsIs(t, file)).close()
  const first = readMigrations(file)
  t.same(
    first,
    migrations.map(({ name }) => ({ name, applied_at: noon })),
  )
  await (await openStoreAt(t, file, { clock: { now: () => noon + 5 } })).close()
  t.same(readMigrations(file), first)

  const failing: Migration = {
    ...nextMigration,
    async up(db, dialect) {
      await nextMigration.up(db, dialect)
      throw new Error('the power failed')
    },
  }
  await t.rejects(openStoreAt(t, file, { role: 'server', migrations: [...migrations, failing] }), { message: 'the power failed' })
  t.same([readMigrations(file), hasNovelty(file)], [first, false], 'a migration that fails leaves nothing behind')

  const newFile = join(createTemporaryFolder(t), 'store.db')
  await t.rejects(openStoreAsIs(t, newFile, { migrations: [...migrations, failing] }), { message: 'the power failed' })
  t.same(readMigrations(newFile), [], 'a new database is made whole or not at all')

  const changed = { role: 'server', migrations: [...migrations, nextMigration], clock: { now: () => noon + 7 } } as const
  const store = await openStoreAt(t, file, changed)
  t.same([readMigrations(file), hasNovelty(file)], [[...first, { name: '9999-next', applied_at: noon + 7 }], true])
  await addAccount(store)
  t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'held')
  await store.close()
  await t.rejects(openStoreAt(t, file), { message: /newer version of svc-gateway .*9999-next/ })
})

t.test('a process that is killed during a migration leaves the database as it was', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file)).close()
  const before = readMigrations(file)
  const other = new OtherProcess(t, 'migrate', file)
  await other.waitForLine('migrating')
  await other.kill()
  t.same([readMigrations(file), hasNovelty(file)], [before, false])
  await openStoreAt(t, file, { role: 'server', migrations: [...migrations, nextMigration] })
  t.ok(hasNovelty(file), 'the next start runs it')
})

t.test('refuses to change the schema while a process of an older version uses the database', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const older = await openStoreAt(t, file, { role: 'server' })
  await addAccount(older)
  const before = readMigrations(file)
  const next = { migrations: [...migrations, nextMigration], busyTimeoutMs: 200 }
  await t.rejects(openStoreAt(t, file, next), { name: 'OperatorError', message: /older version .* Stop it first/ })
  // A server without a lock file, so that only its use of the database shows that it runs.
  for (const suffix of ['.server-lock', '.server']) rmSync(file + suffix)
  await t.rejects(openStoreAt(t, file, { ...next, role: 'server' }), { message: /older version .* Stop it first/ })
  t.same(readMigrations(file), before)
  t.equal((await older.ledger.reserve(createReserveOrder())).kind, 'held', 'the older process continues')
})

t.test('opens a new file in several processes at once', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const others = [1, 2, 3, 4].map(() => new OtherProcess(t, 'open', file))
  await Promise.all(others.map((other) => other.waitForLine('closed')))
  t.same(await Promise.all(others.map((other) => other.waitForExit())), [0, 0, 0, 0])
})

t.test('leaves no file of a store in memory', async (t) => {
  const store = await openSqliteStore({ file: ':memory:', process: { id: 'test', pid: process.pid }, clock: { now: () => noon } })
  const [{ file } = { file: '' }] = (await sql<{ file: string }>`pragma database_list`.execute(store.database.read)).rows
  t.ok(existsSync(file))
  await store.close()
  t.notOk(existsSync(file))
})

t.test('refuses operations after closing', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const last = reserveHold(store)
  await store.close()
  t.ok((await last).id, 'earlier operations are executed')
  await t.rejects(store.ledger.reserve(createReserveOrder()), { code: 'internal_error' })
  t.equal(store.ledger.stats().writable, false)
})

t.test('makes a complete, verified backup for its user only, and replaces no file', async (t) => {
  const folder = createTemporaryFolder(t)
  const store = await openStoreAt(t, join(folder, 'store.db'))
  await addAccount(store)
  await store.ledger.grant(createGrantOrder('pack', 50))
  const turns = Array.from({ length: 50 }, async () =>
    store.ledger.settle(createSettleOrder((await reserveHold(store, { amount: 10 })).id, 10)),
  )
  const copy = join(folder, 'copy.db')
  await Promise.all([store.backup(copy), ...turns])
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.notOk(existsSync(`${copy}.part`))
  await t.rejects(store.backup(copy), { message: /EEXIST/ })
  const restored = await openStoreAt(t, copy)
  t.ok((await restored.ledger.verify()).ok)
  t.same((await readBalance(restored)).packs, { pack: 50 })
  await restored.ledger.settle(createSettleOrder((await reserveHold(restored)).id, 10))
  t.ok((await restored.ledger.verify()).ok)
})

t.test('removes the lock file of a process that could not be registered', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'store.db')
  await (await openStoreAt(t, file)).close()
  withRawDatabase(file, (db) => db.exec("create trigger full before insert on process begin select raise(abort, 'no room'); end"))
  await t.rejects(openStoreAt(t, file), { message: 'no room' })
  t.same(readdirSync(folder), ['store.db'])
})
