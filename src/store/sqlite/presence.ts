/**
 * Which processes are alive. Each one keeps the lock of a small file of its own next to the database for as long as it runs; the
 * operating system lets go of it when the process ends, however it ends. That tells the truth where process ids, which are reused and
 * differ between containers, and clocks, which jump, do not.
 */
import Sqlite from 'better-sqlite3'
import { existsSync, rmSync } from 'node:fs'
import type { Statement } from 'better-sqlite3'
import { sync } from './backup.ts'
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
  /** Whose files go once it is committed that nobody needs them. */
  #forgotten: Owner[] = []

  constructor(db: Connection, name: string) {
    this.#name = name
    this.#database = db.name
    // Locked before it is known to others: whoever finds the row finds the lock.
    prepareFile(this.#file(name))
    this.#lock = new Sqlite(this.#file(name), { timeout: 0 })
    this.#lock.exec('begin exclusive')
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

  committed(): void {
    if (this.#forgotten.length === 0) return
    // What a journal said must outlive the power before the journal goes.
    sync(`${this.#database}-wal`)
    for (const { name } of this.#forgotten) {
      rmSync(this.#file(name), { force: true })
      rmSync(journalOf(this.#database, name), { force: true })
    }
    this.#forgotten = []
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
