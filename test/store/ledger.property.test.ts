/**
 * Any history of one member on SQLite, whose server is killed now and then. `LEDGER_RUNS` sets how many (default 40), `LEDGER_SEED` repeats
 * them; seed and path are printed where one fails.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { SqliteStore } from '../../src/store/sqlite/open.ts'
import type { World } from './ledger-histories.ts'
import { historiesAgree } from './ledger-histories.ts'
import { folderOf, openAt } from './sqlite/support.ts'

const numRuns = Number(process.env['LEDGER_RUNS'] ?? 40)
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)

class SqliteWorld implements World {
  readonly #t: Test
  readonly #folder: string
  #crashes = 0
  store!: SqliteStore
  file = ''

  constructor(t: Test, folder: string) {
    this.#t = t
    this.#folder = folder
  }

  async open(): Promise<this> {
    this.file = join(this.#folder, 'store.db')
    this.store = await openAt(this.#t, this.file, { role: 'server' })
    return this
  }

  /** What kill -9 leaves: the files of this moment, and nobody who holds the old process's lock. */
  async crash(): Promise<boolean> {
    const folder = join(this.#folder, `crash${this.#crashes++}`)
    mkdirSync(folder)
    const after = join(folder, 'store.db')
    for (const end of ['', '-wal']) if (existsSync(this.file + end)) copyFileSync(this.file + end, after + end)
    const before = this.store
    this.file = after
    this.store = await openAt(this.#t, after, { role: 'server' })
    await before.close()
    return true
  }
}

historiesAgree(t, (t) => new SqliteWorld(t, folderOf(t)).open(), { numRuns, seed, crashesOneIn: 120 })
