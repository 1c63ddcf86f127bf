/** The contract of the notifications' store on PostgreSQL. */
import t from 'tap'
import { openLedger } from '../../../../src/store/postgres/open-ledger.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { testNotificationContract } from '../contract/notification-contract.ts'
import { createTestSchema, openTestStore } from './test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  testNotificationContract(t, async (t) => openTestStore(t, await postgres.createDatabase(t), { ledger: openLedger }))
