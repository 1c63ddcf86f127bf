/** Opens the store on one SQLite file, making and migrating it as needed. */
import type { MessagePort } from 'node:worker_threads'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { GatewayError } from '../../errors.ts'
import type { Store } from '../../membership/store.ts'
import { Unusable, whyNot } from '../../system/unusable.ts'
import type { Database } from '../database.ts'
import { isCurrent, migrate } from '../migrate.ts'
import { rescue } from './backup.ts'
import type { Connection } from './connection.ts'
import { defaultBusyTimeoutMs, defaultCheckpointPages, openForReading, prepareFile } from './connection.ts'
import { Health } from './health.ts'
import { isInUse, isUsedByProcess } from './in-use.ts'
import { ledgerOn } from './ledger.ts'
import type { OwedLog } from './owed.ts'
import { Owed } from './owed.ts'
import { OwedJournal } from './owed-journal.ts'
import { Place } from './place.ts'
import { threadName } from './presence.ts'
import { runTask } from './reader.ts'
import { readingOf } from './reading.ts'
import { databaseOf, storeOn } from './store-on.ts'
import type { ThreadStoreParts } from './thread-store.ts'
import { Writer } from './writer.ts'
import { threadOf } from './writer-link.ts'

const defaultOwedMs = 1_000
const lookEveryMs = 100
const silent: OwedLog = { info: () => undefined, error: () => undefined, fatal: () => undefined }

export interface SqliteOptions {
  /** A path, or `:memory:` for a store that is gone when it is closed (kept in a temporary folder: threads share files, not memory). */
  readonly file: string
  /** Names the owner of holds. `id` must be new for every start. */
  readonly process: { readonly id: string; readonly pid: number }
  readonly clock: { now(): number }
  /** `server`: has the one place there is, and gives back what dead processes held. `guest`, the default: works beside it, and ends no hold. */
  readonly role?: 'server' | 'guest'
  /** Hears when settlements begin to be owed to the ledger, and when they are paid. */
  readonly log?: OwedLog
  /** How long to wait for another process's lock; default 5 s. */
  readonly busyTimeoutMs?: number
  /** After so many pages of the log they are taken into the database; default 8000, 32 MiB. */
  readonly checkpointPages?: number
  /** Whether a database may be made where there is none, or an empty one; default true. */
  readonly mayBeNew?: boolean
  /** Hears what stands in the way of new turns, and null once nothing does any more. */
  readonly onTrouble?: (trouble: string | null) => void
  /** After how long a transaction of a repository is undone, because everybody waits for it; default 5 s. */
  readonly transactionLimitMs?: number
}

export interface SqliteStore extends Store {
  /** For the repositories and for tests; the service itself speaks to the port. */
  database(): Promise<Database>
  /** Other threads of this process that have stores of their own on the same writer. */
  readonly threads: StoreThreads
}

export interface StoreThreads {
  /** What a thread needs for its first line to the writer, with a number that no other one ever had; and what it must be told then. */
  open(thread: number): Promise<{ readonly parts: ThreadStoreParts; readonly line: MessagePort }>
  /** Another line, where the writer's thread has died. */
  line(thread: number): Promise<MessagePort>
  /** It has ended: what it held is given back, but for what it knew of the endings. */
  release(thread: number): Promise<{ readonly expired: number; readonly owed: number }>
  /** It has met a failure of the database, by this code. */
  met(code: string): void
  /** Settles when the writer has answered: its figures are then as of now. */
  heard(): Promise<void>
}

/**
 * Throws a sentence when the file is of a newer version or cannot be used, or another server has it. Where a server opens it, the holds of
 * dead processes have been given back when it resolves.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const {
    clock,
    busyTimeoutMs = defaultBusyTimeoutMs,
    checkpointPages = defaultCheckpointPages,
    mayBeNew = true,
    onTrouble = () => {},
  } = options
  const temporary = options.file === ':memory:' ? mkdtempSync(join(tmpdir(), 'svc-gateway-')) : undefined
  const named = temporary === undefined ? options.file : join(temporary, 'store.sqlite')
  if (!mayBeNew && !existsSync(named)) throw new Unusable(`There is no database ${named}.`)
  prepareFile(named)
  // The files beside it are found by its name, which must be one, however it is reached.
  const file = realpathSync(named)
  const isServer = options.role === 'server'
  const place = isServer ? Place.take(file, options.process.pid, clock.now()) : undefined
  const health = new Health(file, onTrouble)
  const writer = new Writer(threadOf({ file, busyTimeoutMs, mayBeNew, checkpointPages }), options.transactionLimitMs, (fault) =>
    health.met(fault),
  )
  let reader: Connection | undefined
  let owed: Owed | undefined
  try {
    await writer.ready()
    const connection = openForReading(file, busyTimeoutMs)
    reader = connection
    const reading = readingOf(connection, (error) => health.met(error))
    const database = databaseOf(reading, writer)
    const isNow = () => isCurrent(appliedIn(connection))
    if (!isNow()) {
      if (appliedIn(connection).length > 0) await refuseBesideOthers(file, isServer, isNow, busyTimeoutMs)
      const { sqliteDialect } = await import('./dialect.ts')
      await migrate((await database()).write, sqliteDialect, () => clock.now())
    }
    await writer.enrol(options.process.id, options.process.pid, clock.now())
    if (isServer) owed = await takeOver(writer, file, options)
    const store: SqliteStore = {
      ...storeOn(reading, database, ledgerOn(writer, database, file, health, owed)),
      database,
      threads: threadsOf(writer, file, health, options),
      async backup(to) {
        await runTask('backup', { file, to })
      },
      async close({ owedMs = defaultOwedMs } = {}) {
        await owed?.drain(owedMs)
        health.close()
        if (health.isLost) onTrouble(rescued(connection, file))
        // The writer goes last: only who may write can take the log into the database, and leave one file behind.
        connection.close()
        await writer.close()
        await owed?.close()
        place?.release()
        if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
      },
    }
    // Its first read opens the log: from now on it sees the files of this moment, whatever becomes of their names.
    await store.accounts.count()
    await health.watch()
    return store
  } catch (error) {
    reader?.close()
    await writer.close()
    await owed?.close()
    place?.release()
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
    // At a start nobody is there to try again later: the reason is what the operator needs.
    if (!(error instanceof GatewayError) || !(error.cause instanceof Error)) throw error
    throw new Unusable(`The database ${file} cannot be used: ${error.cause.message}.`, { cause: error })
  }
}

function threadsOf(writer: Writer, file: string, health: Health, { process, clock }: SqliteOptions): StoreThreads {
  const attach = (name: string): Promise<MessagePort> => writer.attach(name, process.pid, clock.now())
  return {
    async open(thread) {
      const name = threadName(process.id, thread)
      return { parts: { file, name, trouble: health.trouble }, line: await attach(name) }
    },
    line: (thread) => attach(threadName(process.id, thread)),
    async release(thread) {
      const [, expired, owed] = await writer.release(threadName(process.id, thread), clock.now())
      return { expired, owed }
    },
    met: (code) => health.met({ code }),
    heard: () => writer.ready(),
  }
}

/**
 * A server of an older version could not go on after this one's change of the schema, and nothing would tell it. Whoever is only bringing
 * the schema up to date, as we would, is waited for.
 * @throws Unusable where others work on the database
 */
async function refuseBesideOthers(file: string, isServer: boolean, isDone: () => boolean, patienceMs: number): Promise<void> {
  // A server has the place already, and so nobody else does.
  const othersWork = (): boolean => (isServer ? isUsedByProcess(file) : isInUse(file))
  for (let waitedMs = 0; othersWork() && !isDone(); waitedMs += lookEveryMs) {
    if (waitedMs >= patienceMs)
      throw new Unusable(
        'A server of an older version works on this database, and could not go on beside the changes that this version has to make. Stop it first, or use the version that it is of.',
      )
    await after(lookEveryMs)
  }
}

/** The steps of the schema that it has, by name. */
function appliedIn(db: Connection): readonly string[] {
  const isThere = db.prepare(`select 1 from sqlite_schema where name = 'migration'`).get() !== undefined
  return isThere ? (db.prepare('select name from migration').pluck().all() as string[]) : []
}

/** Says where the last copy of a lost database is, or that there is none: closing goes on. */
function rescued(db: Connection, file: string): string {
  try {
    return `what this process knew was written to ${rescue(db, file)}; restore that`
  } catch (error) {
    return `what this process knew could not be written beside ${file} and is lost: ${whyNot(error)}`
  }
}

/** Ends the holds of the servers before this one, as they knew they end or by giving them back, and makes room for what this one may owe. */
async function takeOver(writer: Writer, file: string, options: SqliteOptions): Promise<Owed> {
  const swept = await writer.submit(['expire', options.clock.now(), 0, []], true)
  const journal = await OwedJournal.make(file, options.process.id)
  const owed = new Owed(writer, journal, options.log ?? silent)
  if (swept[0] === 'swept') owed.inherited(swept[2])
  return owed
}
