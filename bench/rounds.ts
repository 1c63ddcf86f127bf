/**
 * Preloaded into a gateway by `bench/stretch.ts`: the longest time from one round of the main thread's loop to the next. It is looked at
 * without a pause from one SIGUSR2 to the next.
 */
import { writeFileSync } from 'node:fs'

const file = process.env['ROUNDS_FILE'] ?? ''
let looking = false
let most = 0
let last = 0

function round(): void {
  const now = performance.now()
  most = Math.max(most, now - last)
  last = now
  if (looking) setImmediate(round)
}

process.on('SIGUSR2', () => {
  looking = !looking
  writeFileSync(file, String(most))
  most = 0
  last = performance.now()
  if (looking) setImmediate(round)
})
