/** The contract of a store, held to SQLite. */
import { join } from 'node:path'
import t from 'tap'
import { storeContract } from './contract.ts'
import { folderOf, openAt } from './sqlite/support.ts'

storeContract(t, (t) => openAt(t, join(folderOf(t), 'store.db')))
