/** The flush behind the writer's back. That it keeps what was promised is shown by `power.test.ts`. */
import { spawnSync } from 'node:child_process'
import fs, { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
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

t.test('where the disk is quick, whoever is alone waits for it himself', async (t) => {
  const db = databaseIn(folderOf(t))
  t.teardown(() => db.close())
  const told: [upTo: number, code: string | undefined][] = []
  let wake: () => void = () => undefined
  const flush = new LogFlush(db.name, (upTo, seconds, fault) => {
    t.ok(seconds > 0)
    told.push([upTo, (fault as NodeJS.ErrnoException | null)?.code])
    wake()
  })
  const next = () => new Promise<void>((resolve) => (wake = resolve))
  const { fdatasyncSync } = fs
  t.teardown(() => disk(fdatasyncSync))

  t.same(flush.askAlone(), [1, 0], 'of the first flush nobody knows how long it takes')
  t.same(flush.askAlone(), [2, 0], 'nor is there ever a second one beside it')
  while (told.length < 2) await next()
  let asked = 2
  for (let isQuick = false; !isQuick; asked++) {
    const [number, seconds] = flush.askAlone()
    isQuick = number === 0
    t.equal(seconds > 0, isQuick)
    if (!isQuick) await next()
  }
  const quickly = told.length
  t.equal(asked, quickly + 1, 'what was done at once is told to nobody')

  disk(() => {
    throw Object.assign(new Error('no disk'), { code: 'EIO' })
  })
  t.same(flush.askAlone(), [asked + 1, 0])
  t.same(flush.ask(), asked + 2, 'what is asked for after a flush that failed')
  t.equal(told.length, quickly, 'is told later, like every other')
  await next()
  t.same(told.at(-1), [asked + 2, 'EIO'], 'fails with it')
  disk(fdatasyncSync)
  t.equal(flush.ask(), asked + 3)
  await next()
  t.same([flush.isInDoubt, told.at(-1)], [true, [asked + 3, 'EIO']], 'and no later flush makes up for that')
  flush.rewrite()
  t.equal(flush.isInDoubt, false, 'until all of the log is written anew')
  for (let isAgain = false; !isAgain;) {
    isAgain = flush.askAlone()[0] === 0
    if (!isAgain) await next()
  }
  disk(() => {
    throw Object.assign(new Error('no disk'), { code: 'EIO' })
  })
  const [last] = flush.askAlone()
  disk(fdatasyncSync)
  flush.close()
  t.same(told.at(-1), [last, 'EIO'], 'also where it ends before that was told')
  const all = told.length
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(told.length, all, 'and once')

  function disk(fdatasync: typeof fdatasyncSync): void {
    fs.fdatasyncSync = fdatasync
    syncBuiltinESMExports()
  }
})

t.test('whatever flush of the log failed, and whoever’s, one that ends well after it is not believed', async (t) => {
  const { fdatasyncSync } = fs
  const disk = (fdatasync: typeof fdatasyncSync): void => {
    fs.fdatasyncSync = fdatasync
    syncBuiltinESMExports()
  }
  t.teardown(() => disk(fdatasyncSync))
  const fails = (flush: LogFlush): void => {
    disk(() => {
      throw Object.assign(new Error('no disk'), { code: 'EIO' })
    })
    t.throws(() => flush.now(), { code: 'EIO' })
    disk(fdatasyncSync)
  }
  for (const [name, fail] of [
    ['the one before a checkpoint', fails],
    ['SQLite’s own', (flush: LogFlush) => flush.doubt(Object.assign(new Error('no disk'), { code: 'EIO' }))],
  ] as const) {
    const db = databaseIn(folderOf(t))
    const told = Promise.withResolvers<readonly [upTo: number, code: string | undefined]>()
    const flush = new LogFlush(db.name, (upTo, _, fault) => told.resolve([upTo, (fault as NodeJS.ErrnoException | null)?.code]))
    t.equal(flush.ask(), 1)
    fail(flush)
    t.same(await told.promise, [1, 'EIO'], name)
    flush.close()
    db.close()
  }
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
