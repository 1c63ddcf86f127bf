/**
 * The store of a server's further threads: reads on its own connection, writes through a port to the process's one writer, and
 * owns its holds and its settlement journal. The process watches the database's health and passes changes on.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Store } from '../../domain/store.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection/connection.ts'
import { createSqliteLedger } from './sqlite-ledger.ts'
import type { SettlementLog } from './settlement-retry.ts'
import { PendingSettlements } from './settlement-retry.ts'
import { SettlementJournal } from './process/settlement-journal.ts'
import { HistoryReader } from './maintenance/history-reader.ts'
import { runReadTask } from './maintenance/read-tasks.ts'
import { createReadQuery } from './connection/statement-cache.ts'
import { createDatabase } from './dialect.ts'
import { createRepositories } from '../repositories/repositories.ts'
import { createTurnHistoryStore } from '../turn-history/turn-history-store.ts'
import { Writer } from './writer/writer.ts'
import { connectPort } from './writer/writer-connection.ts'

/** What the process passes to its threads' stores. */
export interface WorkerStoreInit {
  readonly file: string
  /** Names the owner of this thread's holds. */
  readonly name: string
  /** Why no new turns are accepted at the moment. */
  readonly unhealthyReason: string | null
}

interface WorkerStoreOptions extends WorkerStoreInit {
  /** Requests a port to the process's writer. */
  readonly openPort: () => Promise<MessagePort>
  readonly log: SettlementLog
  /** Receives the code of each database failure. */
  readonly onFault: (code: string) => void
}

export interface WorkerStore extends Store {
  /** Sets why no new turns are accepted; null if they are. */
  setUnhealthyReason(unhealthyReason: string | null): void
}

const defaultFlushTimeoutMs = 1_000

/** @throws OperatorError if there is no room for its journal */
export async function openWorkerStore({
  file,
  name,
  unhealthyReason,
  openPort,
  log,
  onFault,
}: WorkerStoreOptions): Promise<WorkerStore> {
  const recordFault = (fault: unknown): void => {
    const { code } = fault as { code?: unknown }
    if (typeof code === 'string') onFault(code)
  }
  const health = { unhealthyReason, recordFault }
  const writer = new Writer(connectPort(openPort), undefined, recordFault, true)
  const connection = openForReading(file, defaultBusyTimeoutMs)
  const journal = await SettlementJournal.create(file, name).catch((error: unknown) => {
    connection.close()
    throw error
  })
  const pendingSettlements = new PendingSettlements(writer, journal, log)
  const readQuery = createReadQuery(connection, recordFault)
  const database = createDatabase(readQuery, writer)
  const historyReader = new HistoryReader(file)
  return {
    cluster: null,
    ...createRepositories(database),
    turnHistory: createTurnHistoryStore(database, (query) => historyReader.run(query)),
    ledger: createSqliteLedger(writer, database, file, health, pendingSettlements),
    setUnhealthyReason: (reason) => void (health.unhealthyReason = reason),
    async backup(to) {
      await runReadTask('backup', { file, to })
    },
    async close({ flushMs = defaultFlushTimeoutMs } = {}) {
      await pendingSettlements.drain(flushMs)
      await historyReader.close()
      connection.close()
      await writer.close()
      await pendingSettlements.close()
    },
  }
}
