/**
 * The database cluster of the installation, as its database and this node's file know it. A node that starts in an empty folder learns
 * from the database what others have used.
 */
import { systemClock } from '../../../system/clock.ts'
import type { Timer } from '../../../system/clock.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { readCommitted } from '../connection/connections.ts'
import type { Connections } from '../connection/connections.ts'
import { describeRefusal, readIdentity, SeenDatabase } from '../connection/seen-database.ts'
import type { ServerIdentity } from '../connection/seen-database.ts'
import type { PostgresLog } from '../postgres-log.ts'

export interface Confirmation {
  readonly accepted: ServerIdentity
  /** The servers that were used before, as `identifier:timeline`. */
  readonly replaced: readonly string[]
}

interface RecordRow {
  readonly system_identifier: string | null
  readonly timeline: number | null
}

interface DatabaseRecordDeps {
  readonly connections: Connections
  readonly seen: SeenDatabase
  readonly file: string | null
  readonly log: PostgresLog | undefined
}

const saveEveryMs = 1_000

/** @throws OperatorError if the database was copied from another cluster and no operator has confirmed it */
export async function assertConfirmedDatabase(connections: Connections, seen: SeenDatabase): Promise<void> {
  const recordedServer = await readRecord(connections)
  const { current } = seen
  if (recordedServer === null || current === null || seen.advance(recordedServer)) return
  if (recordedServer.systemIdentifier !== current.systemIdentifier)
    throw new OperatorError(`The database is refused: ${describeRefusal(current, recordedServer).message}.`)
}

/** Records a new timeline in the database and in the file, within a second of its first use. */
export class DatabaseRecord {
  readonly #deps: DatabaseRecordDeps
  readonly #timer: Timer
  #saved: string | null = null
  #saving: Promise<void> = Promise.resolve()

  constructor(deps: DatabaseRecordDeps) {
    this.#deps = deps
    this.#timer = systemClock.every(saveEveryMs, () => void this.save()).unref()
  }

  /** Resolves also if it cannot be saved: it is tried again. */
  save(): Promise<void> {
    return (this.#saving = this.#saving.then(() => this.#save().catch(() => undefined)))
  }

  async close(): Promise<void> {
    this.#timer.cancel()
    await this.#saving
  }

  async #save(): Promise<void> {
    const { connections, seen, file, log } = this.#deps
    const { current } = seen
    const text = JSON.stringify(current)
    if (current === null || text === this.#saved) return
    if (file !== null) await seen.save(file)
    if (this.#saved !== null)
      log?.warn({ timeline: current.timeline }, 'the database has a new primary; hosts on an older timeline are refused')
    const { rowCount } = await connections.write(
      readCommitted,
      `update installation set system_identifier = $1, timeline = $2
        where system_identifier is null or (system_identifier = $1 and timeline < $2)`,
      [current.systemIdentifier, current.timeline],
    )
    // The first node creates the row a moment later.
    if (rowCount === 1 || (await readRecord(connections)) !== null) this.#saved = text
  }
}

/** Records this server in place of the ones that the database and the file know. @throws OperatorError */
export async function recordServer(connections: Connections, file: string): Promise<Confirmation> {
  const client = await connections.acquire()
  const acceptedServer = await readIdentity(client).finally(() => connections.release(client))
  if (acceptedServer === null)
    throw new OperatorError('This database does not tell its system identifier and timeline, so no other one is refused.')
  const onNode = new SeenDatabase()
  onNode.load(file)
  const before = [await readRecord(connections), onNode.current].filter((identity) => identity !== null)
  const replacedServers = before
    .filter(
      ({ systemIdentifier, timeline }) =>
        systemIdentifier !== acceptedServer.systemIdentifier || timeline > acceptedServer.timeline,
    )
    .map(({ systemIdentifier, timeline }) => `${systemIdentifier}:${timeline}`)
  const { rowCount } = await connections.write(
    readCommitted,
    `update installation set system_identifier = $1, timeline = $2,
      replaced_databases = array(select distinct unnest(replaced_databases || $3::text[]))`,
    [acceptedServer.systemIdentifier, acceptedServer.timeline, replacedServers],
  )
  if (rowCount !== 1) throw new OperatorError('There is no installation in this database yet: start the server.')
  onNode.replace(acceptedServer)
  await onNode.save(file)
  return { accepted: acceptedServer, replaced: [...new Set(replacedServers)] }
}

async function readRecord(connections: Connections): Promise<ServerIdentity | null> {
  const { rows } = await connections.read('select system_identifier, timeline from installation', [])
  const { system_identifier: systemIdentifier, timeline } = (rows as readonly RecordRow[])[0] ?? {}
  return typeof systemIdentifier === 'string' && typeof timeline === 'number' ? { systemIdentifier, timeline } : null
}
