/**
 * A database with its tables and nothing in them, made once for a tree of sources and copied from then on: making the tables is half of
 * what a gateway's start costs. A first start has tests of its own.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { systemClock } from '../../src/system/clock.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, '.tap')

let made: Promise<string> | undefined

/** Where it is. The sources are read once for a process. */
export function emptyDatabase(): Promise<string> {
  return (made ??= make())
}

async function make(): Promise<string> {
  const file = join(folder, `empty-${fingerprint()}.db`)
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
  // Whoever makes it at the same time makes the same.
  renameSync(database, file)
  rmSync(draft, { recursive: true })
  return file
}

/** Of all that has a say in what the tables are. */
function fingerprint(): string {
  const hash = createHash('sha256')
  for (const path of globSync('src/store/**/*.ts', { cwd: root }).toSorted())
    hash.update(path).update(readFileSync(join(root, path)))
  return hash.digest('hex').slice(0, 16)
}
