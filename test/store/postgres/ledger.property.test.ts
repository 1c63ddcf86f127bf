/** Any history of one member on PostgreSQL, whose connections are cut now and then. `LEDGER_RUNS` and `LEDGER_SEED` as on SQLite. */
import { Client } from 'pg'
import t from 'tap'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import { postgresFor } from '../../support/postgres.ts'
import { historiesAgree } from '../ledger-histories.ts'
import { furnish, openOn } from './support.ts'

const numRuns = Number(process.env['LEDGER_RUNS'] ?? 15)
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)
const postgres = await postgresFor(t, furnish)

if (postgres !== undefined)
  historiesAgree(
    t,
    async (t) => {
      const url = await postgres.database(t)
      const store = await openOn(t, url, { ledger: openLedger })
      const other = new Client({ connectionString: url })
      await other.connect()
      t.teardown(() => other.end())
      return {
        store,
        async crash() {
          await other.query(
            'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
          )
          return false
        },
      }
    },
    { numRuns, seed, crashesOneIn: 40 },
  )
