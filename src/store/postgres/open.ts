/** Opens the store on PostgreSQL, making and migrating the schema as needed; any number of nodes may have it open. */
import type { ImageFiles } from '../../membership/image.ts'
import type { Ledger } from '../../membership/ledger.ts'
import type { Store } from '../../membership/store.ts'
import type { LetterQueue } from '../../system/mail/letter-queue.ts'
import { Unusable } from '../../system/unusable.ts'
import type { Database } from '../database.ts'
import { firstAskedOf } from '../first-asked.ts'
import { isCurrent, migrate } from '../migrate.ts'
import { repositoriesIn } from '../repositories.ts'
import { changesOn } from './changes.ts'
import { conditionOf } from './condition.ts'
import { alone, Connections } from './connections.ts'
import { databaseOn, kyselyOn, postgresDialect } from './dialect.ts'
import { isAway, isInUse } from './failures.ts'
import { Elections } from './elections.ts'
import { imageDataIn } from './image-data.ts'
import { openInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { SharedLetters } from './letters.ts'
import { ledgerReads } from './ledger-reads.ts'
import type { PostgresLog } from './postgres-log.ts'
import type { Attendance } from './presence.ts'
import { guest, Presence } from './presence.ts'
import { steps } from './steps.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host,other-host/database`. */
  readonly url: string
  /** `id` must be new for every start. */
  readonly process: { readonly id: string; readonly version: string }
  /** `ticks` only ever goes on, in milliseconds. */
  readonly clock: { now(): number; ticks(): number }
  /** `node`, the default: serves, and is counted as one. `guest`: a command that works beside them. */
  readonly role?: 'node' | 'guest'
  /** Makes what writes the ledger. */
  readonly ledger: (parts: LedgerParts) => Promise<WritingLedger> | WritingLedger
  readonly log?: PostgresLog
  /** How long a start waits for a server that takes writes; default 30 s. */
  readonly startPatienceMs?: number
  /** How long statements wait for one later; default 3 s. */
  readonly patienceMs?: number
}

/** What writing the ledger has to work with. */
export interface LedgerParts {
  readonly url: string
  readonly database: Database
  /** Whose number holds are under, and who is dead. */
  readonly presence: Attendance
  readonly clock: PostgresOptions['clock']
}

/** The ledger but for what is only read, and how it ends: after what it has been given. */
export interface WritingLedger extends Omit<Ledger, 'balance' | 'turns'> {
  close(owedMs: number): Promise<void>
}

export interface PostgresStore extends Store {
  /** For the repositories and for tests; the service itself speaks to the port. */
  readonly database: Database
  readonly presence: Attendance
  readonly elections: Elections
  /** One statement that counts, as a transaction of its own that merely waits for others. */
  count(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  /** Where images lie for all nodes. */
  readonly imageFiles: ImageFiles
  /** The secret that all nodes have in common; `given` where this node was given it. @throws Unusable */
  installation(given: Buffer | null): Promise<Installation>
  /** Letters that any node sends, sealed with what follows from the secret. One for a mail room, which begins and closes it. */
  letters(secret: Buffer): LetterQueue
}

/** For all repositories of a node; the ledger has its own, and so has its being alive. */
const mostConnections = 4
/** For what must not wait for them: being alive, and hearing of changes. */
const mostVital = 2
/** A connection that is silent for twice as long is another one's turn: well before the node counts as dead. */
const vitalMs = 2_000
const defaultStartPatienceMs = 30_000
const defaultOwedMs = 1_000
const oldestServer = 14
/** A change of the schema may take its time, and waits for that of another node. */
const migrationMs = 300_000

/** Throws a sentence where the database cannot be used, or is of a newer version that does not let this one work beside it. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { url, process, clock, log, patienceMs = 3_000 } = options
  await prepareDatabase(options)
  const connections = new Connections({ url, most: mostConnections, patienceMs })
  const vital = new Connections({ url, most: mostVital, patienceMs: 1_000, statementMs: vitalMs })
  const counting = new Connections({ url, most: 1, patienceMs: 1_000 })
  const database = databaseOn(connections)
  let presence: Attendance | undefined
  try {
    presence =
      options.role === 'guest'
        ? await asGuest(connections)
        : await Presence.enrol({
            connections: vital,
            name: process.id,
            version: process.version,
            clock,
            onFault: (error) => log?.warn({ err: error }, 'the database does not hear that this node is alive'),
          })
    const ledger = await options.ledger({ url, database, presence, clock })
    const elections = new Elections(vital, presence)
    return { ...storeOn(database, { connections, vital, counting }, { presence, elections, clock }, ledger, log), elections }
  } catch (error) {
    await presence?.leave().catch(() => undefined)
    await Promise.all([connections.close(), vital.close(), counting.close()])
    throw error
  }
}

/** What it would write while all is being moved to another store might be left behind. @throws Unusable */
async function asGuest(connections: Connections): Promise<Attendance> {
  try {
    // A move has locked this table, so that no node enrols.
    await connections.write(alone, 'lock table process in row exclusive mode nowait', [])
    return guest
  } catch (error) {
    if (!isInUse((error as Error).cause)) throw error
    throw new Unusable('This installation is being moved to another store. Wait until svc-gateway migrate-store has ended.')
  }
}

function storeOn(
  database: Database,
  { connections, vital, counting }: Readonly<Record<'connections' | 'vital' | 'counting', Connections>>,
  { presence, elections, clock }: Pick<PostgresStore, 'presence' | 'elections'> & Pick<PostgresOptions, 'clock'>,
  ledger: WritingLedger,
  log: PostgresLog | undefined,
): Omit<PostgresStore, 'elections'> {
  const repositories = repositoriesIn(database)
  const first = firstAskedOf(async (text, parameters) => {
    let count = 0
    return (
      await connections.read(
        text.replaceAll('?', () => `$${++count}`),
        parameters,
      )
    ).rows
  })
  let closed: Promise<void> | undefined
  const close = async (owedMs: number): Promise<void> => {
    await ledger.close(owedMs)
    await presence.leave().catch(() => undefined)
    await Promise.all([connections.close(), vital.close(), counting.close()])
  }
  return {
    ...repositories,
    cluster: {
      nodes: () => presence.nodes,
      isMine: (chore, everyMs) => elections.isMine(chore, everyMs),
      // Not of those that must not wait, and one of four for a moment.
      condition: () => conditionOf(connections, clock),
    },
    accounts: { ...repositories.accounts, ...first.accounts },
    keys: { ...repositories.keys, ...first.keys },
    changes: changesOn(database, vital),
    ledger: { ...ledger, ...ledgerReads(database) },
    database,
    presence,
    count: (text, values) => counting.write(alone, text, values),
    imageFiles: imageDataIn(database),
    installation: (given) => openInstallation(connections, given),
    letters: (secret) => new SharedLetters({ connections, secret, ...(log && { log }) }),
    async backup() {
      throw new Unusable('A database on PostgreSQL is backed up with its own tools: pg_dump, or pg_basebackup.')
    },
    close: ({ owedMs = defaultOwedMs } = {}) => (closed ??= close(owedMs)),
  }
}

/** Waits until there is a server, and brings its database to this version's schema. @throws Unusable */
export async function prepareDatabase({
  url,
  clock,
  log,
  startPatienceMs = defaultStartPatienceMs,
}: Pick<PostgresOptions, 'url' | 'clock' | 'log' | 'startPatienceMs'>): Promise<void> {
  const connections = new Connections({ url, most: 1, patienceMs: 1_000, statementMs: migrationMs })
  try {
    await answering(connections, clock, startPatienceMs, log)
    const { rows } = await connections.read('show server_version', [])
    if (Number.parseInt(rows[0].server_version) < oldestServer)
      throw new Unusable(`PostgreSQL ${oldestServer} or newer is needed; this is ${rows[0].server_version}.`)
    const { rows: found } = await connections.read(`select to_regclass('migration') is not null as there`, [])
    const applied = found[0].there ? (await connections.read('select name from migration', [])).rows : []
    if (
      isCurrent(
        applied.map(({ name }) => name),
        steps,
      )
    )
      return
    await migrate(
      kyselyOn(connections, alone),
      postgresDialect,
      () => clock.now(),
      steps,
      (step) => log?.warn({ step }, 'the change of the schema waits for a table that somebody else uses'),
    )
  } catch (error) {
    throw error instanceof Unusable ? error : new Unusable(`The database cannot be used: ${reasonOf(error)}.`, { cause: error })
  } finally {
    await connections.close()
  }
}

async function answering(
  connections: Connections,
  clock: PostgresOptions['clock'],
  patienceMs: number,
  log: PostgresLog | undefined,
): Promise<void> {
  const until = clock.ticks() + patienceMs
  for (;;) {
    try {
      await connections.read('select 1', [])
      return
    } catch (error) {
      if (!isAway(error) || clock.ticks() >= until) throw error
      log?.warn({ reason: reasonOf(error) }, 'waiting for the database')
    }
  }
}

/** The driver's own words, under those for a caller. */
export function reasonOf(error: unknown): string {
  const { cause, message, code } = error as { cause?: unknown; message?: string; code?: string }
  if (cause !== undefined) return reasonOf(cause)
  return (message === '' || message === undefined ? code : message) ?? String(error)
}
