/**
 * `npm test`: runs every test file, a few processes at once. `--part=rules`, `simulated` or `system` runs the files of that folder. Named
 * files run alone. Other options are passed to tap.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { writeProcessFiles } from './process-files.ts'

const root = join(import.meta.dirname, '../..')
const args = process.argv.slice(2)
const parts = args.flatMap((word) => /^--part=(\w+)$/.exec(word)?.[1] ?? [])
const options = args.filter((word) => word.startsWith('-') && !word.startsWith('--part='))
const files = args.filter((word) => !word.startsWith('-'))
const preload = JSON.stringify(`--import=${join(import.meta.dirname, 'preload.js')}`)
const tap = spawn('tap', [...options, ...(files.length > 0 ? files : writeProcessFiles(listFiles()))], {
  cwd: root,
  env: { ...process.env, NODE_OPTIONS: preload },
  stdio: 'inherit',
})
tap.on('exit', (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 1
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal))

function listFiles(): string[] {
  const globs = parts.length === 0 ? ['test/**/*.test.ts'] : parts.map((part) => `test/${part}/**/*.test.ts`)
  return globSync(globs, { cwd: root }).toSorted()
}
