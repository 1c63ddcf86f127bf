/** The plan's requests per minute and its concurrent turns. */
import t from 'tap'
import { rateLimit } from '../../../plugins/rate-limit.ts'
import type { GatewayError } from '../../../src/errors.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import { createLocalLimits } from '../../../src/access/limits/memory.ts'
import { createTestExchange, createTestServices } from '../../support/gateway/test-exchange.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

function asking(kind: 'turn' | 'unmetered', plan: { rpm: number; concurrency: number }) {
  const caller = { account: { id: 'acc_1' }, plan, credential: 'key' } as unknown as Slots['caller']
  return Object.assign(createTestExchange({ kind }), { caller }) as Exchange & {
    caller: Slots['caller']
    admission: Slots['admission']
  }
}

function refused(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    return error as GatewayError
  }
  throw new Error('it was let in')
}

t.test('allows a minute of requests at once, then refills evenly', async (t) => {
  const limits = createLocalLimits()
  const { services, clock } = createTestServices({ limits })
  const take = () => {
    const x = asking('unmetered', { rpm: 3, concurrency: 1 })
    rateLimit.onRequest?.(x, services)
    return x.headers
  }
  t.match(take(), {
    'x-ratelimit-limit-requests': '3',
    'x-ratelimit-remaining-requests': '2',
    ratelimit: '"rpm";r=2;t=20',
    'ratelimit-policy': '"rpm";q=3;w=60',
  })
  take()
  take()
  const failure = refused(take)
  t.equal(failure.code, 'rate_limited')
  t.equal(failure.details.retryAfter, 20)
  clock.time += 19_999
  t.equal(refused(take).code, 'rate_limited')
  clock.time += 1
  t.doesNotThrow(take)
})

t.test('admits or rejects a request when the shared store has decided', async (t) => {
  const counted = createLocalLimits()
  const byAccount = {
    consume: async (...input: Parameters<typeof counted.byAccount.consume>) => counted.byAccount.consume(...input),
  }
  const { services } = createTestServices({ limits: { ...counted, byAccount } })
  const plan = { rpm: 1, concurrency: 1 }
  const first = asking('turn', plan)
  const heard = rateLimit.onRequest?.(first, services)
  t.equal(counted.concurrency.size, 0, 'no turn runs before the decision')
  await heard
  t.equal(first.headers['x-ratelimit-remaining-requests'], '0')
  t.equal(counted.concurrency.size, 1)
  const second = asking('turn', plan)
  await t.rejects(async () => rateLimit.onRequest?.(second, services), { code: 'rate_limited', details: { retryAfter: 60 } })
  t.equal(second.headers['x-ratelimit-remaining-requests'], '0')
})

t.test('grants nothing for a step of the wall clock in either direction', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits() })
  const clock = new SimulatedClock()
  const stepping = { ...services, clock }
  const take = () => rateLimit.onRequest?.(asking('unmetered', { rpm: 2, concurrency: 1 }), stepping)
  take()
  take()
  for (const step of [-1, 120_000, -3_600_000]) {
    clock.setNow(clock.now() + step)
    t.equal(refused(take).code, 'rate_limited', `${step} ms`)
  }
})

t.test('tells SDKs not to retry when the wait is longer than they keep', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits() })
  const take = () => rateLimit.onRequest?.(asking('unmetered', { rpm: 1, concurrency: 1 }), services)
  take()
  t.equal(refused(take).details.shouldRetry, undefined, 'sixty seconds are kept')
})

t.test('counts concurrent turns and releases each slot at any end', async (t) => {
  const limits = createLocalLimits()
  const { services } = createTestServices({ limits })
  const plan = { rpm: 100, concurrency: 2 }
  const enter = () => {
    const x = asking('turn', plan)
    rateLimit.onRequest?.(x, services)
    return x
  }
  const [first, second] = [enter(), enter()]
  const failure = refused(enter)
  t.equal(failure.code, 'rate_limited')
  t.equal(failure.details.retryAfter, 1)
  t.match(failure.message, /2 requests at once/)
  void rateLimit.onSettle?.(first, { kind: 'failed', failure, streamed: false }, services)
  const third = enter()
  void rateLimit.onSettle?.(second, { kind: 'aborted', usage: { inputTokens: 0, outputTokens: 0, estimated: true } }, services)
  void rateLimit.onSettle?.(third, { kind: 'completed', usage: { inputTokens: 0, outputTokens: 0, estimated: true } }, services)
  t.equal(limits.concurrency.size, 0)
})

t.test('does not count unmetered requests among the turns', async (t) => {
  const limits = createLocalLimits()
  const { services } = createTestServices({ limits })
  for (let i = 0; i < 5; i++) rateLimit.onRequest?.(asking('unmetered', { rpm: 100, concurrency: 1 }), services)
  t.equal(limits.concurrency.size, 0)
})

t.test('does not count a request that was refused for running turns', async (t) => {
  const limits = createLocalLimits()
  const { services } = createTestServices({ limits })
  const plan = { rpm: 3, concurrency: 1 }
  const enter = () => rateLimit.onRequest?.(asking('turn', plan), services)
  const running = asking('turn', plan)
  rateLimit.onRequest?.(running, services)
  for (let i = 0; i < 8; i++) t.match(refused(enter).message, /1 requests at once/)
  running.admission.release()
  t.doesNotThrow(enter, 'the second request of the minute')
})

t.test('spreads the times of refused clients, none before there is room', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits() })
  const take = () => rateLimit.onRequest?.(asking('unmetered', { rpm: 30, concurrency: 1 }), services)
  for (let i = 0; i < 30; i++) take()
  t.same(
    Array.from({ length: 4 }, () => refused(take).details.retryAfter),
    [2, 4, 6, 8],
    'one for each request that the minute pays back',
  )
  const many = Array.from({ length: 60 }, () => Number(refused(take).details.retryAfter))
  t.ok(
    many.every((seconds) => seconds >= 2 && seconds <= 60),
    'SDKs keep to a minute at most',
  )
  const fresh = createTestServices({ limits: createLocalLimits() })
  const busy = () => rateLimit.onRequest?.(asking('turn', { rpm: 1_000, concurrency: 2 }), fresh.services)
  busy()
  busy()
  t.same(
    [refused(busy), refused(busy), refused(busy)].map(({ details }) => details.retryAfter),
    [1, 2, 3],
  )
})

t.test('lets turns wait for a slot in order, as many as may run', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits({ maxWaitMs: 5_000 }) })
  const plan = { rpm: 100, concurrency: 2 }
  const order: string[] = []
  const enter = (name: string) => {
    const x = asking('turn', plan)
    const entered = Promise.resolve(rateLimit.onRequest?.(x, services)).then(() => void order.push(name))
    return { x, entered }
  }
  const [a, b, c, d] = [enter('a'), enter('b'), enter('c'), enter('d')]
  await Promise.all([a.entered, b.entered])
  await t.rejects(enter('e').entered, { code: 'rate_limited' }, 'two wait already')
  a.x.admission.release()
  b.x.admission.release()
  await Promise.all([c.entered, d.entered])
  t.same(order, ['a', 'b', 'c', 'd'])
  c.x.admission.release()
  d.x.admission.release()
  t.equal(services.limits.concurrency.size, 0)
})

t.test('ends the wait of a client that disconnects, and refuses after the configured time', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits({ maxWaitMs: 50 }) })
  const plan = { rpm: 100, concurrency: 1 }
  const running = asking('turn', plan)
  rateLimit.onRequest?.(running, services)
  const listeners: (() => void)[] = []
  const leaving = asking('turn', plan)
  Object.assign(leaving, { inbound: { ...leaving.inbound, onDisconnect: (listener: () => void) => listeners.push(listener) } })
  const wait = Promise.resolve(rateLimit.onRequest?.(leaving, services))
  listeners[0]?.()
  await t.rejects(wait, { message: 'the client disconnected' })
  await t.rejects(Promise.resolve(rateLimit.onRequest?.(asking('turn', plan), services)), { code: 'rate_limited' })
  running.admission.release()
  t.equal(services.limits.concurrency.size, 0, 'no slot is lost')
})

function counting(plan: { rpm: number; concurrency: number }) {
  const x = asking('unmetered', plan)
  return Object.assign(x, { inbound: { ...x.inbound, path: '/v1/messages/count_tokens' } })
}

t.test('counts token counts apart from requests, four times as many a minute', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits() })
  const plan = { rpm: 50, concurrency: 1 }
  const count = () => {
    const x = counting(plan)
    void rateLimit.onRequest?.(x, services)
    x.admission.release()
    return x
  }
  for (let i = 0; i < 200; i++) t.equal(count().headers['x-ratelimit-remaining-requests'], undefined)
  t.equal(refused(count).code, 'rate_limited')
  const request = asking('unmetered', plan)
  rateLimit.onRequest?.(request, services)
  t.equal(request.headers['x-ratelimit-remaining-requests'], '49', 'none of the plan is used')
})

t.test('runs four token counts of an account at once, beside its turns', async (t) => {
  const { services } = createTestServices({ limits: createLocalLimits() })
  const plan = { rpm: 100, concurrency: 1 }
  const counts = Array.from({ length: 4 }, () => counting(plan))
  for (const x of counts) rateLimit.onRequest?.(x, services)
  await t.rejects(Promise.resolve(rateLimit.onRequest?.(counting(plan), services)), {
    code: 'rate_limited',
    details: { retryAfter: 1 },
  })
  t.doesNotThrow(() => rateLimit.onRequest?.(asking('turn', plan), services))
  counts[0]?.admission.release()
  t.doesNotThrow(() => rateLimit.onRequest?.(counting(plan), services))
})
