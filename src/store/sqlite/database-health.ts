/**
 * Conditions that stop new turns although statements may still succeed. SQLite keeps writing to files that were moved, deleted or
 * replaced under it, and everything acknowledged then is lost with the process. An unreadable page means that other pages may be
 * damaged as well. No turn is sold until the condition has ended.
 */
import { systemClock } from '../../system/clock.ts'
import type { Timer } from '../../system/clock.ts'
import type { FileIdentity } from './connection/file-identity.ts'
import { readFileIdentity } from './connection/file-identity.ts'
import { runReadTask } from './maintenance/read-tasks.ts'

const pollMs = 1_000
/** Delay before a check that could not run, for example because the file was missing, is repeated. */
const recheckMs = 30_000

export class DatabaseHealth {
  readonly #file: string
  readonly #onChange: (unhealthyReason: string | null) => void
  #opened: readonly (readonly [file: string, identity: FileIdentity])[] = []
  #timer: Timer | undefined
  #fileReason: string | null = null
  #isLost = false
  #damageReason: string | null = null
  readonly #recheckMs: number
  #recheckTimer: Timer | undefined
  #reportedReason: string | null = null

  /** `onChange` is called once for each change. */
  constructor(file: string, onChange: (unhealthyReason: string | null) => void, recheckAfterMs = recheckMs) {
    this.#file = file
    this.#recheckMs = recheckAfterMs
    this.#onChange = onChange
  }

  /** A sentence for the operator, or null if the database is healthy. */
  get unhealthyReason(): string | null {
    return this.#fileReason ?? this.#damageReason
  }

  /** Whether the database file has left its path: the open connections are then the only access to it. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Call once the database is open. From then on its files must not change their identity. */
  async watch(): Promise<void> {
    // SQLite removes the WAL files only with the last connection, and ours stay open.
    const files = ['', '-wal', '-shm'].map((suffix) => this.#file + suffix)
    const fileIdentities = await Promise.all(files.map(async (file) => [file, await tryReadFileIdentity(file)] as const))
    this.#opened = fileIdentities.filter(([, identity]) => identity !== null)
    let isPolling = false
    const poll = (): void => {
      // A disk that does not respond gets no second request meanwhile.
      if (isPolling) return
      isPolling = true
      void this.#poll().finally(() => (isPolling = false))
    }
    this.#timer = systemClock.every(pollMs, poll).unref()
  }

  /**
   * Call for every failure of the database. Damage is remembered until a check of the whole file finds none. So is a failed
   * flush: pages read since then may read differently later.
   */
  recordFault(fault: unknown): void {
    const code = getCode(fault)
    const isUnflushed = code === 'SQLITE_IOERR_FSYNC'
    if (this.#damageReason !== null || !(isUnflushed || isDamage(fault))) return
    this.#damageReason = isUnflushed
      ? `${this.#file} could not be flushed to disk (${code}): check the disk`
      : `${this.#file} is damaged (${code}): stop the service and restore a backup`
    this.#reportChange()
    this.#checkFile()
  }

  close(): void {
    this.#timer?.cancel()
    this.#recheckTimer?.cancel()
  }

  #checkFile(): void {
    runReadTask('check', { file: this.#file }).then(
      (sound) => {
        if (!sound) return
        this.#damageReason = null
        this.#reportChange()
      },
      // A check that could not run proves nothing.
      (error: unknown) => {
        if (isDamage(error)) return
        this.#recheckTimer = systemClock.after(this.#recheckMs, () => this.#checkFile()).unref()
      },
    )
  }

  async #poll(): Promise<void> {
    const reasons = await Promise.all(
      this.#opened.map(async ([file, identity]) => describeFileChange(file, identity, await tryReadFileIdentity(file))),
    )
    this.#fileReason = reasons.find((finding) => finding !== null) ?? null
    this.#isLost = (reasons[0] ?? null) !== null
    this.#reportChange()
  }

  #reportChange(): void {
    const { unhealthyReason } = this
    if (unhealthyReason === this.#reportedReason) return
    this.#reportedReason = unhealthyReason
    this.#onChange(unhealthyReason)
  }
}

function getCode(fault: unknown): string {
  const { code } = fault as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

function isDamage(fault: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB)/.test(getCode(fault))
}

function describeFileChange(file: string, opened: FileIdentity, found: FileIdentity): string | null {
  if (found === opened) return null
  return found === null
    ? `${file} is gone: it was moved or deleted under the running service`
    : `${file} is not the file that was opened: it was replaced under the running service`
}

/** Null also if the file cannot be examined. */
function tryReadFileIdentity(file: string): Promise<FileIdentity> {
  return readFileIdentity(file).catch(() => null)
}
