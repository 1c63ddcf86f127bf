/** A history of orders on a file that is closed and opened again: each paid one is granted once, and no other. */
import { join } from 'node:path'
import t from 'tap'
import { runOrderHistory } from '../../../simulated/histories/order-history.ts'
import { addAccounts, noon } from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'

t.test('what is paid is granted once, whatever is lost, late, doubled or killed', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  let store = await openStoreAt(t, file)
  const { faults, counts } = await runOrderHistory({
    seed: 1,
    orders: 20,
    accounts: await addAccounts(store, 12),
    begin: noon,
    openNodes: async () => [store],
    closeNodes: async () => {
      await store.close()
      store = await openStoreAt(t, file)
    },
  })
  t.same(faults, [])
  t.comment(counts)
  for (const what of ['kills', 'openings', 'lost', 'renewals', 'state granted']) t.ok((counts[what] ?? 0) > 0, what)
})
