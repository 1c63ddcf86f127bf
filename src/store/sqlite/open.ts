/** Opens the store on one SQLite file, making and migrating it as needed. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '../../errors.ts'
import type { Store } from '../../membership/store.ts'
import { Unusable, whyNot } from '../../system/unusable.ts'
import { accountsIn } from '../accounts.ts'
import { apiKeysIn } from '../api-keys.ts'
import { appsIn } from '../apps.ts'
import { auditIn } from '../audit.ts'
import { boostsIn } from '../boosts.ts'
import { changesIn } from '../changes.ts'
import { countersIn } from '../counters.ts'
import type { Database } from '../database.ts'
import { imagesIn } from '../images.ts'
import { deviceLoginsIn } from '../device-logins.ts'
import { identitiesIn, providerLoginsIn } from '../identities.ts'
import { mailCodesIn } from '../mail-codes.ts'
import { migrate } from '../migrate.ts'
import { personsIn } from '../persons.ts'
import { sessionsIn } from '../sessions.ts'
import { usedDaysIn } from '../used-days.ts'
import { rescue } from './backup.ts'
import { type Connection, defaultBusyTimeoutMs, openForReading, prepareFile } from './connection.ts'
import { databaseOn, sqliteDialect } from './dialect.ts'
import { Health } from './health.ts'
import { ledgerOn } from './ledger.ts'
import { Owed, type OwedLog } from './owed.ts'
import { OwedJournal } from './owed-journal.ts'
import { Place } from './place.ts'
import { runTask } from './reader.ts'
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
  readonly db: Database
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
    const reading = openForReading(file, busyTimeoutMs)
    reader = reading
    const db = databaseOn(reading, writer, (error) => health.met(error))
    await migrate(db.write, sqliteDialect, () => clock.now())
    await writer.enrol(options.process.id, options.process.pid, clock.now())
    if (isServer) owed = await takeOver(writer, file, options)
    const store: SqliteStore = {
      db,
      accounts: accountsIn(db),
      keys: apiKeysIn(db),
      images: imagesIn(db),
      sessions: sessionsIn(db),
      apps: appsIn(db),
      mailCodes: mailCodesIn(db),
      identities: identitiesIn(db),
      providerLogins: providerLoginsIn(db),
      devices: deviceLoginsIn(db),
      boosts: boostsIn(db),
      counters: countersIn(db),
      persons: personsIn(db),
      audit: auditIn(db),
      changes: changesIn(db),
      days: usedDaysIn(db),
      ledger: ledgerOn(writer, db, file, health, owed),
      async backup(to) {
        await runTask('backup', { file, to })
      },
      async close({ owedMs = defaultOwedMs } = {}) {
        await owed?.drain(owedMs)
        health.close()
        if (health.isLost) onTrouble(rescued(reading, file))
        // The writer goes last: only who may write can take the log into the database, and leave one file behind.
        reading.close()
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
