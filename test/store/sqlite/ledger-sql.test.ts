/** The plans of the ledger's statements, asked of SQLite. */
import { join } from 'node:path'
import t from 'tap'
import { prepareLedgerSql } from '../../../src/store/sqlite/ledger-sql.ts'
import { folderOf, openAt, raw } from './support.ts'

t.test('no statement of a turn looks at more rows than it needs, however long the log is', async (t) => {
  const file = join(folderOf(t), 'store.db')
  await openAt(t, file)
  raw(file, (db) => {
    for (const [name, statement] of Object.entries(prepareLedgerSql(db))) {
      const parameters = Array(statement.source.split('?').length - 1).fill(0)
      const plan = db.prepare<unknown[], { detail: string }>(`explain query plan ${statement.source}`).all(...parameters)
      const details = plan.map((step) => step.detail).join(' · ')
      // The index of open holds is as long as there are open holds; everything else must be sought, not scanned.
      t.notMatch(
        details.replaceAll(/SCAN turn USING (COVERING )?INDEX turn_held/g, ''),
        /SCAN|TEMP B-TREE/,
        `${name}: ${details}`,
      )
    }
  })
})
