/** The copy that a server makes before it changes the schema, and what would be lost by going back to it. */
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Migration } from '../../../../../src/store/migrations/migration.ts'
import { migrations } from '../../../../../src/store/migrations/migrations.ts'
import { listMigrationCopies, readLayout } from '../../../../../src/store/sqlite/maintenance/migration-copy.ts'
import { noCompanions, restoreFile } from '../../../../../src/store/sqlite/maintenance/restore.ts'
import { readPendingJournals, SettlementJournal } from '../../../../../src/store/sqlite/process/settlement-journal.ts'
import {
  addAccount,
  createGrantOrder,
  createSettleOrder,
  noon,
  readBalance,
  reserveHold,
} from '../../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, OtherProcess } from '../../../../support/store/sqlite/support.ts'

const addTable = (name: string): Migration => ({
  name,
  async up(db) {
    await sql.raw(`create table novelty_${name.replaceAll('-', '_')} (a text)`).execute(db)
  },
})
const next = [...migrations, addTable('9998-next')]
const afterNext = [...next, addTable('9999-next')]
const layout = migrations.map(({ name }) => name).toSorted()

t.test('a server copies the database before it changes the layout, and the copy is restored by the version before', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const before = await openStoreAt(t, file, { role: 'server' })
  await addAccount(before)
  await before.ledger.settle(createSettleOrder((await reserveHold(before)).id, 30))
  const held = await reserveHold(before)
  await before.close()
  t.same(listMigrationCopies(file), [], 'no layout was changed')
  // A settlement that the database had not accepted at the stop.
  const journal = await SettlementJournal.create(file, 'stopped')
  await journal.append({ kind: 'settle', ...createSettleOrder(held.id, 12) })
  await journal.close(true)

  const after = await openStoreAt(t, file, { role: 'server', migrations: next })
  t.match(listMigrationCopies(file), [{ layout, laterRecords: { turns: 0, accounts: 0, packs: 0 } }])
  t.equal([...readPendingJournals(listMigrationCopies(file)[0]?.file ?? '').values()].length, 1, 'with the pending settlement')
  await addAccount(after, 2)
  await after.ledger.settle(createSettleOrder((await reserveHold(after)).id, 5))
  await after.ledger.settle(createSettleOrder((await reserveHold(after)).id, 5))
  await after.ledger.grant(createGrantOrder('pack', 777))
  await after.close()
  const [copy] = listMigrationCopies(file)
  t.match(copy, { layout, laterRecords: { turns: 2, accounts: 1, packs: 1 } })
  t.same(readLayout(file), [...layout, '9998-next'])

  await restoreFile({ from: copy?.file ?? '', to: file, at: noon, companions: noCompanions })
  const back = await openStoreAt(t, file, { role: 'server' })
  t.equal(await back.accounts.count(), 1)
  t.ok((await back.ledger.verify()).ok)
})

t.test('a change that is killed in the middle keeps the copy from before its first step', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file, { role: 'server' })).close()
  const failing: Migration = { name: '9999-next', up: () => Promise.reject(new Error('the power failed')) }
  await t.rejects(openStoreAt(t, file, { role: 'server', migrations: [...next, failing] }), { message: 'the power failed' })
  t.same(readLayout(file), [...layout, '9998-next'], 'the first step was made')
  t.match(listMigrationCopies(file), [{ layout }])
  await (await openStoreAt(t, file, { role: 'server', migrations: afterNext })).close()
  t.match(listMigrationCopies(file), [{ layout }])

  // Killed before the first step, and then served by the version before: its copy must not be kept.
  const other = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, other, { role: 'server' })).close()
  const child = new OtherProcess(t, 'migrate', other)
  await child.waitForLine('migrating')
  await child.kill()
  const served = await openStoreAt(t, other, { role: 'server' })
  await addAccount(served)
  await served.close()
  await (await openStoreAt(t, other, { role: 'server', migrations: next })).close()
  t.match(listMigrationCopies(other), [{ layout, laterRecords: { turns: 0, accounts: 0, packs: 0 } }])
})

t.test('a second change replaces the copy of the first', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file, { role: 'server' })).close()
  await (await openStoreAt(t, file, { role: 'server', migrations: next })).close()
  await (await openStoreAt(t, file, { role: 'server', migrations: afterNext })).close()
  t.match(listMigrationCopies(file), [{ layout: [...layout, '9998-next'] }])
  t.equal(listMigrationCopies(file).length, 1)
})

t.test('a command leaves an older layout as it is, and says who changes it', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await (await openStoreAt(t, file)).close()
  await t.rejects(openStoreAt(t, file, { migrations: next }), {
    name: 'OperatorError',
    message: /layout of an older version .* Start the server of this version once/,
  })
  t.same(readLayout(file), layout)
  const store = await openStoreAt(t, file)
  await addAccount(store)
  t.match(await readBalance(store), { used: [0, 0, 0] })
})
