/** When balance rows are written: when the writer is idle, and at the end. */
import { join } from 'node:path'
import t from 'tap'
import { addAccount, readBalance, createSettleOrder, reserveHold } from '../../../../support/store/contract/store-contract.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../../support/store/sqlite/support.ts'

/** The settled amount in the row, and how many turns it may be behind. */
function written(file: string): { settled: number; behind: number } | undefined {
  return withRawDatabase(file, (db) =>
    db
      .prepare<[], { settled: number; behind: number }>(
        'select premium_day_settled as settled, newest_turn - turn as behind from balance, balance_watermark',
      )
      .get(),
  )
}

t.test('writes a balance behind its turns: when the writer is idle and when the store closes', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  await addAccount(store)
  await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 30))
  t.same((await readBalance(store)).used, [30, 30, 30], 'a reader sees it at once')
  await waitUntil(() => written(file)?.behind === 0, 'the balance to be written when idle')
  t.same(written(file), { settled: 30, behind: 0 })
  await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 5))
  t.same(written(file), { settled: 30, behind: 1 }, 'a turn does not write it')
  await store.close()
  t.same(written(file), { settled: 35, behind: 0 })
})
