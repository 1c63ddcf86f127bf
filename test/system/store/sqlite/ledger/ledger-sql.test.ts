/** SQLite's query plans of the ledger's statements. */
import { join } from 'node:path'
import t from 'tap'
import { prepareLedgerSql } from '../../../../../src/store/sqlite/ledger/ledger-sql.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../../support/store/sqlite/support.ts'

t.test('reads no more rows than a turn needs, however many turns there are', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  await openStoreAt(t, file)
  withRawDatabase(file, (db) => {
    for (const [name, statement] of Object.entries(prepareLedgerSql(db))) {
      const parameters = Array(statement.source.split('?').length - 1).fill(0)
      const plan = db.prepare<unknown[], { detail: string }>(`explain query plan ${statement.source}`).all(...parameters)
      const details = plan.map((step) => step.detail).join(' · ')
      // The index of open holds is only as long as their number, and receivers are those of the configuration; everything else must be a
      // search, not a scan.
      t.notMatch(
        details.replaceAll(/SCAN turn USING (COVERING )?INDEX turn_held|SCAN notification_receiver EXISTS/g, ''),
        /SCAN|TEMP B-TREE/,
        `${name}: ${details}`,
      )
    }
  })
})

t.test('reads sums of usage as one range of their key', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const store = await openStoreAt(t, file)
  t.same(await store.usageSums.listSince('acc', 0), [])
  withRawDatabase(file, (db) => {
    const plan = db
      .prepare<unknown[], { detail: string }>(
        'explain query plan select * from usage_sum where account = ? and starts_at >= ? order by starts_at',
      )
      .all('acc', 0)
    t.same(
      plan.map(({ detail }) => detail),
      ['SEARCH usage_sum USING PRIMARY KEY (account=? AND starts_at>?)'],
    )
  })
})
