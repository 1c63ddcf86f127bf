/**
 * `npx node bench/orders.ts [ORDERS] [SEED]`: one history of orders on a file, with lost, late, doubled and forged notifications, a provider that
 * fails and a process that is killed. Exits with 1 if a paid order is not granted exactly once, or if an unpaid one is granted.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { runOrderHistory } from '../test/simulated/order-history.ts'

const [orders = '2000', seed = '1'] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'orders-'))
const begin = Date.parse('2026-05-13T12:00:00Z')
let openings = 0
const openStore = () =>
  openSqliteStore({
    file: join(folder, 'store.db'),
    process: { id: `bench-${(openings += 1)}`, pid: process.pid },
    clock: { now: () => begin },
  })
let store = await openStore()
const accounts = []
for (let index = 1; index <= Math.ceil(Number(orders) / 8); index++) {
  const id = `acc_${String(index).padStart(26, '0')}`
  const account = { id, email: `member${index}@example.org`, plan: 'free', passwordHash: null, emailVerified: true, at: begin }
  const created = await store.accounts.create(account)
  if (created !== undefined) accounts.push(created)
}
const began = performance.now()
const { faults, counts } = await runOrderHistory({
  seed: Number(seed),
  orders: Number(orders),
  accounts,
  begin,
  openNodes: async () => [store],
  closeNodes: async () => {
    await store.close()
    store = await openStore()
  },
})
await store.close()
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ seed: Number(seed), seconds: Math.round((performance.now() - began) / 1000), counts }, null, 2))
for (const fault of faults) console.log(fault)
process.exitCode = faults.length === 0 ? 0 : 1
