/** The concurrent turns of each account; `test/system/plugins/rate-limit.test.ts` has the wait for a slot. */
import t from 'tap'
import { ConcurrencyLimiter } from '../../../../src/access/limits/concurrency-limiter.ts'

t.test('counts concurrent turns down to zero', async (t) => {
  const limiter = new ConcurrencyLimiter()
  t.ok(limiter.acquire('a', 2) && limiter.acquire('a', 2))
  t.notOk(limiter.acquire('a', 2))
  limiter.release('a')
  t.ok(limiter.acquire('a', 2))
  for (let i = 0; i < 5; i++) limiter.release('a')
  t.equal(limiter.size, 0, 'an extra release creates no negative count')
  t.ok(limiter.acquire('a', 1))
})
