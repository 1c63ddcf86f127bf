/** Files beside the source or target of a transfer; `test/system/operator/commands/database/migrate-store.test.ts` tests whole transfers. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSqliteSource, openSqliteTarget } from '../../../../src/store/sqlite/transfer.ts'
import { SettlementJournal, readPendingJournals } from '../../../../src/store/sqlite/process/settlement-journal.ts'
import { addAccount, createSettleOrder, noon } from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, OtherProcess } from '../../../support/store/sqlite/support.ts'

const move = (file: string) => ({
  file,
  files: { readSecret: () => null, writeSecret() {}, hasImage: () => true, readImage: () => null, writeImage() {} },
  process: { id: 'mover', pid: process.pid },
  clock: { now: () => noon },
})

t.test('refuses a target beside the WAL of another database', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  for (let index = 1; index <= 8; index++) await addAccount(store, index)
  await store.close()
  const other = new OtherProcess(t, 'turns', file)
  await other.waitForLineCount(200)
  await other.kill()
  rmSync(file)
  await t.rejects(openSqliteTarget(move(file)), {
    name: 'OperatorError',
    message: /store\.db-wal is there already\. Name an empty folder/,
  })
})

t.test('ignores the journal of an unknown process', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file)).close()
  // As left by a start that was killed after writing the journal's settlements and before removing it.
  const journal = await SettlementJournal.create(file, 'nobody')
  await journal.append({ kind: 'settle', ...createSettleOrder(1, 30) })
  await journal.close(true)
  t.same([...readPendingJournals(file).keys()], ['nobody'])
  const source = await openSqliteSource(move(file))
  await source.close()
})
