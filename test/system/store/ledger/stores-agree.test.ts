/**
 * The same operations produce the same turns, links and balances in every store, byte for byte: all stores share one ledger
 * engine.
 */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Client } from 'pg'
import t from 'tap'
import { openLedger } from '../../../../src/store/postgres/open-ledger.ts'
import { bucketValueColumns } from '../../../../src/store/ledger/account-balance.ts'
import { verifiedColumns } from '../../../../src/store/ledger/turn-columns.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { runLedgerScenario } from './ledger-scenario.ts'
import { createTestSchema, openTestStore } from '../postgres/test-store.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'

/** The compared rows, in an order that both databases have. */
const tables = {
  turn: `select ${[...verifiedColumns, 'disputed_input', 'disputed_output'].join(', ')} from turn order by id`,
  entry: 'select account, seq, kind, at, detail, hash from entry order by account, seq',
  pack: 'select * from pack order by id',
  bucket:
    'select account, id, pool, "window", starts_at, ends_at, granted, reserved, settled, debt from bucket order by account, id',
  checkpoint: 'select account, seq, hash, balances, seal from checkpoint order by account',
  balance: `select account, seq, hash, ${bucketValueColumns.join(', ')} from balance order by account`,
  ledger_account: 'select number, account, hash from ledger_account order by number',
}

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  t.test('SQLite and PostgreSQL store the same ledger', async (t) => {
    const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)
    t.comment(`LEDGER_SEED=${seed}`)
    const file = join(createTemporaryFolder(t), 'store.db')
    const sqlite = await openStoreAt(t, file, { role: 'server' })
    const url = await postgres.createDatabase(t)
    const shared = await openTestStore(t, url, { ledger: openLedger })
    const [one, other] = [
      await runLedgerScenario(sqlite, seed, 700, { adjusts: true }),
      await runLedgerScenario(shared, seed, 700, { adjusts: true }),
    ]
    t.same(other, one, 'the results are equal')
    for (const store of [sqlite, shared]) t.same((await store.ledger.verify()).mismatches, [], 'the ledger verifies')
    await sqlite.close()

    const db = new Sqlite(file, { readonly: true })
    const client = new Client({ connectionString: url, types: { getTypeParser: numbers } })
    await client.connect()
    t.teardown(async () => {
      db.close()
      await client.end()
    })
    for (const [name, statement] of Object.entries(tables)) {
      const expected = db.prepare(statement).all()
      const { rows } = await client.query(statement)
      t.ok(expected.length > 0, `${expected.length} of ${name}`)
      t.same(rows, expected, name)
    }
  })

function numbers(oid: number): (text: string) => unknown {
  if (oid === 20) return Number
  return oid === 17 ? (text) => Buffer.from(text.slice(2), 'hex') : (text) => text
}
