/** Deliveries on SQLite. */
import { join } from 'node:path'
import { createTemporaryFolder, openStoreAt } from '../store/sqlite/support.ts'
import { testDelivery } from './delivery-contract.ts'

testDelivery((t) => openStoreAt(t, join(createTemporaryFolder(t), 'store.db')))
