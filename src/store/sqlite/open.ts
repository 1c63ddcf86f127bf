/** Opens the store on one SQLite file, making and migrating it as needed. */
import type { MessagePort } from 'node:worker_threads'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../system/clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Store } from '../../domain/store.ts'
import { OperatorError, describeSystemError } from '../../system/operator-error.ts'
import type { Database } from '../database.ts'
import { expectResult } from '../ledger/operations.ts'
import { isOlder, isUpToDate, migrate } from '../migrations/migrate.ts'
import type { Migration } from '../migrations/migration.ts'
import { migrations as currentMigrations } from '../migrations/migrations.ts'
import { salvage } from './maintenance/backup.ts'
import type { Connection } from './connection/connection.ts'
import { defaultBusyTimeoutMs, defaultCheckpointPages, openForReading, prepareFile } from './connection/connection.ts'
import { DatabaseHealth } from './database-health.ts'
import { isInUse, isUsedByProcess } from './process/in-use.ts'
import { createSqliteLedger } from './sqlite-ledger.ts'
import type { SettlementLog } from './settlement-retry.ts'
import { PendingSettlements } from './settlement-retry.ts'
import { SettlementJournal } from './process/settlement-journal.ts'
import { ServerLock } from './process/server-lock.ts'
import { formatThreadName } from './process/process-registry.ts'
import { readMigrationNames } from './maintenance/migrate-file.ts'
import { completeMigrationCopy, copyBeforeMigration } from './maintenance/migration-copy.ts'
import { HistoryReader } from './maintenance/history-reader.ts'
import { runReadTask } from './maintenance/read-tasks.ts'
import { createReadQuery } from './connection/statement-cache.ts'
import { createDatabase, sqliteDialect } from './dialect.ts'
import { createRepositories } from '../repositories/repositories.ts'
import { createTurnHistoryStore } from '../turn-history/turn-history-store.ts'
import type { WorkerStoreInit } from './worker-store.ts'
import { Writer } from './writer/writer.ts'
import { spawnWriter } from './writer/writer-connection.ts'

const defaultFlushTimeoutMs = 1_000
const pollMs = 100
const silentLog: SettlementLog = { info: () => undefined, error: () => undefined, fatal: () => undefined }

export interface SqliteOptions {
  /** A path, or `:memory:` for a store that is deleted when it is closed (in a temporary folder: threads share files, not memory). */
  readonly file: string
  /** Names the owner of holds. `id` must be new for every start. */
  readonly process: { readonly id: string; readonly pid: number }
  readonly clock: { now(): number }
  /**
   * `server`: takes the server lock and releases the holds of dead processes. `command` (default): works beside a server and ends
   * no holds.
   */
  readonly role?: 'server' | 'command'
  /** Receives a message when settlements become pending and when all are written. */
  readonly log?: SettlementLog
  /** How long to wait for another process's lock; default 5 s. */
  readonly busyTimeoutMs?: number
  /** Number of WAL pages that starts a checkpoint; default 8000, 32 MiB. */
  readonly checkpointPages?: number
  /** Whether a missing or empty database may be created; default true. */
  readonly allowCreate?: boolean
  /** Receives the reason why no new turns are accepted, and null when it has ended. */
  readonly onHealthChange?: (unhealthyReason: string | null) => void
  /** Time after which a repository's transaction is rolled back, because it blocks all other writes; default 5 s. */
  readonly transactionTimeoutMs?: number
  /** Of another version, for tests; default this version's. */
  readonly migrations?: readonly Migration[]
}

export interface SqliteStore extends Store {
  /** For the repositories and for tests; the service uses the `Store` port. */
  readonly database: Database
  /** Stores of this process's other threads, on the same writer. */
  readonly threads: WorkerStores
}

export interface WorkerStores {
  /** Returns the options and the first writer port of a new thread. `thread` must be a number that was never used before. */
  open(thread: number): Promise<{ readonly parts: WorkerStoreInit; readonly port: MessagePort }>
  /** Another port, after the writer thread has died. */
  openPort(thread: number): Promise<MessagePort>
  /** Call when the thread has ended: settles its holds as its journal says and releases the others. */
  release(thread: number): Promise<{ readonly expired: number; readonly recovered: number }>
  /** Records that the thread met a database failure with this code. */
  recordFault(code: string): void
  /** Settles when the writer has replied: its statistics are then current. */
  waitForReply(): Promise<void>
}

/**
 * Opens the store. For a server, the holds of dead processes have been released when it resolves.
 * @throws OperatorError if the file is of a newer version or unusable, or if another server holds its lock
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const {
    clock,
    busyTimeoutMs = defaultBusyTimeoutMs,
    checkpointPages = defaultCheckpointPages,
    allowCreate = true,
    onHealthChange = () => {},
    migrations = currentMigrations,
  } = options
  const temporaryFolder = options.file === ':memory:' ? mkdtempSync(join(tmpdir(), 'svc-gateway-')) : undefined
  const requestedFile = temporaryFolder === undefined ? options.file : join(temporaryFolder, 'store.sqlite')
  if (!allowCreate && !existsSync(requestedFile)) throw new OperatorError(`There is no database ${requestedFile}.`)
  prepareFile(requestedFile)
  // Side files are found by the database's name, which must be unique however it is reached.
  const file = realpathSync(requestedFile)
  const isServer = options.role === 'server'
  const serverLock = isServer ? ServerLock.acquire(file, options.process.pid, clock.now()) : undefined
  const health = new DatabaseHealth(file, onHealthChange)
  const writer = new Writer(
    spawnWriter({ file, busyTimeoutMs, allowCreate, checkpointPages }),
    options.transactionTimeoutMs,
    (fault) => health.recordFault(fault),
  )
  let reader: Connection | undefined
  let pendingSettlements: PendingSettlements | undefined
  try {
    await writer.ready()
    const connection = openForReading(file, busyTimeoutMs)
    reader = connection
    const readQuery = createReadQuery(connection, (error) => health.recordFault(error))
    const database = createDatabase(readQuery, writer)
    const isMigrated = () => isUpToDate(readMigrationNames(connection), migrations)
    if (!isMigrated()) {
      if (readMigrationNames(connection).length > 0) await assertNoOlderProcesses(file, isServer, isMigrated, busyTimeoutMs)
      if (isOlder(readMigrationNames(connection), migrations)) {
        if (!isServer)
          throw new OperatorError(
            `${file} has the layout of an older version of svc-gateway. Start the server of this version once, which keeps a copy and changes the layout, or use the older version.`,
          )
        copyBeforeMigration(file)
      }
      await migrate(database.write, sqliteDialect, () => clock.now(), migrations)
    }
    if (isServer) completeMigrationCopy(file)
    await writer.register(options.process.id, options.process.pid, clock.now())
    if (isServer) pendingSettlements = await endOrphanedHolds(writer, file, options)
    const historyReader = new HistoryReader(file)
    const store: SqliteStore = {
      cluster: null,
      ...createRepositories(database),
      turnHistory: createTurnHistoryStore(database, (query) => historyReader.run(query)),
      ledger: createSqliteLedger(writer, database, file, health, pendingSettlements),
      database,
      threads: createWorkerStores(writer, file, health, options),
      async backup(to) {
        await runReadTask('backup', { file, to })
      },
      async close({ flushMs = defaultFlushTimeoutMs } = {}) {
        await pendingSettlements?.drain(flushMs)
        health.close()
        if (health.isLost) onHealthChange(describeSalvage(connection, file))
        await historyReader.close()
        // The writer closes last: only a writing connection can checkpoint the WAL and leave a single file.
        connection.close()
        await writer.close()
        await pendingSettlements?.close()
        serverLock?.release()
        if (temporaryFolder !== undefined) rmSync(temporaryFolder, { recursive: true, force: true })
      },
    }
    // The first read opens the WAL: from now on the connection keeps these files, even if their names change.
    await store.accounts.count()
    await health.watch()
    return store
  } catch (error) {
    reader?.close()
    await writer.close()
    await pendingSettlements?.close()
    serverLock?.release()
    if (temporaryFolder !== undefined) rmSync(temporaryFolder, { recursive: true, force: true })
    // The operator needs the reason; a retry error is of no use at a start.
    if (!(error instanceof GatewayError) || !(error.cause instanceof Error)) throw error
    throw new OperatorError(`The database ${file} cannot be used: ${error.cause.message}.`, { cause: error })
  }
}

function createWorkerStores(
  writer: Writer,
  file: string,
  health: DatabaseHealth,
  { process, clock }: SqliteOptions,
): WorkerStores {
  const attach = (name: string): Promise<MessagePort> => writer.attachThread(name, process.pid, clock.now())
  return {
    async open(thread) {
      const name = formatThreadName(process.id, thread)
      return { parts: { file, name, unhealthyReason: health.unhealthyReason }, port: await attach(name) }
    },
    openPort: (thread) => attach(formatThreadName(process.id, thread)),
    async release(thread) {
      const { expired, recovered } = await writer.releaseThread(formatThreadName(process.id, thread), clock.now())
      return { expired, recovered }
    },
    recordFault: (code) => health.recordFault({ code }),
    waitForReply: () => writer.ready(),
  }
}

/**
 * A server of an older version could not work with the new schema and would not notice the change. A process that only migrates
 * the schema, as this one is about to, is waited for.
 * @throws OperatorError if other processes use the database
 */
async function assertNoOlderProcesses(
  file: string,
  isServer: boolean,
  isMigrated: () => boolean,
  timeoutMs: number,
): Promise<void> {
  // A server holds the server lock, so no other server does.
  const isUsedByOthers = (): boolean => (isServer ? isUsedByProcess(file) : isInUse(file))
  for (let waitedMs = 0; isUsedByOthers() && !isMigrated(); waitedMs += pollMs) {
    if (waitedMs >= timeoutMs)
      throw new OperatorError(
        'A server of an older version uses this database and cannot work with the schema of this version. Stop it first, or use its version.',
      )
    await systemClock.wait(pollMs)
  }
}

/** Saves a copy of a lost database and describes where; reports a failure instead of throwing, so that closing goes on. */
function describeSalvage(db: Connection, file: string): string {
  try {
    return `the data of this process was written to ${salvage(db, file)}; restore that file`
  } catch (error) {
    return `the data of this process could not be written beside ${file} and is lost: ${describeSystemError(error)}`
  }
}

/** Ends the holds of earlier servers, as their journals say or by releasing them, and creates this server's journal. */
async function endOrphanedHolds(writer: Writer, file: string, options: SqliteOptions): Promise<PendingSettlements> {
  const sweep = await writer.apply({ kind: 'expire', at: options.clock.now(), monotonicMs: 0, except: [] }, true)
  const journal = await SettlementJournal.create(file, options.process.id)
  const pendingSettlements = new PendingSettlements(writer, journal, options.log ?? silentLog)
  pendingSettlements.recovered(expectResult(sweep, 'swept').recovered)
  return pendingSettlements
}
