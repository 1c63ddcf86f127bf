/** Opens the store on one SQLite file, making and migrating it as needed. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '../../errors.ts'
import type { Store } from '../../membership/store.ts'
import { Unusable, whyNot } from '../../system/unusable.ts'
import type { Database } from '../database.ts'
import { firstAskedOf } from '../first-asked.ts'
import { isCurrent, migrate } from '../migrate.ts'
import type { Repositories } from '../repositories.ts'
import { whenAsked } from '../when-asked.ts'
import { rescue } from './backup.ts'
import type { Connection } from './connection.ts'
import { defaultBusyTimeoutMs, openForReading, prepareFile } from './connection.ts'
import { Health } from './health.ts'
import { ledgerOn } from './ledger.ts'
import type { OwedLog } from './owed.ts'
import { Owed } from './owed.ts'
import { OwedJournal } from './owed-journal.ts'
import { Place } from './place.ts'
import { runTask } from './reader.ts'
import { readingOf } from './reading.ts'
import { Writer } from './writer.ts'

const defaultOwedMs = 1_000
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
}

/**
 * Throws a sentence when the file is of a newer version or cannot be used, or another server has it. Where a server opens it, the holds of
 * dead processes have been given back when it resolves.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const { clock, busyTimeoutMs = defaultBusyTimeoutMs, mayBeNew = true, onTrouble = () => {} } = options
  const temporary = options.file === ':memory:' ? mkdtempSync(join(tmpdir(), 'svc-gateway-')) : undefined
  const named = temporary === undefined ? options.file : join(temporary, 'store.sqlite')
  if (!mayBeNew && !existsSync(named)) throw new Unusable(`There is no database ${named}.`)
  prepareFile(named)
  // The files beside it are found by its name, which must be one, however it is reached.
  const file = realpathSync(named)
  const isServer = options.role === 'server'
  const place = isServer ? Place.take(file, options.process.pid, clock.now()) : undefined
  const health = new Health(file, onTrouble)
  const writer = new Writer({ file, busyTimeoutMs, mayBeNew }, options.transactionLimitMs, (fault) => health.met(fault))
  let reader: Connection | undefined
  let owed: Owed | undefined
  try {
    await writer.ready()
    const connection = openForReading(file, busyTimeoutMs)
    reader = connection
    const reading = readingOf(connection, (error) => health.met(error))
    const database = once(async () => (await import('./dialect.ts')).databaseOn(reading, writer))
    const repositories = once(async () => (await import('../repositories.ts')).repositoriesIn(await database()))
    const later =
      <Name extends keyof Repositories>(name: Name) =>
      async () =>
        (await repositories())[name]
    if (!isCurrent(appliedIn(connection))) {
      const { sqliteDialect } = await import('./dialect.ts')
      await migrate((await database()).write, sqliteDialect, () => clock.now())
    }
    await writer.enrol(options.process.id, options.process.pid, clock.now())
    if (isServer) owed = await takeOver(writer, file, options)
    const first = firstAskedOf((text, parameters) => reading(text, parameters)[1])
    const store: SqliteStore = {
      database,
      accounts: whenAsked(later('accounts'), first.accounts),
      keys: whenAsked(later('keys'), first.keys),
      images: whenAsked(later('images'), {}),
      sessions: whenAsked(later('sessions'), {}),
      apps: whenAsked(later('apps'), {}),
      mailCodes: whenAsked(later('mailCodes'), {}),
      identities: whenAsked(later('identities'), {}),
      providerLogins: whenAsked(later('providerLogins'), {}),
      devices: whenAsked(later('devices'), {}),
      boosts: whenAsked(later('boosts'), {}),
      counters: whenAsked(later('counters'), {}),
      persons: whenAsked(later('persons'), {}),
      audit: whenAsked(later('audit'), {}),
      changes: whenAsked(later('changes'), {}),
      days: whenAsked(later('days'), {}),
      ledger: ledgerOn(writer, database, file, health, owed),
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

/** The steps of the schema that it has, by name. */
function appliedIn(db: Connection): readonly string[] {
  const isThere = db.prepare(`select 1 from sqlite_schema where name = 'migration'`).get() !== undefined
  return isThere ? (db.prepare('select name from migration').pluck().all() as string[]) : []
}

/** The same promise for whoever asks; after a failure it is tried again. */
function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    }))
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
  const journal = await OwedJournal.make(file, options.process.id).catch((error: unknown) => {
    throw new Unusable(`There is no room for the ledger's journal beside ${file}: ${whyNot(error)}.`, { cause: error })
  })
  const owed = new Owed(writer, journal, options.log ?? silent)
  if (swept[0] === 'swept') owed.inherited(swept[2])
  return owed
}
