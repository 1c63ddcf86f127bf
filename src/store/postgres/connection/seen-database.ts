/**
 * Which database cluster and timeline this process has used. A promotion begins a new timeline, so an old primary that comes back has a
 * lower one, and a restored dump has another system identifier. Shared by the threads of the process, and kept in a file for its next start.
 */
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import type { ClientBase } from 'pg'
import { DatabaseError } from 'pg'
import { z } from 'zod'
import { parseJson } from '../../../system/parse-json.ts'

export interface ServerIdentity {
  readonly systemIdentifier: string
  readonly timeline: number
}

/** A server that must not be used. */
export class RefusedServerError extends Error {
  /** Whether an operator may confirm the server with `svc-gateway store accept`: no other host is going to be the right one. */
  readonly isForeign: boolean

  constructor(message: string, isForeign: boolean) {
    super(message)
    this.isForeign = isForeign
  }
}

const fileSchema = z.object({ systemIdentifier: z.string().regex(/^\d{1,20}$/), timeline: z.number().int().nonnegative() })
/** A primary knows its timeline from the log that it writes; the control file has it a checkpoint later. */
const identityQuery = `select (select system_identifier::text from pg_control_system()) as "systemIdentifier",
  ('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 8, '0'))::bit(32)::int::text as timeline`

export class SeenDatabase {
  /** The system identifier and the timeline; zero: none yet. */
  readonly shared: SharedArrayBuffer
  readonly #values: BigUint64Array

  constructor(shared = new SharedArrayBuffer(16)) {
    this.shared = shared
    this.#values = new BigUint64Array(shared)
  }

  get current(): ServerIdentity | null {
    const systemIdentifier = Atomics.load(this.#values, 0)
    return systemIdentifier === 0n
      ? null
      : { systemIdentifier: String(systemIdentifier), timeline: Number(Atomics.load(this.#values, 1)) }
  }

  /** Takes the timeline of the same cluster if it is higher. False: the server has another identifier or a lower timeline. */
  advance({ systemIdentifier, timeline }: ServerIdentity): boolean {
    const knownSystem = Atomics.compareExchange(this.#values, 0, 0n, BigInt(systemIdentifier))
    if (knownSystem !== 0n && knownSystem !== BigInt(systemIdentifier)) return false
    for (;;) {
      const seenTimeline = Atomics.load(this.#values, 1)
      if (seenTimeline > BigInt(timeline)) return false
      if (Atomics.compareExchange(this.#values, 1, seenTimeline, BigInt(timeline)) === seenTimeline) return true
    }
  }

  /** After an operator confirmed another server. */
  replace({ systemIdentifier, timeline }: ServerIdentity): void {
    Atomics.store(this.#values, 0, BigInt(systemIdentifier))
    Atomics.store(this.#values, 1, BigInt(timeline))
  }

  /** A file that is missing or damaged leaves what the database knows. */
  load(file: string): void {
    try {
      this.replace(fileSchema.parse(parseJson(readFileSync(file, 'utf8'))))
    } catch {
      // The first start on this machine.
    }
  }

  async save(file: string): Promise<void> {
    if (this.current === null) return
    await writeFile(`${file}.part`, `${JSON.stringify(this.current)}\n`, { mode: 0o600 })
    await rename(`${file}.part`, file)
  }
}

/** Null: a service or an extension that stands for the server hides it. @throws if the connection failed */
export async function readIdentity(client: Pick<ClientBase, 'query'>): Promise<ServerIdentity | null> {
  try {
    const { rows } = await client.query<{ systemIdentifier: string; timeline: string }>(identityQuery)
    return rows[0] === undefined ? null : { ...rows[0], timeline: Number(rows[0].timeline) }
  } catch (error) {
    // Not supported, not allowed, unknown; 55000: it became a standby, which the next statement finds out.
    if (error instanceof DatabaseError && /^(?:0A|42|55)/.test(error.code ?? '')) return null
    throw error
  }
}

/**
 * Admits a session of a server that accepts writes. @throws RefusedServerError for a timeline below one seen, and for another cluster unless
 * its database says that an operator confirmed it in place of the one seen
 */
export async function admitServer(
  client: Pick<ClientBase, 'query'>,
  identity: ServerIdentity,
  seen: SeenDatabase,
): Promise<void> {
  if (seen.advance(identity)) return
  const knownServer = seen.current
  if (knownServer === null) return
  if (await isConfirmed(client, identity, knownServer)) return seen.replace(identity)
  throw describeRefusal(identity, knownServer)
}

export function describeRefusal(identity: ServerIdentity, known: ServerIdentity): RefusedServerError {
  return identity.systemIdentifier === known.systemIdentifier
    ? new RefusedServerError(
        `the server is an old primary: it is on timeline ${identity.timeline}, and timeline ${known.timeline} was used before; stop it, and let it follow the new primary`,
        false,
      )
    : new RefusedServerError(
        `the server belongs to another database cluster (system identifier ${identity.systemIdentifier}) than the one used before (${known.systemIdentifier}); if it is right, as after a restore, confirm it with: svc-gateway store accept`,
        true,
      )
}

async function isConfirmed(client: Pick<ClientBase, 'query'>, identity: ServerIdentity, known: ServerIdentity): Promise<boolean> {
  try {
    const { rows } = await client.query<{ system_identifier: string | null; replaced: readonly string[] }>(
      'select system_identifier, replaced_databases as replaced from installation',
    )
    return (
      rows[0]?.system_identifier === identity.systemIdentifier &&
      rows[0].replaced.some((text) => {
        const [systemIdentifier, timeline] = text.split(':')
        return systemIdentifier === known.systemIdentifier && Number(timeline) >= known.timeline
      })
    )
  } catch (error) {
    // An empty database, or one of an older version.
    if (error instanceof DatabaseError && error.code?.startsWith('42') === true) return false
    throw error
  }
}

export function isForeignServer(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error instanceof RefusedServerError && error.isForeign) || isForeignServer(error.cause)
}
