/** How the ledger's rows lie in the file. */
import { join } from 'node:path'
import t from 'tap'
import { accountId, addAccount, endOf, holdOf } from '../contract.ts'
import { folderOf, openAt, raw } from './support.ts'

t.test('a turn that ends fits into the place it was held in', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const store = await openAt(t, file)
  await addAccount(store)
  const plenty = { day: 1e9, week: 1e9, month: 1e9 }
  const order = { account: accountId(1), limits: plenty, concurrency: 1_000, want: 3_000, floor: 1 }
  const end = (hold: number) => ({ ...endOf(hold, 1_500), target: 'some-upstream/some-model-of-theirs-with-a-name' })
  // From the first on it is known how long targets are.
  await store.ledger.settle(end((await holdOf(store, order)).id))
  const pages = () =>
    raw(file, (db) => db.prepare(`select pageno, ncell from dbstat where name = 'turn' and pagetype = 'leaf'`).raw().all())
  const holds: number[] = []
  for (let turn = 0; turn < 150; turn += 1) holds.push((await holdOf(store, order)).id)
  const held = pages()
  t.ok(held.length > 5, `${held.length} pages of turns`)
  for (const hold of holds) await store.ledger.settle(end(hold))
  t.same(pages(), held)
  t.match(await store.ledger.verify(), { ok: true })
  t.equal(
    raw(file, (db) => db.prepare('select count(*) from turn where window_debts is not null').pluck().get()),
    0,
  )
})
