/** When balance rows are written: when the writer is idle, and at the end. */
import { join } from 'node:path'
import t from 'tap'
import { addAccount, readBalance, createSettleOrder, reserveHold } from '../../../../support/store/contract/store-contract.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../../support/store/sqlite/support.ts'

const turns = 40

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
  await waitUntil(() => written(file)?.settled === 30 && written(file)?.behind === 0, 'the balance to be written when idle')
  countWrites(file)
  for (let turn = 0; turn < turns; turn++) await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 5))
  await store.close()
  t.same(written(file), { settled: 30 + turns * 5, behind: 0 })
  const writes = withRawDatabase(file, (db) => db.prepare('select count(*) from balance_write').pluck().get() as number)
  // When the store closes, and whenever the writer stood still between two turns.
  t.ok(writes >= 1 && writes < turns, `${turns} turns wrote it ${writes} times`)
})

function countWrites(file: string): void {
  withRawDatabase(file, (db) =>
    db.exec(`create table balance_write (at integer);
      create trigger count_balance_writes after update on balance begin insert into balance_write values (0); end`),
  )
}
