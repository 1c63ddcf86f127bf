/** Restoring a database in place of another one, without losing data of either. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Migration } from '../../../../../src/store/migrations/migration.ts'
import { migrations as currentMigrations } from '../../../../../src/store/migrations/migrations.ts'
import { getJournalPath, listJournalProcesses } from '../../../../../src/store/sqlite/process/settlement-journal.ts'
import { ServerLock } from '../../../../../src/store/sqlite/process/server-lock.ts'
import { noCompanions, restoreFile } from '../../../../../src/store/sqlite/maintenance/restore.ts'
import {
  addAccount,
  readBalance,
  createSettleOrder,
  createGrantOrder,
  reserveHold,
  noon,
} from '../../../../support/store/contract/store-contract.ts'
import {
  createTemporaryFolder,
  openStoreAsIs,
  openStoreAt,
  OtherProcess,
  withRawDatabase,
} from '../../../../support/store/sqlite/support.ts'

t.test('restores a copied database with its WAL, and keeps the replaced one in a single file', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, live, copied] = [join(folder, 'store.db'), join(folder, 'live.db'), join(folder, 'copied.db')]
  const first = await openStoreAt(t, file)
  await addAccount(first)
  await first.close()

  // A new database, so that its tables too are in the WAL.
  const store = await openStoreAsIs(t, live)
  await addAccount(store)
  await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 30))
  await store.ledger.grant(createGrantOrder('pack', 777_777))
  // In another process: closing the file in this one would drop SQLite's locks on it.
  for (const suffix of ['', '-wal']) spawnSync('cp', [live + suffix, copied + suffix])
  t.ok(statSync(`${copied}-wal`).size > statSync(copied).size, 'most of it is in the WAL only')

  const { kept } = await restoreFile({ from: copied, to: file, at: noon, companions: noCompanions })
  t.equal(kept, `${file}.before-restore-1`)
  t.notOk(existsSync(`${file}-wal`))
  const restored = await openStoreAt(t, file)
  t.match(await readBalance(restored), { used: [30, 30, 30], packs: { pack: 777_777 } })
  await restored.ledger.settle(createSettleOrder((await reserveHold(restored)).id, 12))
  await restored.close()

  // As after a kill: a WAL beside the database that is replaced.
  for (const suffix of ['', '-wal']) copyFileSync(copied + suffix, file + suffix)
  const { kept: second = '' } = await restoreFile({ from: kept ?? '', to: file, at: noon, companions: noCompanions })
  t.notOk(existsSync(`${second}-wal`))
  const alone = join(createTemporaryFolder(t), 'alone.db')
  copyFileSync(second ?? '', alone)
  t.match(await readBalance(await openStoreAt(t, alone)), { used: [30, 30, 30], packs: { pack: 777_777 } })
})

t.test('keeps the settlement journals with the replaced database', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  for (const one of [file, backup]) await (await openStoreAt(t, one)).close()
  writeFileSync(getJournalPath(file, 'dead'), 'pending')
  const { kept } = await restoreFile({ from: backup, to: file, at: noon, companions: noCompanions })
  t.equal(readFileSync(getJournalPath(kept ?? '', 'dead'), 'utf8'), 'pending')
  t.same(listJournalProcesses(file), [])
})

t.test('refuses while a server holds the lock without having opened the database', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  for (const one of [file, backup]) await (await openStoreAt(t, one)).close()
  const place = ServerLock.acquire(file, process.pid, 0)
  await t.rejects(restoreFile({ from: backup, to: file, at: noon, companions: noCompanions }), {
    message: /A server still uses this database/,
  })
  place.release()
  await restoreFile({ from: backup, to: file, at: noon, companions: noCompanions })
})

t.test('keeps a damaged replaced database with its WAL', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  await (await openStoreAt(t, backup)).close()
  writeFileSync(file, '')
  writeFileSync(`${file}-wal`, 'remains')
  const { kept } = await restoreFile({ from: backup, to: file, at: noon, companions: noCompanions })
  t.equal(readFileSync(`${kept}-wal`, 'utf8'), 'remains')
  t.notOk(existsSync(`${file}-wal`))
  await openStoreAt(t, file)
})

t.test('refuses a file that is not a complete database of this service, and changes nothing', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, bad] = [join(folder, 'store.db'), join(folder, 'bad')]
  const store = await openStoreAt(t, file)
  await addAccount(store)
  await store.close()
  const whole = readFileSync(file)
  for (const [name, bytes] of [
    ['a letter', 'this is no database'],
    ['a half', whole.subarray(0, whole.length / 2)],
    ['nothing', ''],
  ] as const) {
    writeFileSync(bad, bytes)
    await t.rejects(
      restoreFile({ from: bad, to: file, at: noon, companions: noCompanions }),
      { name: 'OperatorError', message: /is not a database of this service, or is damaged/ },
      name,
    )
  }
  t.ok(readFileSync(file).equals(whole))
  t.same(readdirSync(folder).sort(), ['bad', 'store.db'])
})

t.test('refuses to restore while a process uses the database', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const store = await openStoreAt(t, backup)
  await addAccount(store)
  await store.close()
  copyFileSync(backup, file)
  const other = new OtherProcess(t, 'hold', file)
  await other.waitForLine('hold')
  await t.rejects(restoreFile({ from: backup, to: file, at: noon, companions: noCompanions }), {
    name: 'OperatorError',
    message: 'A server still uses this database. Stop it, then restore.',
  })
  await other.kill()
  t.equal((await restoreFile({ from: backup, to: file, at: noon, companions: noCompanions })).kept, `${file}.before-restore-1`)
})

t.test('does not apply the WAL of a missing database to the restored one', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const first = await openStoreAt(t, file)
  // The account whose turns the other process writes.
  for (let index = 1; index <= 8; index++) await addAccount(first, index)
  await first.ledger.settle(createSettleOrder((await reserveHold(first)).id, 30))
  await first.backup(backup)
  await first.close()
  const other = new OtherProcess(t, 'turns', file)
  await other.waitForLineCount(200)
  await other.kill()
  t.ok(existsSync(`${file}-wal`))
  // The database file only, as if deleted by hand: its WAL stays.
  rmSync(file)
  const { kept } = await restoreFile({ from: backup, to: file, at: noon, companions: noCompanions })
  t.ok(existsSync(`${kept}-wal`), 'it is kept')
  const restored = await openStoreAt(t, file)
  t.match(await readBalance(restored), { used: [30, 30, 30] })
  t.match(await restored.ledger.verify(), { ok: true, turns: 1 })
})

t.test('lets no process open the database while a backup replaces it', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  for (const one of [file, backup]) await (await openStoreAt(t, one)).close()
  const begin = () => {
    t.throws(() => ServerLock.acquire(file, process.pid, 0), {
      name: 'OperatorError',
      message: /Another server works on this data/,
    })
    return existsSync(file)
  }
  const there: boolean[] = []
  const { rest } = await restoreFile({
    from: backup,
    to: file,
    at: noon,
    companions: { restoreJournals: () => void there.push(begin()), restoreFiles: begin },
  })
  t.same([...there, rest], [false, true], 'the journals are restored before the database')
  ServerLock.acquire(file, process.pid, 0).release()
})

/** A change of the next version that renames a table which the verification reads. */
const renamingMigration: Migration = {
  name: '9999-rename',
  up: async (db) => void (await sql`alter table account_registry_of_old_version rename to ledger_account`.execute(db)),
}

t.test('migrates the backup of an older version before it verifies it', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'old.db')]
  const store = await openStoreAt(t, backup)
  await addAccount(store)
  const hold = await reserveHold(store)
  await store.ledger.settle(createSettleOrder(hold.id, 30))
  await store.close()
  withRawDatabase(backup, (db) => db.exec('alter table ledger_account rename to account_registry_of_old_version'))
  const before = readFileSync(backup)

  const migrations = [...currentMigrations, renamingMigration]
  const options = { from: backup, to: file, at: noon + 5, companions: noCompanions, migrations }
  t.same((await restoreFile(options)).migrated, ['9999-rename'])
  t.ok(readFileSync(backup).equals(before), 'the backup itself is unchanged')
  t.same(readdirSync(folder).sort(), ['old.db', 'store.db'])
  const restored = await openStoreAt(t, file, { migrations })
  t.match(await readBalance(restored), { used: [30, 30, 30] })
  t.match(await restored.ledger.verify(), { ok: true, turns: 1 })
  await restored.close()
  t.same(
    withRawDatabase(file, (db) => db.prepare(`select applied_at from migration where name = '9999-rename'`).pluck().all()),
    [noon + 5],
  )
  t.same(
    (await restoreFile({ ...options, from: file, to: join(folder, 'second.db') })).migrated,
    [],
    'a current backup needs none',
  )
})

t.test('refuses an older backup that is inconsistent after its migration', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'old.db')]
  const store = await openStoreAt(t, backup)
  await addAccount(store)
  await reserveHold(store)
  await store.close()
  withRawDatabase(backup, (db) =>
    db.exec(`drop trigger ledger_account_no_delete; delete from ledger_account;
      alter table ledger_account rename to account_registry_of_old_version`),
  )
  await t.rejects(
    restoreFile({
      from: backup,
      to: file,
      at: noon,
      companions: noCompanions,
      migrations: [...currentMigrations, renamingMigration],
    }),
    { name: 'OperatorError', message: /old\.db is inconsistent: .* It was not restored/ },
  )
  t.same(readdirSync(folder), ['old.db'])
})

t.test('refuses the backup of a newer version, and one of an unfinished transfer, with a sentence each', async (t) => {
  const folder = createTemporaryFolder(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'new.db')]
  await (await openStoreAt(t, backup)).close()
  const whole = readFileSync(backup)
  for (const [change, message] of [
    [
      `alter table ledger_account rename to account_registry; insert into migration (name, applied_at) values ('9999-next', 1)`,
      /new\.db was not restored: it was written by a newer version of svc-gateway .*"9999-next"/,
    ],
    [`insert into migration (name, applied_at) values ('moving', 1)`, /is the target of a transfer that was not finished/],
  ] as const) {
    writeFileSync(backup, whole)
    withRawDatabase(backup, (db) => db.exec(change))
    await t.rejects(
      restoreFile({ from: backup, to: file, at: noon, companions: noCompanions }),
      { name: 'OperatorError', message },
      change,
    )
    t.same(readdirSync(folder), ['new.db'])
  }
})
