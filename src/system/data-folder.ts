/** The folder of one installation: where its database, secret and files are, what is there already, and whose eyes it is for. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { Unusable, whyNot } from './unusable.ts'

export class DataFolder {
  /** Absolute, as it is named to people. */
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

  /** No bytes are no database: SQLite would take them for a new one, and throw the write-ahead log beside them away. */
  hasDatabase(): boolean {
    return this.#look(() => (statSync(this.database, { throwIfNoEntry: false })?.size ?? 0) > 0)
  }

  /** Whether there was a whole installation here: the secret is made last at a first start, and copies of the database later still. */
  hadInstallation(): boolean {
    return this.#look(
      () =>
        existsSync(this.secret) ||
        (existsSync(this.path) && readdirSync(this.path).some((name) => name.startsWith('gateway.db.rescued'))),
    )
  }

  #look(at: () => boolean): boolean {
    try {
      return at()
    } catch (error) {
      throw new Unusable(`The data folder ${this.path} cannot be read: ${whyNot(error)}.`, { cause: error })
    }
  }

  /**
   * Makes the folder where there is none, and closes it to others. Gives what the operator should know where that cannot be done.
   * @throws Unusable
   */
  prepare(): string | null {
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 })
    } catch (error) {
      throw new Unusable(`The data folder ${this.path} cannot be made: ${whyNot(error)}. Set DATA_DIR to another.`, {
        cause: error,
      })
    }
    const mode = statSync(this.path).mode & 0o777
    // What is open to a group alone was opened on purpose, say for whoever makes the backups.
    if ((mode & 0o007) === 0 || process.platform === 'win32') return null
    const open = `the data folder ${this.path} is open to every user of this machine (mode ${mode.toString(8)})`
    // A folder that somebody works in is more than ours.
    if (`${process.cwd()}${sep}`.startsWith(`${this.path}${sep}`)) return `${open}; give the service a folder of its own`
    try {
      chmodSync(this.path, 0o700)
      return null
    } catch (error) {
      return `${open}, which cannot be changed: ${whyNot(error)}`
    }
  }
}
