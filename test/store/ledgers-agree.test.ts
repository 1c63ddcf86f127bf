/** The same operations leave the same turns, links and balances in every store, byte for byte: there is one ledger logic. */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Client } from 'pg'
import t from 'tap'
import { openLedger } from '../../src/store/postgres/open-ledger.ts'
import { cellColumns } from '../../src/store/purse.ts'
import { provenColumns } from '../../src/store/turn-columns.ts'
import { postgresFor } from '../support/postgres.ts'
import { live } from './ledger-life.ts'
import { furnish, openOn } from './postgres/support.ts'
import { folderOf, openAt } from './sqlite/support.ts'

/** What the two are compared by, in an order that both databases have. */
const tables = {
  // Blanks only keep room in SQLite's pages.
  turn: `select ${[...provenColumns, 'contradicted_input', 'contradicted_output'].join(', ').replace('window_debts', `nullif(trim(window_debts), '') as window_debts`)} from turn order by id`,
  entry: 'select account, seq, kind, at, detail, hash from entry order by account, seq',
  pack: 'select * from pack order by id',
  bucket:
    'select account, id, pool, "window", starts_at, ends_at, granted, reserved, settled, debt from bucket order by account, id',
  checkpoint: 'select account, seq, hash, balances, seal from checkpoint order by account',
  roster: 'select number, account, hash from roster order by number',
}
const purse = (table: string) => `select account, seq, hash, ${cellColumns.join(', ')} from ${table} order by account`

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined)
  t.test('SQLite and PostgreSQL', async (t) => {
    const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)
    t.comment(`LEDGER_SEED=${seed}`)
    const file = join(folderOf(t), 'store.db')
    const sqlite = await openAt(t, file, { role: 'server' })
    const url = await postgres.database(t)
    const shared = await openOn(t, url, { ledger: openLedger })
    const [one, other] = [await live(sqlite, seed, 700), await live(shared, seed, 700)]
    t.same(other, one, 'the same answers')
    for (const store of [sqlite, shared]) t.same((await store.ledger.verify()).mismatches, [], 'which prove themselves')
    await sqlite.close()

    const db = new Sqlite(file, { readonly: true })
    const client = new Client({ connectionString: url, types: { getTypeParser: numbers } })
    await client.connect()
    t.teardown(async () => {
      db.close()
      await client.end()
    })
    const compared = { ...tables, purse: purse('purse') }
    for (const [name, statement] of Object.entries(compared)) {
      const expected = db.prepare(name === 'purse' ? purse('written_purse') : statement).all()
      const { rows } = await client.query(statement)
      t.ok(expected.length > 0, `${expected.length} of ${name}`)
      t.same(rows, expected, name)
    }
  })

function numbers(oid: number): (text: string) => unknown {
  if (oid === 20) return Number
  return oid === 17 ? (text) => Buffer.from(text.slice(2), 'hex') : (text) => text
}
