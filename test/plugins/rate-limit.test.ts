/** The plan's requests a minute and its turns at once. */
import t from 'tap'
import { rateLimit } from '../../plugins/rate-limit.ts'
import type { GatewayError } from '../../src/errors.ts'
import type { Exchange, Slots } from '../../src/exchange/exchange.ts'
import { createLimits } from '../../src/access/limits/memory.ts'
import { anExchange, fewServices } from '../support/exchange.ts'

function asking(kind: 'turn' | 'query', plan: { rpm: number; concurrency: number }) {
  const caller = { account: { id: 'acc_1' }, plan, credential: 'key' } as unknown as Slots['caller']
  return Object.assign(anExchange({ kind }), { caller }) as Exchange & { caller: Slots['caller']; admission: Slots['admission'] }
}

function refused(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    return error as GatewayError
  }
  throw new Error('it was let in')
}

t.test('a minute of requests may be spent at once, then they come back evenly', async (t) => {
  const limits = createLimits()
  const { services, clock } = fewServices({ limits })
  const take = () => {
    const x = asking('query', { rpm: 3, concurrency: 1 })
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

t.test('where somebody else counts, a request is let in or refused when the word is there', async (t) => {
  const counted = createLimits()
  const byAccount = { take: async (...asked: Parameters<typeof counted.byAccount.take>) => counted.byAccount.take(...asked) }
  const { services } = fewServices({ limits: { ...counted, byAccount } })
  const plan = { rpm: 1, concurrency: 1 }
  const first = asking('turn', plan)
  const heard = rateLimit.onRequest?.(first, services)
  t.equal(counted.running.size, 0, 'nobody runs before the word is there')
  await heard
  t.equal(first.headers['x-ratelimit-remaining-requests'], '0')
  t.equal(counted.running.size, 1)
  const second = asking('turn', plan)
  await t.rejects(async () => rateLimit.onRequest?.(second, services), { code: 'rate_limited', details: { retryAfter: 60 } })
  t.equal(second.headers['x-ratelimit-remaining-requests'], '0')
})

t.test('a step of the wall clock, back or forth, gives nothing', async (t) => {
  const { services } = fewServices({ limits: createLimits() })
  let wall = services.clock.now()
  const stepping = { ...services, clock: { now: () => wall, ticks: () => 0 } }
  const take = () => rateLimit.onRequest?.(asking('query', { rpm: 2, concurrency: 1 }), stepping)
  take()
  take()
  for (const step of [-1, 120_000, -3_600_000]) {
    wall += step
    t.equal(refused(take).code, 'rate_limited', `${step} ms`)
  }
})

t.test('a wait that SDKs would not keep is one they are told not to try', async (t) => {
  const { services } = fewServices({ limits: createLimits() })
  const take = () => rateLimit.onRequest?.(asking('query', { rpm: 1, concurrency: 1 }), services)
  take()
  t.equal(refused(take).details.shouldRetry, undefined, 'sixty seconds are kept')
})

t.test('turns at once are counted, and each place is given back whatever the end', async (t) => {
  const limits = createLimits()
  const { services } = fewServices({ limits })
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
  t.equal(limits.running.size, 0)
})

t.test('queries do not count among the turns', async (t) => {
  const limits = createLimits()
  const { services } = fewServices({ limits })
  for (let i = 0; i < 5; i++) rateLimit.onRequest?.(asking('query', { rpm: 100, concurrency: 1 }), services)
  t.equal(limits.running.size, 0)
})
