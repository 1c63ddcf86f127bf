/** Histories of orders: each paid one is granted once, and no other. */
import t from 'tap'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { addAccounts, noon } from '../support/store/contract/store-contract.ts'
import { createTemporaryFolder } from '../support/temporary-folder.ts'
import { openMemoryStore } from './gateway/memory-store.ts'
import { runOrderHistory } from './histories/order-history.ts'

const total: Record<string, number> = {}

for (const seed of [1, 2, 3, 4, 5])
  t.test(`history ${seed}: what is paid is granted once, whatever is lost, late, doubled or killed`, async (t) => {
    const memory = await openMemoryStore(createTemporaryFolder(t), new SimulatedClock({ now: noon, monotonicMs: 0 }))
    t.teardown(() => memory.close())
    const { faults, counts } = await runOrderHistory({
      seed,
      orders: 12,
      accounts: await addAccounts(memory.store, 12),
      begin: noon,
      openNodes: async () => [memory.store],
      closeNodes: async () => undefined,
    })
    t.same(faults, [])
    for (const [what, count] of Object.entries(counts)) total[what] = (total[what] ?? 0) + count
  })

t.test('the histories have each of their faults', async (t) => {
  t.comment(total)
  for (const what of ['kills', 'lost', 'forged', 'refunds', 'renewals', 'state granted', 'state paid (amount)'])
    t.ok((total[what] ?? 0) > 0, what)
})
