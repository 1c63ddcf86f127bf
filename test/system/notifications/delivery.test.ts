/** Deliveries on SQLite. */
import { join } from 'node:path'
import t from 'tap'
import { createTemporaryFolder, openStoreAt } from '../../support/store/sqlite/support.ts'
import { testDelivery } from './delivery-contract.ts'

testDelivery(t, (t) => openStoreAt(t, join(createTemporaryFolder(t), 'store.db')))
