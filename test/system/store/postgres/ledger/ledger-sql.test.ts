/** PostgreSQL's generic plans of the ledger's statements, made on empty tables. */
import { Client } from 'pg'
import t from 'tap'
import * as sql from '../../../../../src/store/postgres/ledger/ledger-sql.ts'
import type { Statement } from '../../../../../src/store/postgres/ledger/ledger-sql.ts'
import { plannerSettings } from '../../../../../src/store/postgres/ledger/planner-settings.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { createTestSchema } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

const balanceRow = ['acc', 1, 0, 1, new Uint8Array(16), 0, '{}']

const finding: Readonly<Record<string, Statement>> = {
  lockPurses: sql.lockBalances([['acc', 1]]),
  ofRefusedOnes: sql.writeTurns({ balances: [balanceRow], held: [], ended: [] }),
  ofHolds: sql.writeTurns({ balances: [balanceRow], held: [Array(20).fill(null)], ended: [] }),
  ofEndings: sql.writeTurns({ balances: [balanceRow], held: [], ended: [Array(16).fill(null)] }),
  ofBoth: sql.writeTurns({ balances: [balanceRow], held: [Array(20).fill(null)], ended: [Array(16).fill(null)] }),
  noteTurns: sql.annotateTurns([[1, 'acc', 1, 1]]),
  takeOut: sql.deleteBuckets([['acc', 1]]),
  movePacks: sql.applyPackDeltas([['pack', 1, 1]]),
  readTurns: sql.readTurns([['acc', 1]]),
  readKeys: sql.readIdempotencyKeys([['acc', 'key']]),
  readBuckets: sql.readBuckets([['acc']]),
  accountsOf: sql.findHoldAccounts([[1]]),
  holdsOf: sql.findNodeHolds(1),
}

/** Statements that only insert rows. */
const adding: Readonly<Record<string, Statement>> = {
  insertEntries: sql.insertEntries([Array(6).fill(null)]),
  putAway: sql.archiveBuckets([Array(10).fill(null)]),
  insertPacks: sql.insertPacks([Array(7).fill(null)]),
}

if (postgres !== undefined) {
  t.test('finds the rows of every statement of a turn by key, however many turns there are', async (t) => {
    const client = new Client({ connectionString: await postgres.createDatabase(t) })
    await client.connect()
    t.teardown(() => client.end())
    for (const [name, value] of Object.entries(plannerSettings)) await client.query(`set ${name} = ${value}`)
    const planOf = async ({ text, values }: Statement): Promise<string> => {
      const { rows } = await client.query({ text: `explain ${text}`, values })
      return rows.map((row: { readonly 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n')
    }
    for (const [name, statement] of Object.entries(finding)) {
      const plan = await planOf(statement)
      // A full index scan for each row is as bad as a table scan.
      const scans = plan.match(/(?:Index|Index Only|Bitmap Heap) Scan (?!on \w+_)/g) ?? []
      t.equal(plan.match(/Index Cond/g)?.length, Math.max(1, scans.length), `${name}:\n${plan}`)
      t.notMatch(plan, /Seq Scan/, name)
      if (name !== 'holdsOf') t.notMatch(plan, /turn_held/, `${name} does not look through the open holds`)
    }
    for (const [name, statement] of Object.entries(adding))
      t.notMatch(await planOf(statement), /Scan (?:using|on) (?!\w\b)/, name)
  })

  t.test('keeps prepared statements valid while a newer version adds columns', async (t) => {
    const client = new Client({ connectionString: await postgres.createDatabase(t) })
    await client.connect()
    t.teardown(() => client.end())
    // Without rows, so that it succeeds.
    const all = [
      sql.writeTurns({ balances: [], held: [], ended: [] }),
      sql.readPacks([], []),
      sql.findNodeHolds(1),
      ...[
        sql.lockBalances,
        sql.readTurns,
        sql.readIdempotencyKeys,
        sql.readBuckets,
        sql.findHoldAccounts,
        sql.deleteBuckets,
        sql.applyPackDeltas,
      ].map((make) => make([])),
      ...[sql.annotateTurns, sql.insertEntries, sql.archiveBuckets, sql.insertPacks].map((make) => make([])),
    ]
    for (const statement of all) await client.query(statement)
    for (const table of ['balance', 'turn', 'pack', 'bucket', 'entry'])
      await client.query(`alter table ${table} add column novelty text`)
    for (const statement of all) await t.resolves(client.query(statement), statement.name)
  })
}
