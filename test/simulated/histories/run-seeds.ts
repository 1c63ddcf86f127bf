/** `npm run test:seeds -- COUNT [FIRST]` runs the histories of many seeds, and prints each one that fails. */
import { randomInt } from 'node:crypto'
import { runHistory } from './history.ts'

const [count = '1000', first = String(randomInt(2 ** 31))] = process.argv.slice(2)
const began = performance.now()
let failures = 0
for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
  const { events, faults } = await runHistory(seed)
  if (faults.length === 0) continue
  failures++
  console.log(`seed ${seed}\n${events.join('\n')}\n`)
}
const seconds = Math.round((performance.now() - began) / 1000)
console.log(`${count} seeds from ${first}: ${failures} failed, ${seconds} s`)
process.exitCode = failures === 0 ? 0 : 1
