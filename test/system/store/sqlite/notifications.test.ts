/** The contract of the notifications' store on SQLite. */
import { join } from 'node:path'
import t from 'tap'
import { testNotificationContract } from '../contract/notification-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'

testNotificationContract(t, (t) => openStoreAt(t, join(createTemporaryFolder(t), 'store.db')))
