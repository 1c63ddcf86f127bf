/** Random histories of one member on PostgreSQL, whose connections are cut now and then. `LEDGER_RUNS` and `LEDGER_SEED` as on SQLite. */
import { Client } from 'pg'
import t from 'tap'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { testHistoriesAgree } from '../../ledger/ledger-histories.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const numRuns = Number(process.env['LEDGER_RUNS'] ?? 15)
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)
const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  testHistoriesAgree(
    t,
    async (t) => {
      const url = await postgres.createDatabase(t)
      const store = await openTestStore(t, url, { ledger: openLedger })
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
    { numRuns, seed, commandsPerCrash: 40 },
  )
