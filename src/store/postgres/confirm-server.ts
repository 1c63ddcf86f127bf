/** `svc-gateway store accept`. */
import { recordServer } from './cluster/database-record.ts'
import type { Confirmation } from './cluster/database-record.ts'
import { Connections } from './connection/connections.ts'
import { prepareDatabase } from './open.ts'
import type { PostgresOptions } from './open.ts'

/**
 * Confirms the server in place of the one that was used before. Nodes that have used the other one take this one then.
 * @throws OperatorError, also where the database has no installation; nothing is made there
 */
export async function confirmServer({
  url,
  clock,
  file,
}: Pick<PostgresOptions, 'url' | 'clock'> & { readonly file: string }): Promise<Confirmation> {
  await prepareDatabase({ url, clock, allowCreate: false })
  const connections = new Connections({ url, max: 1 })
  try {
    return await recordServer(connections, file)
  } finally {
    await connections.close()
  }
}
