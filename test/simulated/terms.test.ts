/** Histories of terms: whatever the configuration becomes, members have what they bought, and pay what was announced. */
import t from 'tap'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { addAccounts, noon } from '../support/store/contract/store-contract.ts'
import { createTemporaryFolder } from '../support/temporary-folder.ts'
import { openMemoryStore } from './gateway/memory-store.ts'
import { runTermsHistory } from './histories/terms-history.ts'

t.test('history 6: twenty configurations under fifty subscribers take nothing that was bought', async (t) => {
  const memory = await openMemoryStore(createTemporaryFolder(t), new SimulatedClock({ now: noon, monotonicMs: 0 }))
  t.teardown(() => memory.close())
  const { store } = memory
  const { faults, counts } = await runTermsHistory({ seed: 6, accounts: await addAccounts(store, 50), begin: noon, store })
  t.same(faults.slice(0, 20), [])
  t.comment(counts)
  for (const what of ['configurations', 'bought', 'bought by hand', 'redeemed', 'charges', 'failed charges', 'moves now'])
    t.ok((counts[what] ?? 0) > 0, what)
})
