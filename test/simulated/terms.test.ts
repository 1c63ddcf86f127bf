/** Histories of terms: whatever the configuration becomes, members have what they bought, and pay what was announced. */
import t from 'tap'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { addAccounts, noon } from '../support/store/contract/store-contract.ts'
import { createTemporaryFolder } from '../support/temporary-folder.ts'
import { openMemoryStore } from './gateway/memory-store.ts'
import { runTermsHistory } from './histories/terms-history.ts'

const total: Record<string, number> = {}

for (const seed of [6, 7, 8])
  t.test(`history ${seed}: twenty configurations under sixteen subscribers take nothing that was bought`, async (t) => {
    const memory = await openMemoryStore(createTemporaryFolder(t), new SimulatedClock({ now: noon, monotonicMs: 0 }))
    t.teardown(() => memory.close())
    const { store } = memory
    const { faults, counts } = await runTermsHistory({ seed, accounts: await addAccounts(store, 16), begin: noon, store })
    t.same(faults.slice(0, 20), [])
    for (const [what, count] of Object.entries(counts)) total[what] = (total[what] ?? 0) + count
  })

t.test('the histories have each kind of purchase and change', async (t) => {
  t.comment(total)
  for (const what of ['configurations', 'bought', 'bought by hand', 'redeemed', 'charges', 'failed charges', 'moves now'])
    t.ok((total[what] ?? 0) > 0, what)
})
