/** The contract of a store, held to SQLite. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Store } from '../../src/membership/store.ts'
import { storeContract } from './contract.ts'
import { repositoryContract } from './repository-contract.ts'
import { folderOf, openAt } from './sqlite/support.ts'

const openEmpty = (t: Test): Promise<Store> => openAt(t, join(folderOf(t), 'store.db'))

storeContract(t, openEmpty)
repositoryContract(t, async (t) => [await openEmpty(t)])
