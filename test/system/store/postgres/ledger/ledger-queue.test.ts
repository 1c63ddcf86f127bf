/** What waits for a database that does not answer is bounded. */
import t from 'tap'
import type { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { LedgerQueue } from '../../../../../src/store/postgres/ledger/ledger-queue.ts'
import { createReserveOrder } from '../../../../support/store/contract/store-contract.ts'

/** As many operations as one transaction has. */
const batchSize = 512

t.test('a node refuses holds at once while 10 000 operations wait, and takes endings', async (t) => {
  // The only call that a batch begins with.
  const connections = { acquire: () => new Promise(() => undefined) } as unknown as Connections
  const queue = new LedgerQueue(connections, () => 1)
  const refusedCodes: unknown[] = []
  const reserve = (): void => {
    const request = createReserveOrder()
    void queue.submit({ kind: 'reserve', request } as never).catch((error: { code?: unknown }) => refusedCodes.push(error.code))
  }
  for (let nth = 0; nth < 9_999; nth++) reserve()
  // The first batch leaves for the database, which makes room for as many.
  await new Promise((resolve) => setImmediate(resolve))
  for (let nth = 0; nth <= batchSize; nth++) reserve()
  await new Promise((resolve) => setImmediate(resolve))
  t.same(refusedCodes, [], '10 000 wait, and a batch runs')
  for (let nth = 0; nth < 50; nth++) reserve()
  void queue.submit({ kind: 'settle', hold: 7 } as never).catch(() => undefined)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(
    refusedCodes,
    Array.from({ length: 50 }, () => 'temporarily_unavailable'),
  )
  t.equal(queue.stats().queue, 10_000 + batchSize + 1, 'an ending is never refused')
})
