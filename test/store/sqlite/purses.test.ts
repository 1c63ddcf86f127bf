/** When the rows of purses are written, seen from outside: at rest, and at the end. */
import { join } from 'node:path'
import t from 'tap'
import { addAccount, balanceOf, endOf, holdOf } from '../contract.ts'
import { until } from '../../support/gateway.ts'
import { folderOf, openAt, raw } from './support.ts'

/** What the row alone says was settled, and how many turns it may lack. */
function written(file: string): { settled: number; behind: number } | undefined {
  return raw(file, (db) =>
    db
      .prepare<[], { settled: number; behind: number }>(
        'select premium_day_settled as settled, newest - turn as behind from written_purse, purse_mark',
      )
      .get(),
  )
}

t.test('a purse is written behind its turns: when nobody asks for anything, and when the store is closed', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  await store.ledger.settle(endOf((await holdOf(store)).id, 30))
  t.same((await balanceOf(store)).used, [30, 30, 30], 'whoever reads sees it at once')
  await until(() => written(file)?.behind === 0, 'the purse to be written at rest')
  t.same(written(file), { settled: 30, behind: 0 })
  await store.ledger.settle(endOf((await holdOf(store)).id, 5))
  t.same(written(file), { settled: 30, behind: 1 }, 'a turn does not write it')
  await store.close()
  t.same(written(file), { settled: 35, behind: 0 })
})

t.test('a version that takes the row for the purse finds none, also one that was running before', async (t) => {
  const file = join(folderOf(t), 'store.db')
  await openAt(t, file)
  t.throws(() => raw(file, (db) => db.prepare('select * from purse')), { message: /no such table: purse/ })
})
