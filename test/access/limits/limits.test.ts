/** Limits in constant memory: exact at the edge, fair over time, and forgotten when they no longer matter. */
import t from 'tap'
import * as fc from 'fast-check'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { rateHeaders } from '../../../src/access/limits/limits.ts'
import type { OwnRateLimit } from '../../../src/access/limits/limits.ts'
import { RateLimiter } from '../../../src/access/limits/memory.ts'
import { ConcurrencyLimiter } from '../../../src/access/limits/running.ts'
import { letGo, limitMemory, SharedRateLimiter } from '../../../src/access/limits/shared.ts'
import type { Work } from './limit-taker.ts'

const memory = limitMemory([1, 2])
const shared = new SharedRateLimiter(memory, 1)
let made = 0

/** Both count alike; of the shared one each has subjects of its own, in one memory. */
const kinds: Readonly<Record<string, () => OwnRateLimit>> = {
  'one thread': () => new RateLimiter(),
  'several threads': () => {
    const mine = `${++made} `
    return { take: (subject, perMinute, ticks) => shared.take(mine + subject, perMinute, ticks) }
  },
}

for (const [kind, make] of Object.entries(kinds)) {
  t.test(`${kind}: a minute may be spent at once, and comes back evenly`, async (t) => {
    const limiter = make()
    for (let i = 0; i < 60; i++) t.ok(limiter.take('a', 60, 0).allowed)
    const refused = limiter.take('a', 60, 0)
    t.notOk(refused.allowed)
    t.equal(refused.retryAfterMs, 1_000)
    t.notOk(limiter.take('a', 60, 999).allowed)
    t.ok(limiter.take('a', 60, 1_000).allowed)
    t.notOk(limiter.take('a', 60, 1_000).allowed)
    t.ok(limiter.take('b', 60, 0).allowed, 'each subject has its own')
  })

  t.test(`${kind}: over any stretch of time no more get in than the limit says`, async (t) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 300 }),
        (perMinute, gaps) => {
          const limiter = make()
          const admitted: number[] = []
          let now = 1_000_000
          for (const gap of gaps) {
            now += gap
            const decision = limiter.take('a', perMinute, now)
            if (decision.allowed) admitted.push(now)
            if (decision.remaining < 0 || decision.remaining > perMinute || decision.retryAfterMs < 0 || decision.resetMs < 0)
              throw new Error(JSON.stringify(decision))
          }
          for (const [i, from] of admitted.entries()) {
            const within = admitted.slice(i).filter((at) => at < from + 60_000).length
            if (within > 2 * perMinute) throw new Error(`${within} within a minute of ${from}`)
          }
          const whole = (admitted.at(-1) ?? 0) - (admitted[0] ?? 0)
          if (admitted.length > perMinute + (whole / 60_000) * perMinute + 1) throw new Error(`${admitted.length} in ${whole} ms`)
        },
      ),
      { numRuns: 200 },
    )
    t.pass()
  })

  t.test(`${kind}: a refusal costs nothing: asking again does not put the end off`, async (t) => {
    const limiter = make()
    limiter.take('a', 1, 0)
    for (let now = 0; now < 60_000; now += 1_000) t.notOk(limiter.take('a', 1, now).allowed)
    t.ok(limiter.take('a', 1, 60_000).allowed)
  })

  t.test(
    `${kind}: every limit admits exactly itself at once, and exactly itself a minute after, at any fraction of a tick`,
    async (t) => {
      const wrong: string[] = []
      for (let perMinute = 1; perMinute <= 1_000; perMinute++) {
        const limiter = make()
        // Clocks have fractions; a start that is no whole millisecond must not cost anybody a request.
        for (const at of [1_234.567_8, 61_234.567_8]) {
          let admitted = 0
          while (admitted <= perMinute && limiter.take('a', perMinute, at).allowed) admitted++
          if (admitted !== perMinute) wrong.push(`${perMinute}: ${admitted} at ${at}`)
        }
      }
      t.same(wrong, [])
    },
  )

  t.test(`${kind}: who waits as long as he is told gets in, and a moment before he does not`, async (t) => {
    for (const perMinute of [1, 7, 11, 59, 60, 61, 300, 997]) {
      const limiter = make()
      for (let i = 0; i < perMinute; i++) limiter.take('a', perMinute, 500)
      const { retryAfterMs } = limiter.take('a', perMinute, 500)
      t.notOk(limiter.take('a', perMinute, 500 + retryAfterMs - 1).allowed, `${perMinute} a minute: too early`)
      t.ok(limiter.take('a', perMinute, 500 + retryAfterMs).allowed, `${perMinute} a minute: in time`)
    }
  })

  t.test(`${kind}: another plan counts what was used under the one before`, async (t) => {
    const limiter = make()
    for (let i = 0; i < 10; i++) limiter.take('a', 10, 0)
    t.notOk(limiter.take('a', 10, 0).allowed)
    t.equal(limiter.take('a', 60, 0).remaining, 49, 'ten of sixty are used')
    const smaller = limiter.take('a', 5, 0)
    t.notOk(smaller.allowed)
    t.equal(smaller.resetMs, 60_000, 'never more than a minute')
  })
}

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
