/** Opens the store on PostgreSQL, creating and migrating the schema as needed. Any number of nodes may have it open. */
import type { ConfigFingerprint } from '../../domain/config-fingerprint.ts'
import type { ImageFiles } from '../../domain/image.ts'
import type { Ledger } from '../../domain/billing/ledger.ts'
import type { Store } from '../../domain/store.ts'
import type { EmailQueue } from '../../mail/email-queue.ts'
import type { Clock } from '../../system/clock.ts'
import { MissingInstallationError, OperatorError } from '../../system/operator-error.ts'
import type { Database } from '../database.ts'
import { isUpToDate, migrate } from '../migrations/migrate.ts'
import type { Migration } from '../migrations/migration.ts'
import { migrations as currentMigrations } from '../migrations/migrations.ts'
import { findPack, readBalance } from '../repositories/billing/balance.ts'
import { listTurns, selectTurnsByIndex } from '../repositories/billing/turns.ts'
import { createRepositories } from '../repositories/repositories.ts'
import { createTurnHistoryStore } from '../turn-history/turn-history-store.ts'
import { createSharedCredentialChanges } from './cluster/credential-changes.ts'
import { readDatabaseStatus } from './cluster/database-status.ts'
import { assertNamedStatements } from './connection/pooler-check.ts'
import { readCommitted, Connections } from './connection/connections.ts'
import { createDatabase, createKysely, postgresDialect } from './dialect.ts'
import { isCertificateError, isUnreachable, isLockUnavailable } from './connection/errors.ts'
import { assertConfirmedDatabase, DatabaseRecord } from './cluster/database-record.ts'
import { isForeignServer, SeenDatabase } from './connection/seen-database.ts'
import { JobLeases } from './cluster/job-leases.ts'
import { createImageDataStore } from './cluster/image-data.ts'
import { openInstallation } from './cluster/installation.ts'
import type { Installation } from './cluster/installation.ts'
import { SharedEmailQueue } from './cluster/email-queue.ts'
import type { PostgresLog } from './postgres-log.ts'
import type { NodeLease } from './cluster/node-lease.ts'
import { commandLease, RenewedNodeLease } from './cluster/node-lease.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host,other-host/database`. */
  readonly url: string
  /** `id` must be new for every start. */
  readonly process: { readonly id: string; readonly version: string; readonly config?: ConfigFingerprint }
  /** `monotonicMs` never goes back. */
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'every'>
  /** `node` (default): serves and registers a lease. `command`: works beside the nodes. */
  readonly role?: 'node' | 'command'
  /** Creates the writing part of the ledger. */
  readonly ledger: (deps: LedgerDeps) => Promise<WritableLedger> | WritableLedger
  readonly log?: PostgresLog
  /** Where this machine keeps which database cluster it has used; a command reads it only. */
  readonly seenFile?: string
  /** How long a start waits for a server that accepts writes; default 30 s. */
  readonly startTimeoutMs?: number
  /** How long later statements wait for one; default 3 s. */
  readonly timeoutMs?: number
  /** Of another version, for tests; default this version's. */
  readonly migrations?: readonly Migration[]
}

/** Dependencies of the writing part of the ledger. */
export interface LedgerDeps {
  readonly url: string
  /** For further connections. */
  readonly seen: SeenDatabase
  readonly database: Database
  /** Identifies this node's holds and finds dead nodes. */
  readonly nodeLease: NodeLease
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
}

/** The ledger without its reads. Closing it first completes the operations submitted before. */
export interface WritableLedger extends Omit<Ledger, 'balance' | 'findPack' | 'turns'> {
  close(flushTimeoutMs: number): Promise<void>
}

export interface PostgresStore extends Store {
  /** For the repositories and for tests; the service uses the `Store` port. */
  readonly database: Database
  readonly nodeLease: NodeLease
  readonly jobLeases: JobLeases
  /** Runs one counting statement of the rate limits as a transaction of its own. */
  runLimitStatement(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  /** Image bytes, shared by all nodes. */
  readonly imageFiles: ImageFiles
  /** The secret that all nodes share; `configuredSecret` if this node has one configured. @throws OperatorError */
  openInstallation(configuredSecret: Buffer | null): Promise<Installation>
  /**
   * Queue of emails that any node sends, encrypted with a key derived from the secret. One for each mail service, which starts
   * and closes it.
   */
  createEmailQueue(secret: Buffer): EmailQueue
}

/** For the repositories; the ledger and the lease have connections of their own. */
const maxConnections = 4
/** For statements that must not wait for those: the lease, and the credential change log. */
const maxVitalConnections = 2
/** After twice this time without an answer the next host is tried: well before the lease expires. */
const vitalStatementTimeoutMs = 2_000
const defaultStartTimeoutMs = 30_000
const defaultFlushTimeoutMs = 1_000
const minServerVersion = 14
/** A migration may take long, and waits for that of another node. */
const migrationTimeoutMs = 300_000

/** @throws OperatorError if the database cannot be used, or is of a newer version that is incompatible with this one */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { url, process, clock, log, timeoutMs = 3_000 } = options
  const seenDatabase = new SeenDatabase()
  if (options.seenFile !== undefined) seenDatabase.load(options.seenFile)
  await prepareDatabase({ ...options, seen: seenDatabase, allowCreate: options.role !== 'command' })
  const connections = new Connections({ url, seen: seenDatabase, max: maxConnections, timeoutMs })
  const vital = new Connections({
    url,
    seen: seenDatabase,
    max: maxVitalConnections,
    timeoutMs: 1_000,
    statementTimeoutMs: vitalStatementTimeoutMs,
  })
  const limitConnections = new Connections({ url, seen: seenDatabase, max: 1, timeoutMs: 1_000 })
  const database = createDatabase(connections)
  let nodeLease: NodeLease | undefined
  let record: DatabaseRecord | undefined
  try {
    await assertConfirmedDatabase(connections, seenDatabase)
    nodeLease =
      options.role === 'command'
        ? await joinAsCommand(connections)
        : // Other programs may have taken the connections meanwhile.
          await retryUntilReachable(options, () =>
            RenewedNodeLease.register({
              connections: vital,
              name: process.id,
              version: process.version,
              config: process.config ?? {},
              clock,
              onConfigDifference: (sections) => logConfigDifference(log, sections),
              onError: (error) => log?.warn({ err: error }, 'the lease of this node could not be renewed'),
            }),
          )
    const ledger = await options.ledger({ url, seen: seenDatabase, database, nodeLease, clock })
    const jobLeases = new JobLeases(vital, nodeLease, clock)
    if (options.role !== 'command') {
      record = new DatabaseRecord({ connections: vital, seen: seenDatabase, file: options.seenFile ?? null, log })
      await record.save()
    }
    return {
      ...createStore(
        database,
        { connections, vital, limitConnections },
        { nodeLease, jobLeases, clock },
        { ledger, record },
        log,
      ),
      jobLeases,
    }
  } catch (error) {
    await record?.close()
    await nodeLease?.release().catch(() => undefined)
    await Promise.all([connections.close(), vital.close(), limitConnections.close()])
    throw error
  }
}

function logConfigDifference(log: PostgresLog | undefined, sections: readonly string[]): void {
  if (sections.length > 0)
    log?.warn(
      { sections },
      'the configurations of this node and other nodes differ: a turn costs what its node is configured for',
    )
}

/** A command's writes during a transfer to another store might be left behind, so it is refused then. @throws OperatorError */
async function joinAsCommand(connections: Connections): Promise<NodeLease> {
  try {
    // A transfer locks this table, so that no node registers.
    await connections.write(readCommitted, 'lock table process in row exclusive mode nowait', [])
    return commandLease
  } catch (error) {
    if (!isLockUnavailable((error as Error).cause)) throw error
    throw new OperatorError(
      'This installation is being transferred to another store. Wait until svc-gateway migrate-store has ended.',
    )
  }
}

function createStore(
  database: Database,
  { connections, vital, limitConnections }: Readonly<Record<'connections' | 'vital' | 'limitConnections', Connections>>,
  { nodeLease, jobLeases, clock }: Pick<PostgresStore, 'nodeLease' | 'jobLeases'> & Pick<PostgresOptions, 'clock'>,
  { ledger, record }: { readonly ledger: WritableLedger; readonly record: DatabaseRecord | undefined },
  log: PostgresLog | undefined,
): Omit<PostgresStore, 'jobLeases'> {
  let closePromise: Promise<void> | undefined
  const close = async (flushTimeoutMs: number): Promise<void> => {
    await ledger.close(flushTimeoutMs)
    await record?.close()
    await nodeLease.release().catch(() => undefined)
    await Promise.all([connections.close(), vital.close(), limitConnections.close()])
  }
  return {
    ...createRepositories(database),
    turnHistory: createTurnHistoryStore(database),
    cluster: {
      countNodes: () => nodeLease.nodeCount,
      acquireJobLease: (job, intervalMs) => jobLeases.acquire(job, intervalMs),
      recordJobResult: (job, error) => nodeLease.recordJobResult(job, error),
      setConfigFingerprint: (config) => nodeLease.setConfigFingerprint(config),
      // Uses the repositories' connections: one of four, for a moment.
      readDatabaseStatus: () => readDatabaseStatus(connections, clock),
    },
    credentialChanges: createSharedCredentialChanges(database, vital),
    ledger: {
      ...ledger,
      balance: (query) => readBalance(database, query),
      findPack: (account, id) => findPack(database, account, id),
      turns: (query) => listTurns(database.read, query, selectTurnsByIndex),
    },
    database,
    nodeLease,
    runLimitStatement: (text, values) => limitConnections.write(readCommitted, text, values),
    imageFiles: createImageDataStore(database),
    openInstallation: (configuredSecret) => openInstallation(connections, configuredSecret),
    createEmailQueue: (secret) => new SharedEmailQueue({ connections, secret, ...(log && { log }) }),
    async backup() {
      throw new OperatorError('A database on PostgreSQL is backed up with its own tools: pg_dump, or pg_basebackup.')
    },
    close: ({ flushMs = defaultFlushTimeoutMs } = {}) => (closePromise ??= close(flushMs)),
  }
}

/** Waits until a server is reachable, and migrates its database to this version's schema. @throws OperatorError */
export async function prepareDatabase(
  options: Pick<PostgresOptions, 'url' | 'clock' | 'log' | 'startTimeoutMs' | 'migrations'> & {
    readonly seen?: SeenDatabase
    /** Whether tables may be made in a database without an installation; default true. */
    readonly allowCreate?: boolean
  },
): Promise<void> {
  const { url, clock, log, seen = new SeenDatabase(), migrations = currentMigrations } = options
  const connections = new Connections({ url, seen, max: 1, timeoutMs: 1_000, statementTimeoutMs: migrationTimeoutMs })
  try {
    await retryUntilReachable(options, () => assertSupportedDatabase(connections))
    if (connections.isPooled) await retryUntilReachable(options, () => assertNamedStatements(url))
    const { rows: tableRows } = await connections.read(`select to_regclass('migration') is not null as there`, [])
    const migrationRows = tableRows[0].there ? (await connections.read('select name from migration', [])).rows : []
    if (migrationRows.length === 0 && options.allowCreate === false) throw createEmptyDatabaseError()
    if (
      isUpToDate(
        migrationRows.map(({ name }) => name),
        migrations,
      )
    )
      return
    await migrate(
      createKysely(connections, readCommitted),
      postgresDialect,
      () => clock.now(),
      migrations,
      (step) => log?.warn({ step }, 'the migration waits for a table that another transaction uses'),
    )
  } catch (error) {
    throw error instanceof OperatorError
      ? error
      : new OperatorError(`The database cannot be used: ${describeError(error)}.`, { cause: error })
  } finally {
    await connections.close()
  }
}

function createEmptyDatabaseError(): OperatorError {
  return new MissingInstallationError(
    'There is no installation in this database. Check STORE_URL; the first start of a node makes one, a restore brings one back, and svc-gateway migrate-store moves one there.',
  )
}

async function assertSupportedDatabase(connections: Connections): Promise<void> {
  const { rows } = await connections.read(
    `select current_setting('server_version') as version, current_setting('server_encoding') as encoding, current_database() as name`,
    [],
  )
  const { version, encoding, name } = rows[0]
  if (Number.parseInt(version) < minServerVersion)
    throw new OperatorError(`PostgreSQL ${minServerVersion} or newer is needed; this is ${version}.`)
  // Any other encoding refuses some names and texts, or stores bytes that are not checked.
  if (encoding !== 'UTF8')
    throw new OperatorError(
      `The database "${name}" has the encoding ${encoding}, and UTF8 is needed. Create a database with: create database svc encoding 'UTF8' template template0. If this one has data, copy it there with pg_dump and psql.`,
    )
}

/** Repeats `work` while the database is not there, or has no connection left. */
async function retryUntilReachable<Result>(
  { clock, log, startTimeoutMs = defaultStartTimeoutMs }: Pick<PostgresOptions, 'clock' | 'log' | 'startTimeoutMs'>,
  work: () => Promise<Result>,
): Promise<Result> {
  const deadlineMs = clock.monotonicMs() + startTimeoutMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (isCertificateError(error))
        throw new OperatorError(
          `The certificate of the database is refused: ${describeError(error)}. In STORE_URL name its CA with sslrootcert=FILE, and the host as the certificate does.`,
          { cause: error },
        )
      if (isForeignServer(error) || !isUnreachable(error) || clock.monotonicMs() >= deadlineMs) throw error
      log?.warn({ reason: describeError(error) }, 'waiting for the database')
    }
  }
}

/** The driver's own message, from below the errors for callers. */
export function describeError(error: unknown): string {
  const { cause, message, code } = error as { cause?: unknown; message?: string; code?: string }
  if (cause !== undefined) return describeError(cause)
  return (message === '' || message === undefined ? code : message) ?? String(error)
}
