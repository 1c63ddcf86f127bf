/** When the log is taken into the database: after so many pages, and no oftener where somebody reads who keeps it from going on. */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts'
import { folderOf } from './support.ts'

t.test('whoever reads for long makes no commit wait for the disk; afterwards the log is taken in, and begins anew', (t) => {
  const db = new Sqlite(join(folderOf(t), 'store.db'))
  db.pragma('journal_mode = wal')
  db.exec('create table word (text)')
  const checkpoints = new Checkpoints(db, 10)
  let flushes = 0
  let isMended = true
  /** A commit of a page, and how long the log is then. */
  const commit = (): number => {
    db.prepare("insert into word values ('x')").run()
    checkpoints.inTime(() => {
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
  t.ok(log > 50, 'the log grows meanwhile')
  t.ok(flushes >= 4 && flushes <= 6, `and is tried after every ten pages: ${flushes} times`)

  reader.exec('commit')
  isMended = false
  for (let made = 0; made < 12; made++) log = commit()
  t.ok(log > 60, 'where it cannot be flushed it stays')
  isMended = true
  const lengths = Array.from({ length: 24 }, commit)
  t.ok(Math.min(...lengths) < 12, 'then it begins anew')
  t.ok((lengths.at(-1) ?? 0) < 24)
  t.end()
})
