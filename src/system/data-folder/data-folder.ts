/** The folder of an installation: paths of its database, secret and files, what exists, and its permissions. */
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { createFolder } from './create-folder.ts'
import { OperatorError, describeSystemError } from '../operator-error.ts'

export class DataFolder {
  /** Absolute path, as shown in messages. */
  readonly path: string

  constructor(dataDir: string) {
    this.path = resolve(dataDir)
  }

  get database(): string {
    return join(this.path, 'gateway.db')
  }

  get secret(): string {
    return join(this.path, 'secret.key')
  }

  get images(): string {
    return join(this.path, 'images')
  }

  get outbox(): string {
    return join(this.path, 'outbox')
  }

  /** Encrypted emails that are not sent yet. */
  get waitingEmails(): string {
    return join(this.path, 'waiting-emails')
  }

  /** Payments of the provider for demonstrations. */
  get demoPayments(): string {
    return join(this.path, 'demo-payments')
  }

  /** A copy of the database, while a scheduled backup is written. */
  get backupStaging(): string {
    return join(this.path, 'backup-staging')
  }

  /** The unpacked archive, while a backup is restored. */
  get restoreStaging(): string {
    return join(this.path, 'restore-staging')
  }

  /** Where `svc-gateway reload` reaches the running server. */
  get controlSocket(): string {
    return join(this.path, 'control.sock')
  }

  /** Exists once a server has accepted requests since the last upgrade. */
  get hasServed(): string {
    return join(this.path, 'has-served')
  }

  /** A copy of the data, with which the next version is tried before an upgrade. */
  get upgradeRehearsal(): string {
    return join(this.path, 'upgrade-rehearsal')
  }

  /** Which PostgreSQL cluster this machine has used. */
  get seenDatabase(): string {
    return join(this.path, 'seen-database.json')
  }

  /** An empty file is not a database: SQLite would treat it as new and delete the write-ahead log beside it. */
  hasDatabase(): boolean {
    return this.#inspect(() => (statSync(this.database, { throwIfNoEntry: false })?.size ?? 0) > 0)
  }

  /** Whether there was a complete installation: the secret is written last at a first start, and rescued databases later still. */
  hadInstallation(): boolean {
    return this.#inspect(
      () =>
        existsSync(this.secret) ||
        (existsSync(this.path) && readdirSync(this.path).some((name) => name.startsWith('gateway.db.rescued'))),
    )
  }

  #inspect(read: () => boolean): boolean {
    try {
      return read()
    } catch (error) {
      throw new OperatorError(`The data folder ${this.path} cannot be read: ${describeSystemError(error)}.`, { cause: error })
    }
  }

  /**
   * Creates the folder if missing and restricts its permissions. Returns a warning where that is not possible.
   * @throws OperatorError
   */
  prepare(): string | null {
    try {
      createFolder(this.path, 0o700)
    } catch (error) {
      throw new OperatorError(
        `The data folder ${this.path} cannot be made: ${describeSystemError(error)}. Set DATA_DIR to another.`,
        {
          cause: error,
        },
      )
    }
    const mode = statSync(this.path).mode & 0o777
    // A folder open to a group alone is open on purpose, for example for backups.
    if ((mode & 0o007) === 0 || process.platform === 'win32') return null
    const warning = `the data folder ${this.path} is open to every user of this machine (mode ${mode.toString(8)})`
    // The current directory is used for other things too, so its permissions are left alone.
    if (`${process.cwd()}${sep}`.startsWith(`${this.path}${sep}`)) return `${warning}; give the service a folder of its own`
    try {
      chmodSync(this.path, 0o700)
      return null
    } catch (error) {
      return `${warning}, which cannot be changed: ${describeSystemError(error)}`
    }
  }
}
