/** The contract of a store, held to SQLite. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Store } from '../../src/membership/store.ts'
import { emptyDatabase } from '../support/empty-database.ts'
import { storeContract } from './contract.ts'
import { repositoryContract } from './repository-contract.ts'
import { folderOf, openAt } from './sqlite/support.ts'

storeContract(t, openEmpty)
repositoryContract(t, async (t) => [await openEmpty(t)])

async function openEmpty(t: Test): Promise<Store> {
  const file = join(folderOf(t), 'store.db')
  copyFileSync(await emptyDatabase(), file)
  return openAt(t, file)
}
