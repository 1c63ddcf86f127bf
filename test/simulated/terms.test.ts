/** Histories of terms: whatever the configuration becomes, members have what they bought, and pay what was announced. */
import { join } from 'node:path'
import t from 'tap'
import type { Account } from '../../src/domain/identity/account.ts'
import { addAccount, noon, toAccountId } from '../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../support/store/sqlite/support.ts'
import { runTermsHistory } from './terms-history.ts'

for (const seed of [6])
  t.test(`history ${seed}: twenty configurations under fifty subscribers take nothing that was bought`, async (t) => {
    const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
    const accounts: Account[] = []
    for (let index = 1; index <= 50; index++) {
      await addAccount(store, index)
      const account = await store.accounts.find(toAccountId(index))
      if (account !== undefined) accounts.push(account)
    }
    const { faults, counts } = await runTermsHistory({ seed, accounts, begin: noon, store })
    t.same(faults.slice(0, 20), [])
    t.comment(counts)
    for (const what of ['configurations', 'bought', 'bought by hand', 'redeemed', 'charges', 'failed charges', 'moves now'])
      t.ok((counts[what] ?? 0) > 0, what)
  })
