/** Histories of orders on a file that is closed and opened again: each paid one is granted once, and no other. */
import { join } from 'node:path'
import t from 'tap'
import { addAccount, noon, toAccountId } from '../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../support/store/sqlite/support.ts'
import { runOrderHistory } from './order-history.ts'

for (const seed of [1, 2])
  t.test(`history ${seed}: what is paid is granted once, whatever is lost, late, doubled or killed`, async (t) => {
    const file = join(createTemporaryFolder(t), 'store.db')
    let store = await openStoreAt(t, file)
    const accounts = []
    for (let index = 1; index <= 12; index++) {
      await addAccount(store, index)
      const account = await store.accounts.find(toAccountId(index))
      if (account !== undefined) accounts.push(account)
    }
    const { faults, counts } = await runOrderHistory({
      seed,
      orders: 80,
      accounts,
      begin: noon,
      openNodes: async () => [store],
      closeNodes: async () => {
        await store.close()
        store = await openStoreAt(t, file)
      },
    })
    t.same(faults, [])
    t.comment(counts)
    for (const what of ['kills', 'openings', 'lost', 'forged', 'refunds', 'renewals', 'state granted', 'state paid (amount)'])
      t.ok((counts[what] ?? 0) > 0, what)
  })
