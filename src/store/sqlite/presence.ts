/**
 * Which processes are alive. Each one keeps the lock of a small file of its own next to the database for as long as it runs; the
 * operating system lets go of it when the process ends, however it ends. That tells the truth where process ids, which are reused and
 * differ between containers, and clocks, which jump, do not.
 */
import Sqlite from 'better-sqlite3'
import { existsSync, rmSync } from 'node:fs'
import type { Statement } from 'better-sqlite3'
import type { Connection } from './connection.ts'
import { prepareFile } from './connection.ts'
import { journalOf } from './owed-journal.ts'

/**
 * Who owns holds, as they name it and as its files do: a process, or one of its threads, which is named after it. A thread lives as long as
 * its process says so, and never longer than that.
 */
export interface Owner {
  readonly id: number
  readonly name: string
}

export function threadName(process: string, thread: number): string {
  return `${process}.${thread}`
}

function processOf(name: string): string {
  return name.split('.', 1)[0] ?? name
}

export class Presence {
  readonly #name: string
  /** This process and those of its threads that live. */
  readonly #own = new Map<string, Owner>()
  readonly #database: string
  readonly #lock: Connection
  readonly #all: Statement<unknown[], Owner>
  readonly #enrol: Statement<unknown[], { id: number }>
  readonly #forget: Statement<unknown[]>
  readonly #isOnDisk: () => boolean
  /** Of whom this transaction says that nobody needs their files. */
  #forgotten: Owner[] = []
  /** Of whom it is committed. */
  #gone: Owner[] = []

  /** `isOnDisk` tells, after a commit, whether the disk surely has all that is committed. */
  constructor(db: Connection, name: string, isOnDisk: () => boolean) {
    this.#name = name
    this.#isOnDisk = isOnDisk
    this.#database = db.name
    // Locked before it is known to others: whoever finds the row finds the lock.
    prepareFile(this.#file(name))
    this.#lock = new Sqlite(this.#file(name), { timeout: 0 })
    try {
      this.#lock.exec('begin exclusive')
    } catch (error) {
      // As on a full disk: nobody will ever find its row, and so nobody would take its file away.
      this.leave()
      throw error
    }
    this.#all = db.prepare('select id, name from process')
    this.#enrol = db.prepare(`
      insert into process (name, pid, started_at) values (?, ?, ?)
      on conflict (name) do update set pid = excluded.pid returning id`)
    this.#forget = db.prepare('delete from process where id = ?')
  }

  /** Returns the number by which holds name this process, or one of its threads: the same one where only the writer's thread is new. */
  enrol(pid: number, at: number, name = this.#name): number {
    const row = this.#enrol.get(name, pid, at)
    if (row === undefined) throw new Error('the process could not be enrolled')
    this.#own.set(name, { id: row.id, name })
    return row.id
  }

  /** By what number holds name it; undefined where it is none of ours. */
  idOf(name = this.#name): number | undefined {
    return this.#own.get(name)?.id
  }

  /** A thread of this process has ended: from now on it is one of the dead. */
  dismiss(name: string): Owner | undefined {
    const owner = this.#own.get(name)
    this.#own.delete(name)
    return owner
  }

  /** Those who ended without giving their holds back. */
  dead(): readonly Owner[] {
    const dead = new Map([[this.#name, true]])
    return this.#all.all().filter(({ name }) => {
      if (this.#own.has(name)) return false
      const process = processOf(name)
      const known = dead.get(process) ?? this.#isDead(process)
      dead.set(process, known)
      return known
    })
  }

  forget(owner: Owner): void {
    this.#forget.run(owner.id)
    this.#forgotten.push(owner)
  }

  /**
   * Takes away the files of those who were forgotten. What a journal said must outlive the power before the journal goes, so they stay until
   * a commit after which the disk has it. Never throws: the commit is done, and whoever heard that it was not would do it again.
   */
  committed(): void {
    this.#gone.push(...this.#forgotten)
    this.#forgotten = []
    if (this.#gone.length === 0 || !this.#isOnDisk()) return
    const gone = this.#gone
    this.#gone = []
    try {
      for (const { name } of gone) {
        rmSync(this.#file(name), { force: true })
        rmSync(journalOf(this.#database, name), { force: true })
      }
    } catch {
      // A file that nobody can take away says nothing to anybody: its process is no more in the table.
    }
  }

  undone(): void {
    this.#forgotten = []
  }

  /** Lets go of the lock; what this process still holds is given back by the next sweep of another one. */
  leave(): void {
    this.#lock.close()
    rmSync(this.#file(this.#name), { force: true })
  }

  #file(name: string): string {
    return `${this.#database}.process-${name}`
  }

  #isDead(name: string): boolean {
    const file = this.#file(name)
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
