/** State that an installation has once, in a folder or in a database that several nodes share. */
import { existsSync } from 'node:fs'
import type { RateLimitStore } from '../../access/limits/rate-limit-store.ts'
import type { ImageFiles } from '../../domain/image.ts'
import type { Store } from '../../domain/store.ts'
import type { WorkerStores } from '../../store/sqlite/open.ts'
import type { Clock } from '../../system/clock.ts'
import { loadOrCreateSecret, restrictSecretFile } from '../../system/secret.ts'
import { EmailEncryption } from '../../mail/email-encryption.ts'
import { LocalEmailQueue } from '../../mail/local-email-queue.ts'
import type { EmailQueue } from '../../mail/email-queue.ts'
import { EmailSpool } from '../../mail/email-spool.ts'
import type { DataFolder } from '../../system/data-folder/data-folder.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { Services } from '../../services/services.ts'
import { openServerStore } from './open-store.ts'

export interface InstallationOptions {
  readonly config: GatewayConfig
  readonly folder: DataFolder
  readonly clock: Clock
  readonly log: Services['log']
  /** Called with the reason why the store refuses new turns, or null when it recovers; the log has it first. */
  readonly onHealthChange?: ((reason: string | null) => void) | undefined
}

export interface Installation {
  readonly store: Store
  /** Opens the store in further threads of this process; null where each node serves with one thread. */
  readonly threads: WorkerStores | null
  /** Creates the rate limit store of all nodes that share the database; null for a single server. */
  readonly createRateLimitStore: (() => RateLimitStore) | null
  /** Where images are stored; null: in the data folder. */
  readonly imageFiles: ImageFiles | null
  /** The queue of emails to send. */
  readonly emailQueue: EmailQueue
  readonly secret: Buffer
  /** The folder or database that this start created; null where it existed. */
  readonly createdLocation: string | null
}

/** Opens an installation whose state is all in its data folder. @throws OperatorError where it cannot be opened */
export async function openSqliteInstallation({ folder, clock, log, onHealthChange }: InstallationOptions): Promise<Installation> {
  const isNew = !folder.hasDatabase()
  const permissionWarning = folder.prepare()
  if (permissionWarning !== null) log.warn(permissionWarning)
  const secretWarning = restrictSecretFile(folder.secret)
  if (secretWarning !== null) log.warn(secretWarning)
  const existingSecret = existsSync(folder.secret) ? loadOrCreateSecret(folder.secret) : null
  const store = await openServerStore(folder, clock, log, onHealthChange)
  if (existingSecret === null && !isNew)
    log.warn(`${folder.secret} was missing and has been created anew; signed image links sent before are no longer valid`)
  // The secret is written last: its presence proves that the installation is complete.
  const secret = existingSecret ?? loadOrCreateSecret(folder.secret)
  return {
    store,
    threads: store.threads,
    createRateLimitStore: null,
    imageFiles: null,
    emailQueue: new LocalEmailQueue({
      clock,
      spool: new EmailSpool({ folder: folder.waitingEmails, encryption: new EmailEncryption(secret), log }),
    }),
    secret,
    createdLocation: isNew ? folder.path : null,
  }
}
