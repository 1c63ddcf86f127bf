// Reads tap's totals (`# { total: 12, pass: 11, fail: 1 }`) from a run's output and prints them as one plain line. Where failed files
// were run again, alone, the second file's failures stand for the first's.
import { readFileSync } from 'node:fs'

const [whole = '', again = ''] = process.argv.slice(2)
const totals = totalsOf(whole)
const repeated = totalsOf(again)
const skipped = count(totals, 'skip') + count(totals, 'todo')
const failed = count(repeated ?? totals, 'fail')
process.stdout.write(`${count(totals, 'pass')} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
if (totals === undefined || count(totals, 'pass') === 0 || failed > 0) process.exitCode = 1

function totalsOf(file: string): string | undefined {
  return readFileSync(file, 'utf8')
    .split('\n')
    .findLast((line) => line.startsWith('# { total:'))
}

function count(line: string | undefined, name: string): number {
  return Number(new RegExp(`\\b${name}: (\\d+)`).exec(line ?? '')?.[1] ?? 0)
}
