/** Worker thread that runs another thread's queries on one snapshot of the database. */
import { workerData } from 'node:worker_threads'
import { Connections } from '../connection/connections.ts'
import { SeenDatabase } from '../connection/seen-database.ts'
import type { SnapshotReply, SnapshotWorkerData } from './snapshot.ts'

const statementTimeoutMs = 60_000

const { url, seen, port, replySignal } = workerData as SnapshotWorkerData
const connections = new Connections({ url, seen: new SeenDatabase(seen), max: 1, statementTimeoutMs })
const client = connections.acquire().then(async (acquired) => {
  await connections.begin(acquired, 'begin isolation level repeatable read read only')
  return acquired
})

port.on('message', async ([text, values]: readonly [text: string, values: readonly unknown[]]) => {
  port.postMessage(await runQuery(text, values))
  Atomics.store(replySignal, 0, 1)
  Atomics.notify(replySignal, 0)
})

async function runQuery(text: string, values: readonly unknown[]): Promise<SnapshotReply> {
  try {
    const { rows } = await (await client).query(text, [...values])
    return { rows }
  } catch (error) {
    const { cause = error } = error as Error
    const { message, code } = cause as { readonly message?: string; readonly code?: string }
    return { failed: message ?? String(cause), code }
  }
}
