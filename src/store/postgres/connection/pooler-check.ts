/**
 * Checks at start whether a pooler keeps named statements, which the ledger uses. In transaction mode PgBouncer before 1.21, or
 * with `max_prepared_statements = 0`, passes names on unchanged: the next transaction runs on another server connection, which does
 * not have the statement or has another one under its name.
 */
import type { PoolClient } from 'pg'
import { OperatorError } from '../../../system/operator-error.ts'
import { Connections } from './connections.ts'

/** One statement per connection is enough to see the name; connections are compared more often, because other nodes use them too. */
const maxComparisons = 20
const probeName = 'svc_pooler_probe'

/** @throws OperatorError if named statements cannot work */
export async function assertNamedStatements(url: string): Promise<void> {
  const connections = new Connections({ url, max: 2, timeoutMs: 1_000 })
  const clients: PoolClient[] = []
  try {
    const first = await connections.acquire()
    clients.push(first)
    if (!connections.isPooled || !(await isNamePassedOn(first))) return
    const second = await connections.acquire()
    clients.push(second)
    if (!(await isServerConnectionShared(first, second))) return
  } finally {
    // The statement stays in the session; the connection is closed.
    for (const client of clients) client.release(true)
    await connections.close()
  }
  throw new OperatorError(
    'The pooler in STORE_URL runs transactions on different server connections and does not keep prepared statements, so turns would fail. ' +
      'In PgBouncer 1.21 or newer set max_prepared_statements = 200; in an older one set pool_mode = session.',
  )
}

/** A pooler that keeps named statements gives them names of its own on the server. */
async function isNamePassedOn(client: PoolClient): Promise<boolean> {
  const [, probeResult, lookupResult] = await Promise.allSettled([
    client.query('begin'),
    client.query({ name: probeName, text: 'select 1' }),
    client.query({ text: 'select 1 from pg_prepared_statements where name = $1', values: [probeName] }),
    client.query('rollback'),
  ])
  // Another start has left the same name on this server connection.
  if (probeResult.status === 'rejected') return true
  return lookupResult.status === 'fulfilled' && lookupResult.value.rows.length > 0
}

/** In session mode each client keeps a server connection of its own. */
async function isServerConnectionShared(first: PoolClient, second: PoolClient): Promise<boolean> {
  const processOf = async (client: PoolClient): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0]?.pid ?? 0
  }
  const firstProcess = await processOf(first)
  for (let comparisonCount = 0; comparisonCount < maxComparisons; comparisonCount += 1) {
    if ((await processOf(second)) === firstProcess || (await processOf(first)) !== firstProcess) return true
  }
  return false
}
