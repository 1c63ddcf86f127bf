/** The ledger contract on PostgreSQL. */
import t from 'tap'
import type { Test } from 'tap'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import { providePostgres } from '../../../../support/servers/postgres.ts'
import { testAdjustmentContract } from '../../contract/adjustment-contract.ts'
import { testStoreContract } from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const open = async (t: Test) => openTestStore(t, await postgres.createDatabase(t), { ledger: openLedger })
  testStoreContract(t, open)
  testAdjustmentContract(t, open)
}
