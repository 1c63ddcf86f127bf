/** What lies beside a database that is moved, or where one is moved to; the whole way is in `test/operator/migrate-store.test.ts`. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSqliteSource, openSqliteTarget } from '../../../src/store/sqlite/moving.ts'
import { OwedJournal, owedTo } from '../../../src/store/sqlite/owed-journal.ts'
import { addAccount, endOf, noon } from '../contract.ts'
import { folderOf, openAt, Other } from './support.ts'

const move = (file: string) => ({
  file,
  files: { secret: () => null, putSecret() {}, hasImage: () => true, image: () => null, putImage() {} },
  process: { id: 'mover', pid: process.pid },
  clock: { now: () => noon },
})

t.test('nothing is moved to where the log of another database lies: it would be taken for its own', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  for (let index = 1; index <= 8; index++) await addAccount(store, index)
  await store.close()
  const other = new Other(t, 'turns', file)
  await other.said(200)
  await other.kill()
  rmSync(file)
  await t.rejects(openSqliteTarget(move(file)), {
    name: 'Unusable',
    message: /store\.db-wal is there already\. Name an empty folder/,
  })
})

t.test('a journal whose process nobody knows any more stands in nobody’s way', async (t) => {
  const file = join(folderOf(t), 'store.db')
  await (await openAt(t, file)).close()
  // As a start leaves it that is killed after it has written what the journal says, and before it takes it away.
  const journal = await OwedJournal.make(file, 'nobody')
  await journal.write({ kind: 'settle', ...endOf(1, 30) })
  await journal.close(true)
  t.same([...owedTo(file).keys()], ['nobody'])
  const source = await openSqliteSource(move(file))
  await source.close()
})
