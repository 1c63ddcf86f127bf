/** A database put in the place of another, with nothing lost of either. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { journalOf, processesWithJournal } from '../../../src/store/sqlite/owed-journal.ts'
import { Place } from '../../../src/store/sqlite/place.ts'
import { nothingElse, restoreFile } from '../../../src/store/sqlite/restore.ts'
import { addAccount, balanceOf, endOf, grantOf, holdOf, noon } from '../contract.ts'
import { folderOf, openAsIs, openAt, Other } from './support.ts'

t.test('a copied database is restored with its log, and what it replaces is kept whole in one file', async (t) => {
  const folder = folderOf(t)
  const [file, live, copied] = [join(folder, 'store.db'), join(folder, 'live.db'), join(folder, 'copied.db')]
  const first = await openAt(t, file)
  await addAccount(first)
  await first.close()

  // Made anew, so that its tables too are in the log.
  const store = await openAsIs(t, live)
  await addAccount(store)
  await store.ledger.settle(endOf((await holdOf(store)).id, 30))
  await store.ledger.grant(grantOf('pack', 777_777))
  // By another process: closing the file in this one would end the locks that SQLite has on it.
  for (const suffix of ['', '-wal']) spawnSync('cp', [live + suffix, copied + suffix])
  t.ok(statSync(`${copied}-wal`).size > statSync(copied).size, 'most of it stands in the log alone')

  const { kept } = restoreFile(copied, file, noon, nothingElse)
  t.equal(kept, `${file}.before-restore-1`)
  t.notOk(existsSync(`${file}-wal`))
  const restored = await openAt(t, file)
  t.match(await balanceOf(restored), { used: [30, 30, 30], packs: { pack: 777_777 } })
  await restored.ledger.settle(endOf((await holdOf(restored)).id, 12))
  await restored.close()

  // As after a kill: the log beside the database that is replaced.
  for (const suffix of ['', '-wal']) copyFileSync(copied + suffix, file + suffix)
  const { kept: second = '' } = restoreFile(kept ?? '', file, noon, nothingElse)
  t.notOk(existsSync(`${second}-wal`))
  const alone = join(folderOf(t), 'alone.db')
  copyFileSync(second ?? '', alone)
  t.match(await balanceOf(await openAt(t, alone)), { used: [30, 30, 30], packs: { pack: 777_777 } })
})

t.test('what was owed to a database that is replaced goes with it', async (t) => {
  const folder = folderOf(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  for (const one of [file, backup]) await (await openAt(t, one)).close()
  writeFileSync(journalOf(file, 'dead'), 'what is owed')
  const { kept } = restoreFile(backup, file, noon, nothingElse)
  t.equal(readFileSync(journalOf(kept ?? '', 'dead'), 'utf8'), 'what is owed')
  t.same(processesWithJournal(file), [])
})

t.test('a server that has its place and not yet opened the database is in the way', async (t) => {
  const folder = folderOf(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  for (const one of [file, backup]) await (await openAt(t, one)).close()
  const place = Place.take(file, process.pid, 0)
  t.throws(() => restoreFile(backup, file, noon, nothingElse), { message: /A server still uses this database/ })
  place.release()
  restoreFile(backup, file, noon, nothingElse)
})

t.test('a damaged database that is replaced is kept with its log', async (t) => {
  const folder = folderOf(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  await (await openAt(t, backup)).close()
  writeFileSync(file, '')
  writeFileSync(`${file}-wal`, 'what is left')
  const { kept } = restoreFile(backup, file, noon, nothingElse)
  t.equal(readFileSync(`${kept}-wal`, 'utf8'), 'what is left')
  t.notOk(existsSync(`${file}-wal`))
  await openAt(t, file)
})

t.test('what is no whole database of ours is refused with a sentence, and nothing has changed', async (t) => {
  const folder = folderOf(t)
  const [file, bad] = [join(folder, 'store.db'), join(folder, 'bad')]
  const store = await openAt(t, file)
  await addAccount(store)
  await store.close()
  const whole = readFileSync(file)
  for (const [name, bytes] of [
    ['a letter', 'this is no database'],
    ['a half', whole.subarray(0, whole.length / 2)],
    ['nothing', ''],
  ] as const) {
    writeFileSync(bad, bytes)
    t.throws(
      () => restoreFile(bad, file, noon, nothingElse),
      { name: 'Unusable', message: /is not a database of this service, or is damaged/ },
      name,
    )
  }
  t.ok(readFileSync(file).equals(whole))
  t.same(readdirSync(folder).sort(), ['bad', 'store.db'])
})

t.test('nothing is restored under a running process', async (t) => {
  const folder = folderOf(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const store = await openAt(t, backup)
  await addAccount(store)
  await store.close()
  copyFileSync(backup, file)
  const other = new Other(t, 'hold', file)
  await other.line('hold')
  t.throws(() => restoreFile(backup, file, noon, nothingElse), {
    name: 'Unusable',
    message: 'A server still uses this database. Stop it, then restore.',
  })
  await other.kill()
  t.equal(restoreFile(backup, file, noon, nothingElse).kept, `${file}.before-restore-1`)
})

t.test('the log of a database that is gone is not taken for that of the one which is restored', async (t) => {
  const folder = folderOf(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const first = await openAt(t, file)
  // Whose turns the other process writes.
  for (let index = 1; index <= 8; index++) await addAccount(first, index)
  await first.ledger.settle(endOf((await holdOf(first)).id, 30))
  await first.backup(backup)
  await first.close()
  const other = new Other(t, 'turns', file)
  await other.said(200)
  await other.kill()
  t.ok(existsSync(`${file}-wal`))
  // Alone, as by hand: its log stays.
  rmSync(file)
  const { kept } = restoreFile(backup, file, noon, nothingElse)
  t.ok(existsSync(`${kept}-wal`), 'it is kept')
  const restored = await openAt(t, file)
  t.match(await balanceOf(restored), { used: [30, 30, 30] })
  t.match(await restored.ledger.verify(), { ok: true, turns: 1 })
})

t.test('nobody begins to work on a database while a backup takes its place', async (t) => {
  const folder = folderOf(t)
  const [file, backup] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  for (const one of [file, backup]) await (await openAt(t, one)).close()
  const begin = () => {
    t.throws(() => Place.take(file, process.pid, 0), { name: 'Unusable', message: /Another server works on this data/ })
    return existsSync(file)
  }
  const there: boolean[] = []
  const { rest } = restoreFile(backup, file, noon, { owed: () => void there.push(begin()), rest: begin })
  t.same([...there, rest], [false, true], 'what is owed to it is there before it is')
  Place.take(file, process.pid, 0).release()
})
