/** An installation that several nodes share: all that matters is in its database, and a node may lose its folder. */
import { randomUUID } from 'node:crypto'
import { postgresBook } from '../access/limits/postgres.ts'
import { shownUrl } from '../config/shown-url.ts'
import { Connections } from '../store/postgres/connections.ts'
import { openInstallation } from '../store/postgres/installation.ts'
import { openLedger } from '../store/postgres/open-ledger.ts'
import type { PostgresStore } from '../store/postgres/open.ts'
import { openPostgresStore } from '../store/postgres/open.ts'
import { parseSecretKey } from '../system/secret.ts'
import type { Clock } from '../system/clock.ts'
import { version } from '../cli/version.ts'
import type { InstallationParts, Installed } from './installed.ts'
import type { Services } from './services.ts'

export interface SharedPlace {
  readonly url: string
  /** Where the secret is not kept in the database. */
  readonly secretKey: string | null
}

/** Throws a sentence where it cannot be opened. */
export async function openSharedInstallation(parts: InstallationParts, { url, secretKey }: SharedPlace): Promise<Installed> {
  const { folder, clock, log } = parts
  const openToOthers = folder.prepare()
  if (openToOthers !== null) log.warn(openToOthers)
  const store = await openSharedStore({ url, clock, log, role: 'node' })
  try {
    const { secret, isNew } = await store.installation(given(secretKey))
    return {
      store,
      threads: null,
      limitBook: () => postgresBook(store.count, clock),
      imageFiles: store.imageFiles,
      letters: store.letters(secret),
      secret,
      begunIn: isNew ? shownUrl(url) : null,
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** For a command that works beside the nodes. */
export async function secretIn({ url, secretKey }: SharedPlace): Promise<Buffer> {
  const connections = new Connections({ url, most: 1 })
  try {
    return (await openInstallation(connections, given(secretKey))).secret
  } finally {
    await connections.close()
  }
}

function given(secretKey: string | null): Buffer | null {
  return secretKey === null ? null : parseSecretKey(secretKey)
}

export interface SharedStoreParts {
  readonly url: string
  readonly clock: Clock
  readonly role: 'node' | 'guest'
  readonly log?: Services['log']
}

export function openSharedStore({ url, clock, role, log }: SharedStoreParts): Promise<PostgresStore> {
  const process = { id: randomUUID(), version: version() }
  return openPostgresStore({ url, process, clock, role, ledger: openLedger, ...(log === undefined ? {} : { log }) })
}
