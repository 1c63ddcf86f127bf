/**
 * Preloaded into a gateway: records the longest CPU time of a serving thread between two iterations of its event loop. It polls without a
 * pause from one SIGUSR2 to the next, and then writes the longest of all serving threads. The kernel counts such time in ticks of up to 4 ms.
 */
import { writeFileSync } from 'node:fs'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

const file = process.env['ROUNDS_FILE'] ?? ''
const channel = new BroadcastChannel('stall-probe')
channel.unref()

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

/** Starts or stops sampling; returns the longest round since the last call. */
function toggle(): number {
  isActive = !isActive
  const longestUs = maxUs
  maxUs = 0
  lastUs = readThreadCpuUs()
  if (isActive) setImmediate(sampleRound)
  return longestUs
}

function onMessage(receive: (data: unknown) => void): void {
  channel.addEventListener('message', (event) => receive((event as MessageEvent).data))
}

if (isMainThread) {
  let workerCount = 0
  let longestUs = 0
  let awaitedCount = 0
  const writeIfComplete = (): void => {
    if (awaitedCount === 0) writeFileSync(file, String(longestUs / 1000))
  }
  onMessage((data) => {
    if (data === 'joined') workerCount++
    if (typeof data !== 'number') return
    awaitedCount--
    longestUs = Math.max(longestUs, data)
    writeIfComplete()
  })
  process.on('SIGUSR2', () => {
    longestUs = toggle()
    awaitedCount = workerCount
    channel.postMessage('toggle')
    writeIfComplete()
  })
} else if (/worker-thread\.[jt]s$/.test(process.argv[1] ?? '')) {
  onMessage((data) => {
    if (data === 'toggle') channel.postMessage(toggle())
  })
  channel.postMessage('joined')
}
