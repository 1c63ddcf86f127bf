/** Writes a backup when the newest one is older than `backup.every`, and reports age, size and failures as metrics and in the log. */
import type { BackupSettings, BackupStorage } from '../backup/storage/backup-storage.ts'
import { openBackupStorage } from '../backup/storage/open-backup-storage.ts'
import { runBackup } from '../backup/run-backup.ts'
import { listBackups } from '../backup/stored-backups.ts'
import type { WriteBackupOptions, WrittenBackup } from '../backup/write-backup.ts'
import type { Services } from '../services/services.ts'
import { formatDuration } from '../system/duration.ts'
import { OperatorError } from '../system/operator-error.ts'

/** Each attempt copies the database, so a failed one is repeated only after this time. */
const retryAfterMs = 900_000

/** A backup on schedule that failed, and why. */
export interface BackupFailure {
  readonly at: number
  readonly reason: string
}

type BackupJobServices = Pick<Services, 'clock' | 'log'> & {
  readonly telemetry: Pick<Services['telemetry'], 'recordBackup' | 'recordBackupFailure'>
}

interface BackupJobOptions {
  readonly settings: BackupSettings
  readonly dataDir: string
  readonly services: BackupJobServices
  /** Another writer is for tests. */
  readonly write?: (options: WriteBackupOptions, signal?: AbortSignal) => Promise<WrittenBackup>
  readonly storage?: Pick<BackupStorage, 'list' | 'location'>
}

export class BackupJob {
  readonly #options: Required<BackupJobOptions>
  readonly #startedAt: number
  #newest: { readonly at: number; readonly bytes: number } | null = null
  #failedMonotonicMs: number | null = null
  #lastFailure: BackupFailure | null = null

  constructor(options: BackupJobOptions) {
    this.#options = { write: runBackup, storage: openBackupStorage(options.settings.to), ...options }
    this.#startedAt = options.services.clock.now()
  }

  /** Null when the last attempt has not failed. */
  get lastFailure(): BackupFailure | null {
    return this.#lastFailure
  }

  /** Call it every minute. */
  async run(signal?: AbortSignal): Promise<void> {
    const { services, settings } = this.#options
    const { clock } = services
    const hasFailedRecently =
      this.#failedMonotonicMs !== null && clock.monotonicMs() - this.#failedMonotonicMs < Math.min(retryAfterMs, settings.every)
    if (!hasFailedRecently) {
      try {
        await this.#writeIfDue(signal)
        this.#failedMonotonicMs = null
        this.#lastFailure = null
      } catch (error) {
        if (signal?.aborted === true) throw error
        this.#failedMonotonicMs = clock.monotonicMs()
        services.telemetry.recordBackupFailure()
        const reason = error instanceof OperatorError ? error.message : String(error)
        this.#lastFailure = { at: clock.now(), reason }
        services.log.error({ err: error }, `a backup failed and will be repeated: ${reason}`)
      }
    }
    // Without a backup the age counts from the start, so that an alert on it fires.
    const age = clock.now() - (this.#newest?.at ?? this.#startedAt)
    services.telemetry.recordBackup({
      ageMs: Math.max(0, age),
      bytes: this.#newest?.bytes ?? null,
      everyMs: settings.every,
    })
  }

  async #writeIfDue(signal: AbortSignal | undefined): Promise<void> {
    const { settings, dataDir, services, write, storage } = this.#options
    const { clock, log } = services
    const at = clock.now()
    const isDue = (): boolean => this.#newest === null || at - this.#newest.at >= settings.every
    if (!isDue()) return
    // Not only at the start: an operator or a timer may have written one meanwhile.
    const [newestBackup = null] = await listBackups(storage)
    this.#newest = newestBackup
    if (!isDue()) return
    const startedMonotonicMs = clock.monotonicMs()
    const writtenBackup = await write({ settings, dataDir, at }, signal)
    this.#newest = writtenBackup
    const { name, bytes, location, images, deleted, thinningFailure } = writtenBackup
    log.info(
      { name, location, bytes, images, deleted: deleted.length },
      `a backup was written and verified in ${formatDuration(clock.monotonicMs() - startedMonotonicMs)}`,
    )
    if (thinningFailure !== null) log.warn({ location }, `older backups could not be deleted: ${thinningFailure}`)
  }
}
