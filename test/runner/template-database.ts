/**
 * A database with empty tables, created once for a tree of sources and copied from then on: creating the tables is half the cost of a
 * gateway's start. The first start has tests of its own.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { systemClock } from '../../src/system/clock.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, '.tap')

let template: Promise<string> | undefined

/** Returns the path of the template. The sources are read once per process. */
export function getTemplateDatabase(): Promise<string> {
  return (template ??= createTemplate())
}

async function createTemplate(): Promise<string> {
  const file = join(folder, `empty-${hashStoreSources()}.db`)
  if (existsSync(file)) return file
  mkdirSync(folder, { recursive: true })
  const draft = mkdtempSync(join(folder, 'empty-'))
  const database = join(draft, 'gateway.db')
  const store = await openSqliteStore({
    file: database,
    process: { id: randomUUID(), pid: process.pid },
    clock: systemClock,
  })
  await store.close()
  // A concurrent process creates the same file.
  renameSync(database, file)
  rmSync(draft, { recursive: true })
  return file
}

/** Hash of all sources that define the tables. */
function hashStoreSources(): string {
  const hash = createHash('sha256')
  for (const path of globSync('src/store/**/*.ts', { cwd: root }).toSorted())
    hash.update(path).update(readFileSync(join(root, path)))
  return hash.digest('hex').slice(0, 16)
}
