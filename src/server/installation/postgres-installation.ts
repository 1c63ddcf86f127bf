/** An installation shared by several nodes: its state is in PostgreSQL, and a node may lose its folder. */
import { randomUUID } from 'node:crypto'
import { createPostgresRateLimitStore } from '../../access/limits/postgres.ts'
import { createConfigFingerprint } from '../../config/config-fingerprint.ts'
import { redactUrl } from '../../config/redact-url.ts'
import type { ConfigFingerprint } from '../../domain/config-fingerprint.ts'
import { Connections } from '../../store/postgres/connection/connections.ts'
import { openInstallation } from '../../store/postgres/cluster/installation.ts'
import { openLedger } from '../../store/postgres/open-ledger.ts'
import type { PostgresStore } from '../../store/postgres/open.ts'
import { openPostgresStore } from '../../store/postgres/open.ts'
import type { PostgresLog } from '../../store/postgres/postgres-log.ts'
import { parseSecretKey } from '../../system/secret.ts'
import type { Clock } from '../../system/clock.ts'
import { readVersion } from '../../system/version.ts'
import type { InstallationOptions, Installation } from './installation.ts'

interface SharedStoreLocation {
  readonly url: string
  /** The secret, where it is not stored in the database. */
  readonly secretKey: string | null
}

/** @throws OperatorError where it cannot be opened */
export async function openPostgresInstallation(
  options: InstallationOptions,
  { url, secretKey }: SharedStoreLocation,
): Promise<Installation> {
  const { folder, clock, log } = options
  const permissionWarning = folder.prepare()
  if (permissionWarning !== null) log.warn(permissionWarning)
  const store = await openSharedStore({
    url,
    clock,
    log,
    seenFile: folder.seenDatabase,
    role: 'node',
    config: createConfigFingerprint(options.config),
  })
  try {
    const { secret, isNew } = await store.openInstallation(parseOptionalSecretKey(secretKey))
    return {
      store,
      threads: null,
      createRateLimitStore: () => createPostgresRateLimitStore(store.runLimitStatement, clock),
      imageFiles: store.imageFiles,
      emailQueue: store.createEmailQueue(secret),
      secret,
      createdLocation: isNew ? redactUrl(url) : null,
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Reads the secret for a command beside the nodes. */
export async function readSharedSecret({ url, secretKey }: SharedStoreLocation): Promise<Buffer> {
  const connections = new Connections({ url, max: 1 })
  try {
    return (await openInstallation(connections, parseOptionalSecretKey(secretKey))).secret
  } finally {
    await connections.close()
  }
}

function parseOptionalSecretKey(secretKey: string | null): Buffer | null {
  return secretKey === null ? null : parseSecretKey(secretKey)
}

interface SharedStoreOptions {
  readonly url: string
  readonly clock: Clock
  readonly role: 'node' | 'command'
  /** What this machine has used. */
  readonly seenFile?: string
  /** Of a node's configuration. */
  readonly config?: ConfigFingerprint
  readonly log?: PostgresLog
}

export function openSharedStore({ url, clock, role, seenFile, config = {}, log }: SharedStoreOptions): Promise<PostgresStore> {
  const process = { id: randomUUID(), version: readVersion(), config }
  return openPostgresStore({
    url,
    process,
    clock,
    role,
    ...(seenFile !== undefined && { seenFile }),
    ledger: openLedger,
    ...(log === undefined ? {} : { log }),
  })
}
