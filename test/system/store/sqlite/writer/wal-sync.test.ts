/** The concurrent flush of the WAL. `power-loss.test.ts` tests that acknowledged data survives. */
import { spawnSync } from 'node:child_process'
import fs, { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { WalSync } from '../../../../../src/store/sqlite/writer/wal-sync.ts'
import { createTemporaryFolder } from '../../../../support/store/sqlite/support.ts'

function databaseIn(folder: string): Sqlite.Database {
  const db = new Sqlite(join(folder, 'store.db'))
  db.pragma('journal_mode = wal')
  db.exec('create table t (n); insert into t values (1)')
  return db
}

t.test('shares the next flush among requests during a running one', async (t) => {
  const db = databaseIn(createTemporaryFolder(t))
  t.teardown(() => db.close())
  const done: number[] = []
  let wake: () => void = () => undefined
  const flush = new WalSync(db.name, (upTo, seconds, fault) => {
    t.equal(fault, null)
    t.ok(seconds > 0)
    done.push(upTo)
    wake()
  })
  t.same([flush.request(), flush.request(), flush.request()], [1, 2, 3])
  while (done.length < 2) await new Promise<void>((resolve) => (wake = resolve))
  t.same(done, [1, 3])
  flush.request()
  flush.request()
  flush.close()
  t.same(done, [1, 3, 5], 'all are reported')
  await new Promise((resolve) => setImmediate(resolve))
  t.same(done, [1, 3, 5], 'once')
})

t.test('flushes inline on a fast disk', async (t) => {
  const db = databaseIn(createTemporaryFolder(t))
  t.teardown(() => db.close())
  const reports: [upTo: number, code: string | undefined][] = []
  let wake: () => void = () => undefined
  const flush = new WalSync(db.name, (upTo, seconds, fault) => {
    t.ok(seconds > 0)
    reports.push([upTo, (fault as NodeJS.ErrnoException | null)?.code])
    wake()
  })
  const next = () => new Promise<void>((resolve) => (wake = resolve))
  const { fdatasyncSync } = fs
  t.teardown(() => disk(fdatasyncSync))

  t.same(flush.syncInlineOrRequest(), [1, 0], 'the duration of the first flush is unknown')
  t.same(flush.syncInlineOrRequest(), [2, 0], 'only one flush runs at a time')
  while (reports.length < 2) await next()
  let requests = 2
  for (let isQuick = false; !isQuick; requests++) {
    const [number, seconds] = flush.syncInlineOrRequest()
    isQuick = number === 0
    t.equal(seconds > 0, isQuick)
    if (!isQuick) await next()
  }
  const reportedCount = reports.length
  t.equal(requests, reportedCount + 1, 'an inline flush is not reported')

  disk(() => {
    throw Object.assign(new Error('no disk'), { code: 'EIO' })
  })
  t.same(flush.syncInlineOrRequest(), [requests + 1, 0])
  t.same(flush.request(), requests + 2, 'a request during a failed flush')
  t.equal(reports.length, reportedCount, 'is reported later, like every other')
  await next()
  t.same(reports.at(-1), [requests + 2, 'EIO'], 'fails with it')
  disk(fdatasyncSync)
  t.equal(flush.request(), requests + 3)
  await next()
  t.same([flush.hasFailed, reports.at(-1)], [true, [requests + 3, 'EIO']], 'no later flush repairs the failure')
  flush.rewrite()
  t.equal(flush.hasFailed, false, 'until the WAL is rewritten')
  for (let isAgain = false; !isAgain;) {
    isAgain = flush.syncInlineOrRequest()[0] === 0
    if (!isAgain) await next()
  }
  disk(() => {
    throw Object.assign(new Error('no disk'), { code: 'EIO' })
  })
  const [last] = flush.syncInlineOrRequest()
  disk(fdatasyncSync)
  flush.close()
  t.same(reports.at(-1), [last, 'EIO'], 'also if it closes before the report')
  const all = reports.length
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(reports.length, all, 'once')

  function disk(fdatasync: typeof fdatasyncSync): void {
    fs.fdatasyncSync = fdatasync
    syncBuiltinESMExports()
  }
})

t.test('does not trust a successful flush after any failed one', async (t) => {
  const { fdatasyncSync } = fs
  const disk = (fdatasync: typeof fdatasyncSync): void => {
    fs.fdatasyncSync = fdatasync
    syncBuiltinESMExports()
  }
  t.teardown(() => disk(fdatasyncSync))
  const fails = (flush: WalSync): void => {
    disk(() => {
      throw Object.assign(new Error('no disk'), { code: 'EIO' })
    })
    t.throws(() => flush.syncNow(), { code: 'EIO' })
    disk(fdatasyncSync)
  }
  for (const [name, fail] of [
    ['the one before a checkpoint', fails],
    ['SQLite’s own', (flush: WalSync) => flush.markFailed(Object.assign(new Error('no disk'), { code: 'EIO' }))],
  ] as const) {
    const db = databaseIn(createTemporaryFolder(t))
    const reports = Promise.withResolvers<readonly [upTo: number, code: string | undefined]>()
    const flush = new WalSync(db.name, (upTo, _, fault) => reports.resolve([upTo, (fault as NodeJS.ErrnoException | null)?.code]))
    t.equal(flush.request(), 1)
    fail(flush)
    t.same(await reports.promise, [1, 'EIO'], name)
    flush.close()
    db.close()
  }
})

t.test('keeps the content of a rewritten WAL', (t) => {
  const folder = createTemporaryFolder(t)
  const db = databaseIn(folder)
  db.exec(
    `insert into t select hex(randomblob(1000)) from (values (1), (2), (3), (4), (5), (6), (7), (8), (9)), (values (1), (2), (3), (4), (5))`,
  )
  const before = readFileSync(join(folder, 'store.db-wal'))
  t.ok(before.length > 65_536, 'longer than one chunk')
  const flush = new WalSync(db.name, () => undefined)
  flush.rewrite()
  t.ok(before.equals(readFileSync(join(folder, 'store.db-wal'))))
  flush.close()
  db.close()
  t.end()
})

t.test('drops no lock of SQLite when it closes its descriptor', (t) => {
  const db = databaseIn(createTemporaryFolder(t))
  db.exec('begin immediate')
  new WalSync(db.name, () => undefined).close()
  const other = `new (require('better-sqlite3'))(${JSON.stringify(db.name)}, { timeout: 0 }).exec('insert into t values (2)')`
  t.match(
    spawnSync(process.execPath, ['-e', other], { encoding: 'utf8' }).stderr,
    /SQLITE_BUSY/,
    'another process still finds the lock',
  )
  db.exec('rollback')
  t.equal(spawnSync(process.execPath, ['-e', other]).status, 0)
  db.close()
  t.end()
})
