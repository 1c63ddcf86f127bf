/**
 * Preloaded into a gateway by `bench/event-loop-stalls.ts`: records the longest CPU time of the main thread between two iterations of its
 * event loop. It polls without a pause from one SIGUSR2 to the next. The kernel counts such time in ticks of up to 4 ms.
 */
import { writeFileSync } from 'node:fs'

const file = process.env['ROUNDS_FILE'] ?? ''
let isActive = false
let maxUs = 0
let lastUs = 0

/** Microseconds. */
function readThreadCpuUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

function sampleRound(): void {
  const now = readThreadCpuUs()
  maxUs = Math.max(maxUs, now - lastUs)
  lastUs = now
  if (isActive) setImmediate(sampleRound)
}

process.on('SIGUSR2', () => {
  isActive = !isActive
  writeFileSync(file, String(maxUs / 1000))
  maxUs = 0
  lastUs = readThreadCpuUs()
  if (isActive) setImmediate(sampleRound)
})
