/** The plans of the ledger's statements, asked of PostgreSQL as it makes them once for all: on tables that are still empty. */
import { Client } from 'pg'
import t from 'tap'
import * as sql from '../../../src/store/postgres/ledger-sql.ts'
import type { Statement } from '../../../src/store/postgres/ledger-sql.ts'
import { settings } from '../../../src/store/postgres/lane-settings.ts'
import { postgresFor } from '../../support/postgres.ts'
import { furnish } from './support.ts'

const postgres = await postgresFor(t, furnish)

const purse = ['acc', 1, 0, 1, new Uint8Array(16), 0, '{}']

const finding: Readonly<Record<string, Statement>> = {
  lockPurses: sql.lockPurses([['acc', 1]]),
  ofRefusedOnes: sql.writeTurns({ purses: [purse], held: [], ended: [] }),
  ofHolds: sql.writeTurns({ purses: [purse], held: [Array(19).fill(null)], ended: [] }),
  ofEndings: sql.writeTurns({ purses: [purse], held: [], ended: [Array(16).fill(null)] }),
  ofBoth: sql.writeTurns({ purses: [purse], held: [Array(19).fill(null)], ended: [Array(16).fill(null)] }),
  noteTurns: sql.noteTurns([[1, 'acc', 1, 1]]),
  takeOut: sql.takeOut([['acc', 1]]),
  movePacks: sql.movePacks([['pack', 1, 1]]),
  readTurns: sql.readTurns([['acc', 1]]),
  readKeys: sql.readKeys([['acc', 'key']]),
  readBuckets: sql.readBuckets([['acc']]),
  accountsOf: sql.accountsOf([[1]]),
  holdsOf: sql.holdsOf(1),
}

/** They add rows, and look for none. */
const adding: Readonly<Record<string, Statement>> = {
  insertEntries: sql.insertEntries([Array(6).fill(null)]),
  putAway: sql.putAway([Array(10).fill(null)]),
  insertPacks: sql.insertPacks([Array(7).fill(null)]),
}

if (postgres !== undefined) {
  t.test('every statement of a turn finds its rows by their key, however long the log is', async (t) => {
    const client = new Client({ connectionString: await postgres.database(t) })
    await client.connect()
    t.teardown(() => client.end())
    for (const [name, value] of Object.entries(settings)) await client.query(`set ${name} = ${value}`)
    const planOf = async ({ text, values }: Statement): Promise<string> => {
      const { rows } = await client.query({ text: `explain ${text}`, values })
      return rows.map((row: { readonly 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n')
    }
    for (const [name, statement] of Object.entries(finding)) {
      const plan = await planOf(statement)
      // Walking through a whole index for each row is as bad as walking through the table.
      const scans = plan.match(/(?:Index|Index Only|Bitmap Heap) Scan (?!on \w+_)/g) ?? []
      t.equal(plan.match(/Index Cond/g)?.length, Math.max(1, scans.length), `${name}:\n${plan}`)
      t.notMatch(plan, /Seq Scan/, name)
      if (name !== 'holdsOf') t.notMatch(plan, /turn_held/, `${name} does not look through the open holds`)
    }
    for (const [name, statement] of Object.entries(adding))
      t.notMatch(await planOf(statement), /Scan (?:using|on) (?!\w\b)/, name)
  })

  t.test('what is prepared goes on while a newer version adds columns', async (t) => {
    const client = new Client({ connectionString: await postgres.database(t) })
    await client.connect()
    t.teardown(() => client.end())
    // Of no rows, so that it may be done.
    const all = [
      sql.writeTurns({ purses: [], held: [], ended: [] }),
      sql.readPacks([], []),
      sql.holdsOf(1),
      ...[sql.lockPurses, sql.readTurns, sql.readKeys, sql.readBuckets, sql.accountsOf, sql.takeOut, sql.movePacks].map((make) =>
        make([]),
      ),
      ...[sql.noteTurns, sql.insertEntries, sql.putAway, sql.insertPacks].map((make) => make([])),
    ]
    for (const statement of all) await client.query(statement)
    for (const table of ['purse', 'turn', 'pack', 'bucket', 'entry'])
      await client.query(`alter table ${table} add column novelty text`)
    for (const statement of all) await t.resolves(client.query(statement), statement.name)
  })
}
