/**
 * `node bench/orders.ts [ORDERS] [SEED] [--postgres]`: one history of orders on a file, or on three nodes of one PostgreSQL, with lost, late,
 * doubled and forged notifications, a provider that fails, and nodes that are killed. Exits with 1 if a paid order is not granted exactly once,
 * or if an unpaid one is granted. With `--postgres` it needs Debian's postgresql.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Store } from '../src/domain/store.ts'
import { openLedger } from '../src/store/postgres/open-ledger.ts'
import { openPostgresStore } from '../src/store/postgres/open.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { createClock } from '../src/system/clock.ts'
import { runOrderHistory } from '../test/simulated/histories/order-history.ts'
import { startPostgresServer } from '../test/support/servers/postgres/postgres.ts'
import { createTemporaryFolder } from '../test/support/temporary-folder.ts'
import { ProgramScope } from './cluster/program-scope.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { postgres: { type: 'boolean', default: false } } })
const [orders = '2000', seed = '1'] = positionals
const begin = Date.parse('2026-05-13T12:00:00Z')
const clock = createClock({ now: () => begin })
let openings = 0

const openOnPostgres = (url: string) =>
  openPostgresStore({ url, process: { id: `bench-${(openings += 1)}`, version: '1.0.0' }, clock, ledger: openLedger })

const scope = new ProgramScope()
try {
  process.exitCode = await measure(await chooseNodes())
} finally {
  await scope.close()
}

/** Opens the store of each node. */
async function chooseNodes(): Promise<() => Promise<readonly Store[]>> {
  if (!values.postgres) {
    const file = join(createTemporaryFolder(scope), 'store.db')
    return async () => [await openSqliteStore({ file, process: { id: `bench-${(openings += 1)}`, pid: process.pid }, clock })]
  }
  const server = await startPostgresServer(scope, async (url) => (await openOnPostgres(url)).close())
  if (server === undefined) throw new Error('PostgreSQL is not installed')
  const url = await server.createDatabase(scope)
  return () => Promise.all([1, 2, 3].map(() => openOnPostgres(url)))
}

async function measure(openNodes: () => Promise<readonly Store[]>): Promise<number> {
  let nodes = await openNodes()
  const [store] = nodes
  if (store === undefined) throw new Error('there is no node')
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
    openNodes: async () => nodes,
    async closeNodes() {
      for (const node of nodes) await node.close()
      nodes = await openNodes()
    },
  })
  for (const node of nodes) await node.close()
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(JSON.stringify({ seed: Number(seed), nodes: nodes.length, seconds, counts }, null, 2))
  for (const fault of faults) console.log(fault)
  return faults.length === 0 ? 0 : 1
}
