/** Deliveries on PostgreSQL. */
import t from 'tap'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import { createTestSchema, openTestStore } from '../store/postgres/test-store.ts'
import { providePostgres } from '../../support/servers/postgres/postgres.ts'
import { testDelivery } from './delivery-contract.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  testDelivery(t, async (t) => openTestStore(t, await postgres.createDatabase(t), { ledger: openLedger }))
