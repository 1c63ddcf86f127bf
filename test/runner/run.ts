/**
 * `npm test`: runs every test file in a few processes, because loading the code under test costs a file more than its tests. `--unit` runs
 * the files that start nothing. Named files run alone. Other options are passed to tap.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { selectUnitFiles } from './unit-files.ts'

const root = join(import.meta.dirname, '../..')

/** Files of one process, begun in this order: first what takes longest and waits most. A file is in the first that has it. */
const processGroups: readonly (readonly string[])[] = [
  ['test/system/e2e/cluster/**'],
  ['test/system/clients/**'],
  ['test/system/proxies/{turns,client-address,doctor-from}.*'],
  ['test/system/proxies/{large-refusals,pgbouncer,unavailable-node}.*'],
  ['test/system/e2e/website/{firefox,webkit}-journeys.*'],
  ['test/system/e2e/website/**'],
  ['test/system/cli/workbench/**', 'test/cli/workbench-commands/**'],
  [
    'test/system/e2e/server/{first-run,workers,server-lock,graceful-shutdown}.*',
    'test/e2e/api/client-disconnect.*',
    'test/launch.*',
  ],
  ['test/system/e2e/server/{crash-recovery,settlement-retry,storage-faults}.*', 'test/system/e2e/cli/**', 'test/cli/packaging.*'],
  ['test/system/e2e/**'],
  ['test/server/**', 'test/access/**', 'test/mail/**', 'test/system/examples/**'],
  ['test/store/postgres/**', 'test/store/{postgres,ledgers-agree}.*'],
  ['test/store/sqlite/**'],
  ['test/operator/**', 'test/cli/**'],
  ['test/http/**'],
  ['test/pages/**'],
  ['test/store/**'],
  ['test/tools/**', 'test/plugins/**'],
  ['test/domain/**', 'test/upstream/**'],
  // Its nodes refuse turns when the machine leaves them without processor or disk for three seconds; at the end less runs beside it.
  ['test/proxies/rolling-restart.*'],
  ['test/**'],
]
const args = process.argv.slice(2)
const options = args.filter((word) => word.startsWith('-') && word !== '--unit')
const files = args.filter((word) => !word.startsWith('-'))
const preload = JSON.stringify(`--import=${join(import.meta.dirname, 'preload.js')}`)
const tap = spawn('tap', [...options, ...(files.length > 0 ? files : writeProcessFiles())], {
  cwd: root,
  env: { ...process.env, NODE_OPTIONS: preload },
  stdio: 'inherit',
})
tap.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal))

/** Writes one file for tap to start per process. tap starts them in the order of their names. */
function writeProcessFiles(): string[] {
  const folder = join(root, '.tap/processes')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const all = globSync('test/**/*.test.ts', { cwd: root }).toSorted()
  let remaining = args.includes('--unit') ? selectUnitFiles(all) : all
  return processGroups.flatMap((globs, index) => {
    const groupFiles = remaining.filter((file) => globs.some((glob) => matchesGlob(file, glob)))
    remaining = remaining.filter((file) => !groupFiles.includes(file))
    if (groupFiles.length === 0) return []
    const name = (globs[0] ?? '').replaceAll(/^test\/|\W+$/g, '').replaceAll(/\W+/g, '-')
    const file = join(folder, `${String(index + 1).padStart(2, '0')}-${name || 'others'}.test.ts`)
    const list = JSON.stringify(groupFiles, null, 2)
    writeFileSync(file, `import { runFiles } from './run-files.ts'\n\nawait runFiles(${list})\n`)
    return file
  })
}
