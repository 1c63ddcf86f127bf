/** Limits in constant memory: exact at the edge, fair over time, and forgotten when they no longer matter. */
import t from 'tap'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { rateHeaders } from '../../../src/access/limits/limits.ts'
import { RateLimiter } from '../../../src/access/limits/memory.ts'
import { ConcurrencyLimiter } from '../../../src/access/limits/running.ts'
import { letGo, limitMemory, SharedRateLimiter } from '../../../src/access/limits/shared.ts'
import { limitCases } from './limit-cases.ts'
import type { Work } from './limit-taker.ts'

const shared = new SharedRateLimiter(limitMemory([1, 2]), 1)
let made = 0

limitCases(t, 'one thread', () => new RateLimiter())
// Each has subjects of its own, in one memory.
limitCases(t, 'several threads', () => {
  const mine = `${++made} `
  return { take: (subject, perMinute, ticks) => shared.take(mine + subject, perMinute, ticks) }
})

t.test('who has not asked for a while needs no memory', async (t) => {
  const limiter = new RateLimiter()
  for (let i = 0; i < 10_000; i++) limiter.take(`address-${i}`, 300, 0)
  t.equal(limiter.size, 10_000)
  limiter.take('later', 300, 120_000)
  t.equal(limiter.size, 1)
})

t.test('turns at once are counted down to nothing', async (t) => {
  const limiter = new ConcurrencyLimiter()
  t.ok(limiter.enter('a', 2) && limiter.enter('a', 2))
  t.notOk(limiter.enter('a', 2))
  limiter.leave('a')
  t.ok(limiter.enter('a', 2))
  for (let i = 0; i < 5; i++) limiter.leave('a')
  t.equal(limiter.size, 0, 'to leave too often leaves no debt')
  t.ok(limiter.enter('a', 1))
})

t.test('both families of headers say the same', async (t) => {
  const limiter = new RateLimiter()
  t.same(rateHeaders('rpm', limiter.take('a', 60, 0)), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1.000s',
    'ratelimit-policy': '"rpm";q=60;w=60',
    ratelimit: '"rpm";r=59;t=1',
  })
})

t.test('threads that take at once get in together as many as the limit says', async (t) => {
  const perMinute = 700
  const asked: Work = { memory: limitMemory([3, 4]), started: new SharedArrayBuffer(4), threads: 3, perMinute, takes: 1_000 }
  const takers = [1, 2, 3].map(
    (thread) => new Worker(new URL('limit-taker.ts', import.meta.url), { workerData: { ...asked, thread } }),
  )
  const admitted = await Promise.all(takers.map(async (taker) => (await once(taker, 'message')) as [number]))
  t.equal(
    admitted.reduce((sum, [count]) => sum + count, 0),
    perMinute,
  )
})

t.test('a thread that ended in the middle of its work keeps nobody waiting', async (t) => {
  const memory = limitMemory([5, 6])
  new Int32Array(memory.locks).fill(7)
  letGo(memory, 7)
  t.ok(new SharedRateLimiter(memory, 1).take('a', 1, 1).allowed)
})

t.test('more subjects than there is room for push out who asked longest ago', async (t) => {
  const limiter = new SharedRateLimiter(limitMemory([7, 8]), 1)
  limiter.take('last', 1, 2_000)
  for (let i = 0; i < 300_000; i++) limiter.take(`address-${i}`, 1, 1_000)
  t.notOk(limiter.take('last', 1, 2_000).allowed)
})
