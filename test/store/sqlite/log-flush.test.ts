/** The flush behind the writer's back. That it keeps what was promised is shown by `power.test.ts`. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { LogFlush } from '../../../src/store/sqlite/log-flush.ts'
import { folderOf } from './support.ts'

function databaseIn(folder: string): Sqlite.Database {
  const db = new Sqlite(join(folder, 'store.db'))
  db.pragma('journal_mode = wal')
  db.exec('create table t (n); insert into t values (1)')
  return db
}

t.test('what is asked for while a flush is under way shares the next one', async (t) => {
  const db = databaseIn(folderOf(t))
  t.teardown(() => db.close())
  const done: number[] = []
  let wake: () => void = () => undefined
  const flush = new LogFlush(db.name, (upTo, seconds, fault) => {
    t.equal(fault, null)
    t.ok(seconds > 0)
    done.push(upTo)
    wake()
  })
  t.same([flush.ask(), flush.ask(), flush.ask()], [1, 2, 3])
  while (done.length < 2) await new Promise<void>((resolve) => (wake = resolve))
  t.same(done, [1, 3])
  flush.ask()
  flush.ask()
  flush.close()
  t.same(done, [1, 3, 5], 'at the end all are answered')
  await new Promise((resolve) => setImmediate(resolve))
  t.same(done, [1, 3, 5], 'and once')
})

t.test('a log that is written over itself is the same log', (t) => {
  const folder = folderOf(t)
  const db = databaseIn(folder)
  db.exec(
    `insert into t select hex(randomblob(1000)) from (values (1), (2), (3), (4), (5), (6), (7), (8), (9)), (values (1), (2), (3), (4), (5))`,
  )
  const before = readFileSync(join(folder, 'store.db-wal'))
  t.ok(before.length > 65_536, 'more than is written at once')
  const flush = new LogFlush(db.name, () => undefined)
  flush.rewrite()
  t.ok(before.equals(readFileSync(join(folder, 'store.db-wal'))))
  flush.close()
  db.close()
  t.end()
})

t.test('no lock of SQLite’s is lost with its descriptor', (t) => {
  const db = databaseIn(folderOf(t))
  db.exec('begin immediate')
  new LogFlush(db.name, () => undefined).close()
  const other = `new (require('better-sqlite3'))(${JSON.stringify(db.name)}, { timeout: 0 }).exec('insert into t values (2)')`
  t.match(
    spawnSync(process.execPath, ['-e', other], { encoding: 'utf8' }).stderr,
    /SQLITE_BUSY/,
    'another process still finds it',
  )
  db.exec('rollback')
  t.equal(spawnSync(process.execPath, ['-e', other]).status, 0)
  db.close()
  t.end()
})
