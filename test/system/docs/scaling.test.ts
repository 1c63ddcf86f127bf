/** The set-up of `docs/scaling.md`, step by step on a real PostgreSQL: role, database, first node, operator commands, and the refusals. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkoutRoot, startServerProcess } from '../../support/processes/server-process.ts'
import { startPostgresServer } from '../../support/servers/postgres/postgres.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

const text = readFileSync(join(checkoutRoot, 'docs/scaling.md'), 'utf8')
const statements = (/```sql\n([^]*?)```/.exec(text)?.[1] ?? '')
  .split(';')
  .map((statement) => statement.trim())
  .filter(Boolean)

t.test('the documented role and database serve a node, and each documented refusal appears', async (t) => {
  t.equal(statements.length, 2, 'the document has a role and a database')
  const postgres = await startPostgresServer(t, async () => {})
  if (postgres === undefined) return
  const { default: pg } = await import('pg')
  const admin = new pg.Client({ connectionString: `postgres://postgres@${postgres.host}/postgres` })
  await admin.connect()
  for (const statement of [...statements, 'CREATE DATABASE strange']) await admin.query(statement)
  const { rows } = await admin.query<{ version: number }>(`select current_setting('server_version_num')::int as version`)
  await admin.end()

  const folder = createTemporaryFolder(t)
  const storeUrl = `postgres://svc:a-long-password@${postgres.host}/svc`
  const start = (variables: Record<string, string>) => startServerProcess(t, { DATA_DIR: join(folder, 'node'), ...variables })

  const withoutMail = await start({ STORE_URL: storeUrl })
  t.match(withoutMail.output() + withoutMail.log(), /mail\.smtpUrl is needed with store\.url/)

  const variables = { STORE_URL: storeUrl, SMTP_URL: 'smtp://127.0.0.1:9' }
  const node = await start(variables)
  t.not(node.url, '', node.log())
  t.match(node.output(), /svc_live_\w+/, 'the first key is printed')
  await node.terminate('SIGTERM')

  if ((rows[0]?.version ?? 0) >= 150_000) {
    const strange = await start({ ...variables, STORE_URL: storeUrl.replace(/svc$/, 'strange') })
    t.match(strange.output() + strange.log(), /permission denied for schema public/)
    t.match(text, /permission denied for schema public/)
  }
})
