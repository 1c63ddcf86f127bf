/** Answers one thread's questions about one moment of the database. */
import { workerData } from 'node:worker_threads'
import { Connections } from './connections.ts'
import type { SnapshotAnswer, SnapshotParts } from './snapshot.ts'

const statementMs = 60_000

const { url, port, answered } = workerData as SnapshotParts
const connections = new Connections({ url, most: 1, statementMs })
const client = connections.take().then(async (taken) => {
  await connections.begin(taken, 'begin isolation level repeatable read read only')
  return taken
})

port.on('message', async ([text, values]: readonly [text: string, values: readonly unknown[]]) => {
  port.postMessage(await answer(text, values))
  Atomics.store(answered, 0, 1)
  Atomics.notify(answered, 0)
})

async function answer(text: string, values: readonly unknown[]): Promise<SnapshotAnswer> {
  try {
    const { rows } = await (await client).query(text, [...values])
    return { rows }
  } catch (error) {
    const { cause = error } = error as Error
    return { failed: cause instanceof Error ? cause.message : String(cause) }
  }
}
