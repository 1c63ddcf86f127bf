/**
 * Preloaded into a gateway by `bench/stretch.ts`: the most that the main thread has of the processor from one round of its loop to the
 * next. It is looked at without a pause from one SIGUSR2 to the next. The kernel counts such time in ticks, of up to 4 ms.
 */
import { writeFileSync } from 'node:fs'

const file = process.env['ROUNDS_FILE'] ?? ''
let looking = false
let most = 0
let last = 0

/** Microseconds. */
function used(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

function round(): void {
  const now = used()
  most = Math.max(most, now - last)
  last = now
  if (looking) setImmediate(round)
}

process.on('SIGUSR2', () => {
  looking = !looking
  writeFileSync(file, String(most / 1000))
  most = 0
  last = used()
  if (looking) setImmediate(round)
})
