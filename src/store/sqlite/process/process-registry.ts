/**
 * Registry of the processes that use a database. Each process locks a small file of its own beside the database while it runs;
 * the operating system releases the lock when the process ends, however it ends. Process ids (reused, different between
 * containers) and clocks (which jump) would be unreliable.
 */
import Sqlite from 'better-sqlite3'
import { existsSync, rmSync } from 'node:fs'
import type { Statement } from 'better-sqlite3'
import type { Connection } from '../connection/connection.ts'
import { prepareFile } from '../connection/connection.ts'
import { getJournalPath } from './settlement-journal.ts'

/**
 * Owner of holds: a process, or one of its threads, which is named after the process. A thread lives at most as long as its
 * process.
 */
export interface HoldOwner {
  readonly id: number
  readonly name: string
}

export function formatThreadName(process: string, thread: number): string {
  return `${process}.${thread}`
}

function parseProcessName(name: string): string {
  return name.split('.', 1)[0] ?? name
}

export class ProcessRegistry {
  readonly #name: string
  /** This process and its living threads, by name. */
  readonly #own = new Map<string, HoldOwner>()
  readonly #database: string
  readonly #lock: Connection
  readonly #selectAll: Statement<unknown[], HoldOwner>
  readonly #insert: Statement<unknown[], { id: number }>
  readonly #delete: Statement<unknown[]>
  readonly #isDurable: () => boolean
  /** Owners deleted in the open transaction; their files are removed after commit. */
  #removed: HoldOwner[] = []
  /** Owners whose deletion is committed, and whose files still exist. */
  #committedRemovals: HoldOwner[] = []

  /** `isDurable` is called after a commit and tells whether everything committed is on disk. */
  constructor(db: Connection, name: string, isDurable: () => boolean) {
    this.#name = name
    this.#isDurable = isDurable
    this.#database = db.name
    // Locked before the row exists, so that every process that finds the row finds the lock.
    prepareFile(this.#getLockPath(name))
    this.#lock = new Sqlite(this.#getLockPath(name), { timeout: 0 })
    try {
      this.#lock.exec('begin exclusive')
    } catch (error) {
      // On a full disk, for example: without a row no other process would remove the file.
      this.close()
      throw error
    }
    this.#selectAll = db.prepare('select id, name from process')
    this.#insert = db.prepare(`
      insert into process (name, pid, started_at) values (?, ?, ?)
      on conflict (name) do update set pid = excluded.pid returning id`)
    this.#delete = db.prepare('delete from process where id = ?')
  }

  /** Returns the id that marks the holds of this process or of one of its threads. A restarted writer thread gets the same id. */
  register(pid: number, at: number, name = this.#name): number {
    const row = this.#insert.get(name, pid, at)
    if (row === undefined) throw new Error('the process could not be registered')
    this.#own.set(name, { id: row.id, name })
    return row.id
  }

  /** Undefined if the owner is not of this process. */
  findOwnerId(name = this.#name): number | undefined {
    return this.#own.get(name)?.id
  }

  /** Removes an ended thread from the living; `listDead` returns it from then on. */
  unregister(name: string): HoldOwner | undefined {
    const owner = this.#own.get(name)
    this.#own.delete(name)
    return owner
  }

  /** Owners that ended without settling or releasing their holds. */
  listDead(): readonly HoldOwner[] {
    const dead = new Map([[this.#name, true]])
    return this.#selectAll.all().filter(({ name }) => {
      if (this.#own.has(name)) return false
      const process = parseProcessName(name)
      const isDead = dead.get(process) ?? this.#isDead(process)
      dead.set(process, isDead)
      return isDead
    })
  }

  remove(owner: HoldOwner): void {
    this.#delete.run(owner.id)
    this.#removed.push(owner)
  }

  /**
   * Removes the files of deleted owners. A journal's settlements must be durable before the journal is removed, so the files stay
   * until a commit after which everything is on disk. Never throws: the commit is done, and an error would make the caller repeat
   * it.
   */
  afterCommit(): void {
    this.#committedRemovals.push(...this.#removed)
    this.#removed = []
    if (this.#committedRemovals.length === 0 || !this.#isDurable()) return
    const removals = this.#committedRemovals
    this.#committedRemovals = []
    try {
      for (const { name } of removals) {
        rmSync(this.#getLockPath(name), { force: true })
        rmSync(getJournalPath(this.#database, name), { force: true })
      }
    } catch {
      // A file that cannot be removed does no harm: its owner is no longer in the table.
    }
  }

  afterRollback(): void {
    this.#removed = []
  }

  /** Releases the lock. Another process's next sweep releases the holds that are still open. */
  close(): void {
    this.#lock.close()
    rmSync(this.#getLockPath(this.#name), { force: true })
  }

  #getLockPath(name: string): string {
    return `${this.#database}.process-${name}`
  }

  #isDead(name: string): boolean {
    const file = this.#getLockPath(name)
    if (!existsSync(file)) return true
    const probe = new Sqlite(file, { timeout: 0 })
    try {
      probe.exec('begin immediate')
      return true
    } catch {
      return false
    } finally {
      probe.close()
    }
  }
}
