/** When checkpoints run: after a number of pages, no more often while a reader blocks them, and with truncation once an hour. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { WalCheckpoint } from '../../../../../src/store/sqlite/writer/wal-checkpoint.ts'
import { createTemporaryFolder } from '../../../../support/store/sqlite/support.ts'

t.test('does not attempt a checkpoint at each commit during a long read, and restarts the WAL afterwards', (t) => {
  const db = new Sqlite(join(createTemporaryFolder(t), 'store.db'))
  db.pragma('journal_mode = wal')
  db.exec('create table word (text)')
  const checkpoints = new WalCheckpoint(db, 10)
  let flushes = 0
  let isMended = true
  /** Commits one page; returns the length of the WAL. */
  const commit = (): number => {
    db.prepare("insert into word values ('x')").run()
    checkpoints.runIfDue(() => {
      flushes += 1
      return isMended
    })
    const { log } = db.prepare<[], { log: number }>('pragma wal_checkpoint(noop)').get() ?? { log: -1 }
    return log
  }
  const reader = new Sqlite(db.name, { readonly: true })
  t.teardown(() => [reader, db].forEach((each) => each.close()))
  reader.exec('begin')
  reader.prepare('select * from word').all()

  let log = 0
  for (let made = 0; made < 50; made++) log = commit()
  t.ok(log > 50, 'the WAL grows meanwhile')
  t.ok(flushes >= 4 && flushes <= 6, `and is tried after every ten pages: ${flushes} times`)

  reader.exec('commit')
  isMended = false
  for (let made = 0; made < 12; made++) log = commit()
  t.ok(log > 60, 'without a flush there is no checkpoint')
  isMended = true
  const lengths = Array.from({ length: 24 }, commit)
  t.ok(Math.min(...lengths) < 12, 'then the WAL restarts')
  t.ok((lengths.at(-1) ?? 0) < 24)
  t.end()
})

t.test('truncates the WAL every hour, and a minute later where a reader prevents it', (t) => {
  const db = new Sqlite(join(createTemporaryFolder(t), 'store.db'), { timeout: 0 })
  db.pragma('journal_mode = wal')
  db.exec('create table word (text)')
  let now = 0
  const checkpoints = new WalCheckpoint(db, 1_000, () => now)
  const commitAt = (minutes: number): number => {
    now = minutes * 60_000
    db.prepare("insert into word values ('x')").run()
    checkpoints.runIfDue(() => true)
    return statSync(`${db.name}-wal`).size
  }
  const reader = new Sqlite(db.name, { readonly: true })
  t.teardown(() => [reader, db].forEach((each) => each.close()))
  t.ok(commitAt(59) > 0)
  t.equal(commitAt(60), 0)
  t.ok(commitAt(61) > 0)
  reader.exec('begin')
  reader.prepare('select * from word').all()
  t.ok(commitAt(120) > 0, 'a reader needs it')
  reader.exec('commit')
  t.ok(commitAt(120.5) > 0)
  t.equal(commitAt(121), 0)
  t.ok(commitAt(180) > 0)
  t.equal(commitAt(181), 0)
  t.end()
})

t.test('reads the length of the WAL after every sixteenth commit where the interval is the default one', (t) => {
  const db = new Sqlite(join(createTemporaryFolder(t), 'store.db'))
  t.teardown(() => db.close())
  db.pragma('journal_mode = wal')
  db.exec('create table word (text)')
  const checkpoints = new WalCheckpoint(db, 8_000)
  db.prepare('insert into word values (zeroblob(33000000))').run()
  const attempts = Array.from({ length: 32 }, () => {
    let isAttempted = false
    checkpoints.runIfDue(() => (isAttempted = true))
    return isAttempted
  })
  t.same(
    attempts.flatMap((isAttempted, index) => (isAttempted ? [index + 1] : [])),
    [16],
  )
  t.end()
})
