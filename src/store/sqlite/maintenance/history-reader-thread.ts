/** Worker thread of `HistoryReader`: answers one query after another, each from one snapshot of the database. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { readCurrentBalance } from '../../ledger/current-balance.ts'
import { runHistoryQuery } from '../../turn-history/queries/history-query.ts'
import type { Connection } from '../connection/connection.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'
import { createReadOnlyKysely } from '../dialect.ts'
import type { HistoryReply, HistoryRequest } from './history-reader.ts'

if (parentPort === null) throw new Error('this file is started as a thread')
serve(parentPort, openForReading(workerData as string, defaultBusyTimeoutMs))

function serve(port: MessagePort, db: Connection): void {
  const read = createReadOnlyKysely(db)
  const source = { kind: 'sqlite', read, readAccountBalance: (account: string) => readCurrentBalance(read, account) } as const
  const answer = async ({ id, query }: Exclude<HistoryRequest, 'end'>): Promise<HistoryReply> => {
    try {
      db.exec('begin')
      return { id, answer: await runHistoryQuery(source, query) }
    } catch (error) {
      const { code } = error as { readonly code?: string }
      return { id, failure: { message: error instanceof Error ? error.message : String(error), code } }
    } finally {
      if (db.inTransaction) db.exec('commit')
    }
  }
  let last = Promise.resolve()
  port.on('message', (request: HistoryRequest) => {
    last = last.then(async () => {
      if (request !== 'end') return port.postMessage(await answer(request))
      db.close()
      port.close()
    })
  })
}
