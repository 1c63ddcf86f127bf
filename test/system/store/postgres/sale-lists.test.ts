/** Lists and sums of sales on PostgreSQL: each has an index to be read by. */
import { PostgresQueryCompiler } from 'kysely'
import { Client } from 'pg'
import t from 'tap'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { recordSaleQueries } from '../contract/sale-list-queries.ts'
import { createTestSchema, openTestStore } from './test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  t.test('each list of sales can be read by an index', async (t) => {
    const url = await postgres.createDatabase(t)
    const { database } = await openTestStore(t, url)
    const queries = await recordSaleQueries(database, new PostgresQueryCompiler())
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    // The tables are empty, where a scan is the cheapest.
    for (const setting of ['enable_seqscan', 'enable_bitmapscan']) await client.query(`set ${setting} = off`)
    for (const [name, statements] of Object.entries(queries))
      for (const { sql, parameters } of statements) {
        const { rows } = await client.query({ text: `explain ${sql}`, values: [...parameters] })
        const plan = rows.map((row: { readonly 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n')
        // Terms are few, and an index that is read from its end is as long as the page.
        t.notMatch(plan, /Seq Scan on (?!plan_terms)/, `${name}:\n${plan}`)
      }
  })
