/**
 * What stands in the way of selling although statements may still succeed. SQLite goes on writing into files that were moved, deleted or
 * replaced under it, and all that is acknowledged then is gone with the process; and a page that cannot be read says that its neighbours
 * may be no better. Nothing is sold on either until it is in order again.
 */
import type { FileIdentity } from './file-identity.ts'
import { identityOf } from './file-identity.ts'
import { runTask } from './reader.ts'

const lookEveryMs = 1_000
/** A check that could not be made, as where the file was away just then, is tried again. */
const checkAgainMs = 30_000

export class Health {
  readonly #file: string
  readonly #tell: (trouble: string | null) => void
  #opened: readonly (readonly [file: string, identity: FileIdentity])[] = []
  #timer: NodeJS.Timeout | undefined
  #misplaced: string | null = null
  #lost = false
  #damaged: string | null = null
  readonly #checkAgainMs: number
  #again: NodeJS.Timeout | undefined
  #told: string | null = null

  /** `tell` hears each change, once. */
  constructor(file: string, tell: (trouble: string | null) => void, checkAgain = checkAgainMs) {
    this.#file = file
    this.#checkAgainMs = checkAgain
    this.#tell = tell
  }

  /** A sentence, or null while all is well. */
  get trouble(): string | null {
    return this.#misplaced ?? this.#damaged
  }

  /** The database itself is not where it was: what the open connections see is all there is of it. */
  get isLost(): boolean {
    return this.#lost
  }

  /** To be called once the database is open; from then on its files must stay the ones they are. */
  async watch(): Promise<void> {
    // SQLite gives the log's files up only when the last connection goes, and ours stay.
    const files = ['', '-wal', '-shm'].map((suffix) => this.#file + suffix)
    const seen = await Promise.all(files.map(async (file) => [file, await seenAt(file)] as const))
    this.#opened = seen.filter(([, identity]) => identity !== null)
    let looking = false
    this.#timer = setInterval(() => {
      // A disk that does not answer is not asked again meanwhile.
      if (looking) return
      looking = true
      void this.#look().finally(() => (looking = false))
    }, lookEveryMs).unref()
  }

  /**
   * Hears every failure of the database. Damage is remembered until a check of the whole file finds none; so is a write that the disk did
   * not take, because of what was read since nobody knows how it will be read again.
   */
  met(fault: unknown): void {
    const code = codeOf(fault)
    const isUnflushed = code === 'SQLITE_IOERR_FSYNC'
    if (this.#damaged !== null || !(isUnflushed || isDamage(fault))) return
    this.#damaged = isUnflushed
      ? `${this.#file} could not be brought to the disk (${code}): look at the disk`
      : `${this.#file} is damaged (${code}): stop the service and restore a backup`
    this.#changed()
    this.#check()
  }

  close(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#again)
  }

  #check(): void {
    runTask('check', { file: this.#file }).then(
      (sound) => {
        if (!sound) return
        this.#damaged = null
        this.#changed()
      },
      // What cannot even be checked is not found sound.
      (error: unknown) => {
        if (isDamage(error)) return
        this.#again = setTimeout(() => this.#check(), this.#checkAgainMs).unref()
      },
    )
  }

  async #look(): Promise<void> {
    const found = await Promise.all(this.#opened.map(async ([file, identity]) => sentence(file, identity, await seenAt(file))))
    this.#misplaced = found.find((finding) => finding !== null) ?? null
    this.#lost = (found[0] ?? null) !== null
    this.#changed()
  }

  #changed(): void {
    const { trouble } = this
    if (trouble === this.#told) return
    this.#told = trouble
    this.#tell(trouble)
  }
}

function codeOf(fault: unknown): string {
  const { code } = fault as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

function isDamage(fault: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB)/.test(codeOf(fault))
}

function sentence(file: string, opened: FileIdentity, found: FileIdentity): string | null {
  if (found === opened) return null
  return found === null
    ? `${file} is gone: it was moved or deleted under the running service`
    : `${file} is not the file that was opened: it was replaced under the running service`
}

/** Null also where it cannot be seen. */
function seenAt(file: string): Promise<FileIdentity> {
  return identityOf(file).catch(() => null)
}
