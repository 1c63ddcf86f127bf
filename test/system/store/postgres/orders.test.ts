/** The contract of orders on PostgreSQL, and a history of orders on three nodes of one database. */
import t from 'tap'
import type { Test } from 'tap'
import { openLedger } from '../../../../src/store/postgres/open-ledger.ts'
import { runOrderHistory } from '../../../simulated/histories/order-history.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { testAccountDeletionContract } from '../contract/account-deletion-contract.ts'
import { testOrderContract } from '../contract/order-contract.ts'
import { addAccounts, noon } from '../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from './test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const openAt = (t: Test, url: string) => openTestStore(t, url, { ledger: openLedger })
  testOrderContract(t, async (t) => openAt(t, await postgres.createDatabase(t)))
  testAccountDeletionContract(t, async (t) => openAt(t, await postgres.createDatabase(t)))

  t.test('on three nodes, what is paid is granted once, whatever is lost, late, doubled or killed', async (t) => {
    const url = await postgres.createDatabase(t)
    const first = await openAt(t, url)
    const nodes = [first, await openAt(t, url), await openAt(t, url)]
    const { faults, counts } = await runOrderHistory({
      seed: 3,
      orders: 12,
      accounts: await addAccounts(first, 8),
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
