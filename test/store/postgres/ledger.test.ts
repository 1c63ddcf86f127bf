/** The ledger's contract, held to PostgreSQL. */
import t from 'tap'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import { postgresFor } from '../../support/postgres.ts'
import { storeContract } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined) storeContract(t, async (t) => openOn(t, await postgres.database(t), { ledger: openLedger }))
