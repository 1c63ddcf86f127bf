/** The contract of a store, held to SQLite. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { emptyDatabase } from '../support/empty-database.ts'
import { storeContract } from './contract.ts'
import { folderOf, openAt } from './sqlite/support.ts'

storeContract(t, async (t) => {
  const file = join(folderOf(t), 'store.db')
  copyFileSync(await emptyDatabase(), file)
  return openAt(t, file)
})
