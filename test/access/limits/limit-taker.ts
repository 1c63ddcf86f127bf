/** A thread for `limits.test.ts`: takes as often as it is told, together with the others, and says how often it was let in. */
import { parentPort, workerData } from 'node:worker_threads'
import { SharedRateLimiter } from '../../../src/access/limits/shared.ts'
import type { LimitMemory } from '../../../src/access/limits/shared.ts'

export interface Work {
  readonly memory: LimitMemory
  /** How many threads are ready. */
  readonly started: SharedArrayBuffer
  readonly threads: number
  readonly perMinute: number
  readonly takes: number
}

const { memory, started, threads, perMinute, takes, thread } = workerData as Work & { readonly thread: number }
const limiter = new SharedRateLimiter(memory, thread)
const ready = new Int32Array(started)
for (let now = Atomics.add(ready, 0, 1) + 1; now < threads; now = Atomics.load(ready, 0)) Atomics.wait(ready, 0, now, 100)
Atomics.notify(ready, 0)

let admitted = 0
for (let i = 0; i < takes; i++) if (limiter.take('a', perMinute, 5_000).allowed) admitted++
parentPort?.postMessage(admitted)
