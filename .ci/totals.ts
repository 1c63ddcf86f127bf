// Reads tap's totals (`# { total: 12, pass: 11, fail: 1 }`) from a run's output and prints them as one plain line.
import { readFileSync } from 'node:fs'

const [file = ''] = process.argv.slice(2)
const totals = readFileSync(file, 'utf8')
  .split('\n')
  .findLast((line) => line.startsWith('# { total:'))
const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(totals ?? '')?.[1] ?? 0)
const skipped = count('skip') + count('todo')
process.stdout.write(`${count('pass')} passed, ${count('fail')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
if (totals === undefined || count('pass') === 0) process.exitCode = 1
