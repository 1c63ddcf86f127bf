/** A thread for `limits.test.ts`: sends requests together with the other threads and reports how many were admitted. */
import { parentPort, workerData } from 'node:worker_threads'
import { SharedMemoryRateLimit } from '../../../../src/access/limits/shared-memory.ts'
import type { LimitMemory } from '../../../../src/access/limits/shared-memory.ts'

export interface TakerWork {
  readonly memory: LimitMemory
  /** Number of threads that are ready. */
  readonly started: SharedArrayBuffer
  readonly threads: number
  readonly perMinute: number
  readonly requests: number
}

const { memory, started, threads, perMinute, requests, thread } = workerData as TakerWork & { readonly thread: number }
const limiter = new SharedMemoryRateLimit(memory, thread)
const ready = new Int32Array(started)
for (let now = Atomics.add(ready, 0, 1) + 1; now < threads; now = Atomics.load(ready, 0)) Atomics.wait(ready, 0, now, 100)
Atomics.notify(ready, 0)

let admitted = 0
for (let i = 0; i < requests; i++) if (limiter.consume('a', perMinute, 5_000).allowed) admitted++
parentPort?.postMessage(admitted)
