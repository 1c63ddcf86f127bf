/** The contract of orders on PostgreSQL, and a history of orders on three nodes of one database. */
import t from 'tap'
import type { Test } from 'tap'
import type { Account } from '../../../../src/domain/identity/account.ts'
import { openLedger } from '../../../../src/store/postgres/open-ledger.ts'
import { runOrderHistory } from '../../../simulated/order-history.ts'
import { providePostgres } from '../../../support/servers/postgres.ts'
import { testAccountDeletionContract } from '../contract/account-deletion-contract.ts'
import { testOrderContract } from '../contract/order-contract.ts'
import { addAccount, noon, toAccountId } from '../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from './test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const openAt = (t: Test, url: string) => openTestStore(t, url, { ledger: openLedger })
  testOrderContract(t, async (t) => openAt(t, await postgres.createDatabase(t)))
  testAccountDeletionContract(t, async (t) => openAt(t, await postgres.createDatabase(t)))

  t.test('on three nodes, what is paid is granted once, whatever is lost, late, doubled or killed', async (t) => {
    const url = await postgres.createDatabase(t)
    const nodes = [await openAt(t, url), await openAt(t, url), await openAt(t, url)]
    const accounts: Account[] = []
    for (let index = 1; index <= 8; index++) {
      const [store] = nodes
      if (store === undefined) throw new Error('there is no node')
      await addAccount(store, index)
      const account = await store.accounts.find(toAccountId(index))
      if (account !== undefined) accounts.push(account)
    }
    const { faults, counts } = await runOrderHistory({
      seed: 3,
      orders: 12,
      accounts,
      begin: noon,
      openNodes: async () => nodes,
      // Killed nodes lose what they had in memory; their connections stay.
      closeNodes: async () => undefined,
    })
    t.same(faults, [])
    t.comment(counts)
    for (const what of ['kills', 'lost', 'renewals', 'state granted']) t.ok((counts[what] ?? 0) > 0, what)
  })
}
