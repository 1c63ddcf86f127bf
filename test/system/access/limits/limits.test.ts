/** Limits in constant memory: exact at the edge, fair over time, and freed when idle. */
import t from 'tap'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { toRateLimitHeaders } from '../../../../src/access/limits/limits.ts'
import { MemoryRateLimit } from '../../../../src/access/limits/memory.ts'
import { releaseLocks, createLimitMemory, SharedMemoryRateLimit } from '../../../../src/access/limits/shared-memory.ts'
import { testRateLimitContract } from './rate-limit-contract.ts'
import type { TakerWork } from './rate-limit-thread.ts'

const shared = new SharedMemoryRateLimit(createLimitMemory([1, 2]), 1)
let made = 0

testRateLimitContract(t, 'one thread', () => new MemoryRateLimit())
// Each instance has its own subjects in one shared memory.
testRateLimitContract(t, 'several threads', () => {
  const mine = `${++made} `
  return {
    consume: (subject, perMinute, ticks) => shared.consume(mine + subject, perMinute, ticks),
    restore: (subject, perMinute, ticks) => shared.restore(mine + subject, perMinute, ticks),
  }
})

t.test('frees the memory of idle subjects', async (t) => {
  const limiter = new MemoryRateLimit()
  for (let i = 0; i < 10_000; i++) limiter.consume(`address-${i}`, 300, 0)
  t.equal(limiter.size, 10_000)
  limiter.consume('later', 300, 120_000)
  t.equal(limiter.size, 1)
})

t.test('both header families carry the same values', async (t) => {
  const limiter = new MemoryRateLimit()
  t.same(toRateLimitHeaders('rpm', limiter.consume('a', 60, 0)), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1.000s',
    'ratelimit-policy': '"rpm";q=60;w=60',
    ratelimit: '"rpm";r=59;t=1',
  })
})

t.test('threads together admit exactly the limit', async (t) => {
  const perMinute = 700
  const work: TakerWork = {
    memory: createLimitMemory([3, 4]),
    started: new SharedArrayBuffer(4),
    threads: 3,
    perMinute,
    requests: 1_000,
  }
  const takers = [1, 2, 3].map(
    (thread) => new Worker(new URL('./rate-limit-thread.ts', import.meta.url), { workerData: { ...work, thread } }),
  )
  const admitted = await Promise.all(takers.map(async (taker) => (await once(taker, 'message')) as [number]))
  t.equal(
    admitted.reduce((sum, [count]) => sum + count, 0),
    perMinute,
  )
})

t.test('releases the locks of a thread that ended while it held them', async (t) => {
  const memory = createLimitMemory([5, 6])
  new Int32Array(memory.locks).fill(7)
  releaseLocks(memory, 7)
  t.ok(new SharedMemoryRateLimit(memory, 1).consume('a', 1, 1).allowed)
})

t.test('replaces the least recently used subject when the memory is full', async (t) => {
  const limiter = new SharedMemoryRateLimit(createLimitMemory([7, 8]), 1)
  limiter.consume('last', 1, 2_000)
  for (let i = 0; i < 300_000; i++) limiter.consume(`address-${i}`, 1, 1_000)
  t.notOk(limiter.consume('last', 1, 2_000).allowed)
})
