/** Reports of a database file, which a thread reads. */
import { join } from 'node:path'
import t from 'tap'
import { readReport } from '../../../../../src/store/sqlite/maintenance/report.ts'
import { createTemporaryFolder, openStoreAt } from '../../../../support/store/sqlite/support.ts'
import { runLedgerScenario } from '../../ledger/ledger-scenario.ts'

t.test('the event loop goes on while the database groups, and a reader may leave early', async (t) => {
  const file = join(createTemporaryFolder(t), 'gateway.db')
  const store = await openStoreAt(t, file, { role: 'server' })
  await runLedgerScenario(store, 20_261_129, 300)
  let turnsOfLoop = 0
  setImmediate(() => (turnsOfLoop += 1))
  const slots = readReport(file, { by: ['account'] })[Symbol.asyncIterator]()
  t.match(await slots.next(), { done: false, value: { group: { account: String } } })
  t.equal(turnsOfLoop, 1)
  await slots.return?.()
  const groups = new Set<string>()
  for await (const { group } of readReport(file, { by: ['account', 'key'] })) groups.add(JSON.stringify(group))
  t.ok(groups.size > 1)
  await t.rejects(readReport(join(file, 'none'), { by: [] })[Symbol.asyncIterator]().next(), Error)
})
