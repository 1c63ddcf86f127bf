/**
 * Random histories of one member on SQLite, whose server is killed now and then. `LEDGER_RUNS` sets their number (default 40), `LEDGER_SEED` repeats
 * them; a failure prints seed and path.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { SqliteStore } from '../../../../src/store/sqlite/open.ts'
import type { LedgerWorld } from '../ledger/ledger-histories.ts'
import { testHistoriesAgree } from '../ledger/ledger-histories.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'

const numRuns = Number(process.env['LEDGER_RUNS'] ?? 40)
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)

class SqliteWorld implements LedgerWorld {
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
    this.store = await openStoreAt(this.#t, this.file, { role: 'server' })
    return this
  }

  /** The state after kill -9: the files of this moment, and no lock of the old process. */
  async crash(): Promise<boolean> {
    const folder = join(this.#folder, `crash${this.#crashes++}`)
    mkdirSync(folder)
    const after = join(folder, 'store.db')
    for (const end of ['', '-wal']) if (existsSync(this.file + end)) copyFileSync(this.file + end, after + end)
    const before = this.store
    this.file = after
    this.store = await openStoreAt(this.#t, after, { role: 'server' })
    await before.close()
    return true
  }
}

testHistoriesAgree(t, (t) => new SqliteWorld(t, createTemporaryFolder(t)).open(), { numRuns, seed, commandsPerCrash: 120 })
