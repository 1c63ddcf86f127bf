/** Files, stores and other processes for the tests of this folder. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import Sqlite from 'better-sqlite3'
import type { Test } from 'tap'
import type { Database } from '../../../../src/store/database.ts'
import type { SqliteOptions, SqliteStore } from '../../../../src/store/sqlite/open.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/open.ts'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { noon } from '../contract/store-contract.ts'

export { createTemporaryFolder } from '../../temporary-folder.ts'

type OpenStore = SqliteStore & { readonly db: Database }

/** Opens the database at the file, or a copy of the template with its tables. */
export async function openStoreAt(t: Test, file: string, change: Partial<SqliteOptions> = {}): Promise<OpenStore> {
  const empty = await getTemplateDatabase()
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    copyFileSync(empty, file)
  }
  return openStoreAsIs(t, file, change)
}

/** Creates folder, file and tables if they are missing, as the first start does. */
export async function openStoreAsIs(t: Test, file: string, change: Partial<SqliteOptions> = {}): Promise<OpenStore> {
  const process_ = { id: `test-${Math.random().toString(36).slice(2)}`, pid: process.pid }
  const store = await openSqliteStore({ file, process: process_, clock: { now: () => noon }, ...change })
  t.teardown(() => store.close())
  return Object.assign(store, { db: store.database })
}

/** Opens the file with the driver, without the store. */
export function withRawDatabase<Result>(file: string, work: (db: Sqlite.Database) => Result): Result {
  const db = new Sqlite(file)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** Another process on the same file; see `worker-process.ts`. */
export class OtherProcess {
  readonly child: ChildProcess
  readonly lines: string[] = []
  #ended = false
  #wake: () => void = () => undefined

  constructor(t: Test, ...args: readonly string[]) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'worker-process.ts'), ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.child = child
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(line)
      this.#wake()
    })
    child.once('close', () => {
      this.#ended = true
      this.#wake()
    })
    t.teardown(() => this.kill())
  }

  /** Resolves with the first line after `from` that begins with the text. */
  async waitForLine(start: string, from = 0): Promise<string> {
    for (;;) {
      const found = this.lines.slice(from).find((line) => line.startsWith(start))
      if (found !== undefined) return found
      if (this.#ended) throw new Error(`the process ended without saying "${start}": ${this.lines.join(' | ')}`)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** Resolves when it has printed this many lines. */
  async waitForLineCount(count: number): Promise<void> {
    while (this.lines.length < count) {
      if (this.#ended) throw new Error(`the process ended after ${this.lines.length} lines`)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  send(line: string): void {
    this.child.stdin?.write(`${line}\n`)
  }

  async waitForExit(): Promise<number | null> {
    while (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.child.exitCode
  }

  async kill(): Promise<void> {
    if (this.#ended) return
    const closed = once(this.child, 'close')
    this.child.kill('SIGKILL')
    await closed
  }
}
