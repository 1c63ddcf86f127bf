/** Slots of a target that accepts only so many concurrent calls. */
import t from 'tap'
import { UpstreamConcurrencyLimiter } from '../../../../src/upstream/target/concurrency-limiter.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

const ignore = (): void => undefined
const clock = new SimulatedClock()

t.test('grants slots in order and returns them', async (t) => {
  const limiter = new UpstreamConcurrencyLimiter({ slots: 2, maxPending: 2, maxPendingMs: 10_000 })
  t.same([limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire()], [true, true, false])
  const order: string[] = []
  const first = limiter.acquire(clock, ignore).then((isIn) => order.push(`first ${isIn}`))
  const second = limiter.acquire(clock, ignore).then((isIn) => order.push(`second ${isIn}`))
  t.equal(await limiter.acquire(clock, ignore), false, 'the queue is bounded')
  t.equal(limiter.pending, 2)
  limiter.release()
  t.notOk(limiter.tryAcquire(), 'no call overtakes another')
  limiter.release()
  await Promise.all([first, second])
  t.same(order, ['first true', 'second true'])
  t.match(limiter, { running: 2, pending: 0 })
  limiter.release()
  limiter.release()
  t.match(limiter, { running: 0, pending: 0 })
})

t.test('skips a call that has timed out or was cancelled', async (t) => {
  const limiter = new UpstreamConcurrencyLimiter({ slots: 1, maxPending: 5, maxPendingMs: 20 })
  limiter.tryAcquire()
  const late = limiter.acquire(clock, ignore)
  clock.advance(20)
  t.equal(await late, false, 'the time is up')
  let cancel = ignore
  const cancelled = limiter.acquire(clock, (onCancel) => (cancel = onCancel))
  const queued = limiter.acquire(clock, ignore)
  cancel()
  t.equal(await cancelled, false)
  limiter.release()
  t.equal(await queued, true)
  t.match(limiter, { running: 1, pending: 0 })
  cancel()
  t.match(limiter, { running: 1, pending: 0 }, 'cancelling twice changes nothing')
})

t.test('counts running calls on under other bounds', async (t) => {
  const limiter = new UpstreamConcurrencyLimiter({ slots: 1, maxPending: 5, maxPendingMs: 10_000 })
  limiter.tryAcquire()
  const queued = [limiter.acquire(clock, ignore), limiter.acquire(clock, ignore), limiter.acquire(clock, ignore)]
  limiter.configure({ slots: 3, maxPending: 1, maxPendingMs: 10_000 })
  t.same(await Promise.all(queued.slice(0, 2)), [true, true], 'the new slots go to the first in the queue')
  t.match(limiter, { running: 3, pending: 1 })
  limiter.configure({ slots: 1, maxPending: 1, maxPendingMs: 10_000 })
  limiter.release()
  limiter.release()
  t.match(limiter, { running: 1, pending: 1 }, 'no call takes a slot that is no longer there')
  t.equal(await limiter.acquire(clock, ignore), false, 'the queue has its new bound')
  limiter.release()
  t.equal(await queued[2], true)
  t.match(limiter, { running: 1, pending: 0 })
})
