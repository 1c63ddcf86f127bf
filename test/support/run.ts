/**
 * `npm test`: every test file there is, in few processes, because loading what it tests costs a file more than its tests. `--unit` is for
 * those that start nothing. Files that are named run alone. What else is said is for tap.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { pureAmong } from './unit.ts'

const root = join(import.meta.dirname, '../..')

/** Files of one process, begun in this order: first what takes longest and waits most. A file is in the first that has it. */
const processes: readonly (readonly string[])[] = [
  ['test/journeys/cluster*'],
  ['test/journeys/website*', 'test/journeys/connect.*'],
  ['test/cli/workbench/**', 'test/cli/local/**'],
  ['test/journeys/{first-run,workers,one-server,drain,leaving}.*', 'test/launch.*'],
  ['test/journeys/{kill,owed,storage-faults,cli*}.*', 'test/cli/packaging.*'],
  ['test/journeys/**'],
  ['test/store/postgres/**', 'test/store/{postgres,ledgers-agree}.*'],
  ['test/store/sqlite/**'],
  ['test/operator/**', 'test/cli/**'],
  ['test/http/**'],
  ['test/pages/**'],
  ['test/store/**'],
  ['test/tools/**', 'test/plugins/**'],
  ['test/membership/**', 'test/upstream/**'],
  ['test/**'],
]

const words = process.argv.slice(2)
const options = words.filter((word) => word.startsWith('-') && word !== '--unit')
const files = words.filter((word) => !word.startsWith('-'))
const preload = JSON.stringify(`--import=${join(import.meta.dirname, 'quick-start.js')}`)
const tap = spawn('tap', [...options, ...(files.length > 0 ? files : filesOfProcesses())], {
  cwd: root,
  env: { ...process.env, NODE_OPTIONS: preload },
  stdio: 'inherit',
})
tap.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal))

/** Writes for each process the file that tap starts. tap goes through them in the order of their names. */
function filesOfProcesses(): string[] {
  const folder = join(root, '.tap/processes')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const all = globSync('test/**/*.test.ts', { cwd: root }).toSorted()
  let left = words.includes('--unit') ? pureAmong(all) : all
  return processes.flatMap((globs, index) => {
    const own = left.filter((file) => globs.some((glob) => matchesGlob(file, glob)))
    left = left.filter((file) => !own.includes(file))
    if (own.length === 0) return []
    const name = (globs[0] ?? '').replaceAll(/^test\/|\W+$/g, '').replaceAll(/\W+/g, '-')
    const file = join(folder, `${String(index + 1).padStart(2, '0')}-${name || 'others'}.test.ts`)
    const list = JSON.stringify(own, null, 2)
    writeFileSync(file, `import { together } from '../../test/support/together.ts'\n\nawait together(${list})\n`)
    return file
  })
}
