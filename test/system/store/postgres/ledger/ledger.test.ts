/** The ledger contract on PostgreSQL. */
import t from 'tap'
import type { Test } from 'tap'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { testAdjustmentContract } from '../../contract/adjustment-contract.ts'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import { createHistorySlots } from '../../../../../src/domain/turn-history/history-slots.ts'
import {
  addAccount,
  createReserveOrder,
  createSettleOrder,
  noon,
  reserveHold,
  testStoreContract,
} from '../../../../support/store/contract/store-contract.ts'
import { testTurnHistory } from '../../contract/turn-history-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const open = async (t: Test) => openTestStore(t, await postgres.createDatabase(t), { ledger: openLedger })
  testStoreContract(t, open)
  testAdjustmentContract(t, open)
  testTurnHistory(t, open)

  t.test('lists find a turn that got the id of a refused one after later ids were seen', async (t) => {
    const store = await open(t)
    await addAccount(store, 1)
    const slots = createHistorySlots(createCalendar('UTC'))
    const collect = async (at: number): Promise<void> => {
      while ((await store.turnHistory.collect({ at, keptFrom: 0, slots, limit: 10 })).isMore);
    }
    const [refused, first] = await Promise.all([
      store.ledger.reserve(createReserveOrder({ amount: 1e6, minAmount: 1e6 })),
      reserveHold(store),
    ])
    t.equal(refused.kind, 'insufficient')
    await store.ledger.settle(createSettleOrder(first.id, 10))
    await collect(noon)
    const late = await reserveHold(store)
    t.ok(late.id < first.id)
    await store.ledger.settle(createSettleOrder(late.id, 20))
    await collect(noon + 31_000)
    const listed = await store.turnHistory.listTurns({}, { limit: 10 })
    t.same(listed.map(({ id, credits }) => [id, credits]).toSorted(), [
      [late.id, 20],
      [first.id, 10],
    ])
  })
}
