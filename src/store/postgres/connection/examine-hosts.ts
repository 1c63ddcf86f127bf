/** Asks each host of a database at the same time whether it accepts writes, and on which timeline. */
import { Client } from 'pg'
import { readIdentity } from './seen-database.ts'
import type { SeenDatabase, ServerIdentity } from './seen-database.ts'

interface WritableHost {
  /** Null: hidden. */
  readonly identity: ServerIdentity | null
}

/** A host that does not answer by then is taken for one that accepts no writes. */
const timeoutMs = 700

/** The hosts that accept writes. `seen` takes the highest timeline of its cluster. */
export async function findWritableHosts(urls: readonly string[], seen: SeenDatabase): Promise<readonly WritableHost[]> {
  const writableHosts = (await Promise.all(urls.map(examineHost))).filter((host) => host !== null)
  const seenServer = seen.current
  for (const { identity } of writableHosts)
    if (identity !== null && identity.systemIdentifier === seenServer?.systemIdentifier) seen.advance(identity)
  return writableHosts
}

async function examineHost(url: string): Promise<WritableHost | null> {
  const client = new Client({
    connectionString: url,
    application_name: 'svc-gateway',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  // A server that stops sends an error to its clients, which unhandled would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ takes_writes: boolean }>(
      `select current_setting('transaction_read_only') = 'off' as takes_writes`,
    )
    return rows[0]?.takes_writes === true ? { identity: await readIdentity(client) } : null
  } catch {
    return null
  } finally {
    await client.end().catch(() => undefined)
  }
}
