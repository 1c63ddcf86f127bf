/**
 * The store in a thread of a server that is not its first: it reads by itself, writes on a line to the process's one writer, and owns the
 * holds and the journal of its own turns. What stands in the way of selling is found out by the process, and told.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Store } from '../../membership/store.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'
import { ledgerOn } from './ledger.ts'
import type { OwedLog } from './owed.ts'
import { Owed } from './owed.ts'
import { OwedJournal } from './owed-journal.ts'
import { runTask } from './reader.ts'
import { readingOf } from './reading.ts'
import { databaseOf, storeOn } from './store-on.ts'
import { Writer } from './writer.ts'
import { lineOf } from './writer-link.ts'

/** What the process says of its store. */
export interface ThreadStoreParts {
  readonly file: string
  /** Names the owner of this thread's holds. */
  readonly name: string
  /** What stands in the way now. */
  readonly trouble: string | null
}

export interface ThreadStoreOptions extends ThreadStoreParts {
  /** Asks the process for a line to its writer. */
  readonly line: () => Promise<MessagePort>
  readonly log: OwedLog
  /** Hears the code of each failure of the database. */
  readonly onFault: (code: string) => void
}

export interface ThreadStore extends Store {
  /** What stands in the way from now on; null: nothing any more. */
  told(trouble: string | null): void
}

const defaultOwedMs = 1_000

/** Throws a sentence where there is no room for its journal. */
export async function openThreadStore({ file, name, trouble, line, log, onFault }: ThreadStoreOptions): Promise<ThreadStore> {
  const met = (fault: unknown): void => {
    const { code } = fault as { code?: unknown }
    if (typeof code === 'string') onFault(code)
  }
  const health = { trouble, met }
  const writer = new Writer(lineOf(line), undefined, met, true)
  const connection = openForReading(file, defaultBusyTimeoutMs)
  const journal = await OwedJournal.make(file, name).catch((error: unknown) => {
    connection.close()
    throw error
  })
  const owed = new Owed(writer, journal, log)
  const reading = readingOf(connection, met)
  const database = databaseOf(reading, writer)
  return {
    ...storeOn(reading, database, ledgerOn(writer, database, file, health, owed)),
    told: (trouble) => void (health.trouble = trouble),
    async backup(to) {
      await runTask('backup', { file, to })
    },
    async close({ owedMs = defaultOwedMs } = {}) {
      await owed.drain(owedMs)
      connection.close()
      await writer.close()
      await owed.close()
    },
  }
}
