/** Holds the maximum cost of a turn before the upstream is called and settles the actual cost, on a real ledger. */
import t from 'tap'
import { quotaReserve } from '../../../plugins/quota-reserve.ts'
import { refund } from '../../../plugins/refund.ts'
import { noEndAt, toPurchasedPackId } from '../../../src/domain/billing/orders/order.ts'
import { GatewayError } from '../../../src/errors.ts'
import type { Exchange, Slots, Usage } from '../../../src/exchange/exchange.ts'
import type { Reservation } from '../../../src/domain/billing/ledger.ts'
import { parseChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { measurePrompt } from '../../../src/exchange/request/prompt-size.ts'
import { defaultMediaFigures } from '../../support/media-figures.ts'
import { createTestExchange } from '../../support/gateway/test-exchange.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { createClock } from '../../../src/system/clock.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

type Turn = Exchange & Pick<Slots, 'caller' | 'chat' | 'product' | 'hold'>

/** A turn of this member on this product, ready to be reserved. */
async function turnOf(
  { services }: TestGateway,
  member: { id: string },
  body: Record<string, unknown> = {},
  inboundHeaders: Record<string, string> = {},
): Promise<Turn> {
  const raw = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }], ...body }
  const chat = parseChatRequest(Buffer.from(JSON.stringify(raw)))
  const product = services.products.get(chat.model)
  const account = await services.store.accounts.find(member.id)
  const plan = account && services.config.plans[account.plan]
  if (product === undefined || account === undefined || plan === undefined) throw new Error('no such product, account or plan')
  const at = services.clock.now()
  const caller = { account, plan, credential: 'key' } as const
  return Object.assign(createTestExchange({ id: services.ids.next('mbr_', at), inboundHeaders }), {
    caller,
    chat,
    product,
  }) as Turn
}

const used = (inputTokens: number, outputTokens: number): Usage => ({ inputTokens, outputTokens, estimated: false })
const completed = (usage: Usage) => ({ kind: 'completed', usage }) as const

async function refused(run: Promise<unknown>): Promise<GatewayError> {
  try {
    await run
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('it was let in')
}

t.test('holds prompt and cap at the effective price and settles the usage', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.createAccount(), { max_tokens: 1_000 })
  await quotaReserve.onRequest?.(x, g.services)
  // 0.435 and 0.87 dollars per million tokens, less 75 %.
  const { maxTokens } = measurePrompt(x.chat, defaultMediaFigures)
  const upper = Math.ceil((maxTokens * 0.435 + 1_000 * 0.87) * 0.25)
  t.equal(x.hold.credits, upper)
  t.equal(x.hold.outputCap, 1_000)
  await quotaReserve.onSettle?.(x, completed(used(100, 200)), g.services)
  t.equal(x.chargedCredits, Math.ceil((100 * 0.435 + 200 * 0.87) * 0.25))
  t.match(await g.listTurns(), [{ state: 'settled', inputTokens: 100, outputTokens: 200, credits: x.chargedCredits }])
})

t.test('uses the client’s cap, else the product’s default, at most its maximum, per choice', async (t) => {
  const g = await startGateway(t)
  const member = await g.createAccount()
  for (const [body, cap] of [
    [{}, 8_192],
    [{ max_tokens: 10 }, 10],
    [{ max_completion_tokens: 20, max_tokens: 10 }, 20],
    [{ max_tokens: 1_000_000 }, 32_768],
  ] as const) {
    const x = await turnOf(g, member, body)
    await quotaReserve.onRequest?.(x, g.services)
    t.equal(x.hold.outputCap, cap, JSON.stringify(body))
    await quotaReserve.onSettle?.(x, completed(used(1, 1)), g.services)
  }
  const one = await turnOf(g, member, { max_tokens: 1_000 })
  const four = await turnOf(g, member, { max_tokens: 1_000, n: 4 })
  await quotaReserve.onRequest?.(one, g.services)
  await quotaReserve.onRequest?.(four, g.services)
  t.ok(four.hold.credits > 3 * one.hold.credits)
  t.equal(four.hold.outputCap, 1_000, 'the cap is per choice')
  for (const x of [one, four]) await quotaReserve.onSettle?.(x, completed(used(0, 0)), g.services)
})

t.test('clamps the answer to what is left and reports it; rejects a turn when nearly nothing is left', async (t) => {
  const pools = { day: 100, week: 100, month: 100 }
  const g = await startGateway(t, { plans: { free: { pools: { premium: pools } } } })
  const member = await g.createAccount('free')
  const x = await turnOf(g, member)
  await quotaReserve.onRequest?.(x, g.services)
  t.equal(x.hold.credits, 100, 'all that is left is held')
  t.ok(x.hold.outputCap < 8_192 && x.hold.outputCap >= 16)
  t.equal(x.headers['x-svc-quota-clamped'], String(x.hold.outputCap))

  const meanwhile = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
  t.match(
    meanwhile,
    { code: 'rate_limited', details: { retryAfter: 2, shouldRetry: true, stage: 'quota' } },
    'only a running turn is in the way',
  )

  await quotaReserve.onSettle?.(x, completed(used(200, 400)), g.services)
  const after = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
  t.equal(after.code, 'quota_exceeded')
  t.equal(after.details.retryAfter, undefined)
  t.match(after.details.headers, { 'x-svc-quota-reset': /^\d{10}$/ })
})

t.test('states in the message which pool is used up, for which period, and when it resets', async (t) => {
  // A Wednesday, 14:30.
  const at = Date.UTC(2026, 4, 13, 14, 30)
  const enough = 1_000_000
  for (const [premium, en, zh] of [
    [
      { day: enough, week: 10 * enough, month: 10 * enough },
      'for today is used up. Resets in 10 hours.',
      '今日的高级模型额度已用完，10 小时后重置。',
    ],
    [
      { day: enough, week: enough, month: 10 * enough },
      'for this week is used up. Resets in 5 days.',
      '本周的高级模型额度已用完，5 天后重置。',
    ],
    [
      { day: enough, week: enough, month: enough },
      'for this month is used up. Resets in 19 days.',
      '本月的高级模型额度已用完，19 天后重置。',
    ],
  ] as const) {
    let now = at
    const clock = createClock({ now: () => now })
    const g = await startGateway(t, { plans: { free: { pools: { premium } } } }, { clock })
    const member = await g.createAccount('free')
    const { ledger, calendar } = g.services
    const all = {
      pool: 'premium',
      at,
      periods: calendar.getPeriods(at),
      limits: premium,
      amount: enough,
      minAmount: enough,
    } as const
    const price = { input: 1, output: 1, discountPercent: 0 }
    const of = {
      account: member.id,
      requestId: 'mbr_all',
      model: 'svc-2.1',
      price,
      idempotency: null,
      maxConcurrentTurns: Infinity,
    }
    const { hold } = (await ledger.reserve({ ...all, ...of, leaseUntil: 1e12 })) as Extract<Reservation, { kind: 'held' }>
    const used = {
      tokens: { input: 1, output: 1 },
      estimated: false,
      outcome: 'completed',
      target: null,
      upstreamStatus: 200,
    } as const
    await ledger.settle({ hold: hold.id, at, credits: enough, ...used })
    const refusal = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
    t.equal(refusal.message, `Your included usage of premium models ${en} Switch to 'auto': your usage of fast models covers it.`)
    t.equal(refusal.messageZh, `${zh}可切换到 'auto'，快速模型额度足以处理。`)
    now = Date.UTC(2026, 4, 13, 23, 59)
    if (premium.week === enough) continue
    const soon = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
    t.match(soon.message, /Resets in 1 minute\./)
    t.equal(soon.actions[0], 'retry_later')
    t.equal(soon.details.retryAfter, 60)
  }
})

t.test('does not advise to wait for the next period if the cost exceeds a whole period', async (t) => {
  const g = await startGateway(t, { plans: { free: { pools: { premium: { day: 100, week: 1_000_000, month: 1_000_000 } } } } })
  const member = await g.createAccount('free')
  const long = await turnOf(g, member, { messages: [{ role: 'user', content: 'word '.repeat(4_000) }] })
  const refusal = await refused(Promise.resolve(quotaReserve.onRequest?.(long, g.services)))
  t.equal(refusal.code, 'quota_exceeded')
  t.match(refusal.message, /^This request may cost more than your plan includes of premium models for today\./)
  t.notOk(refusal.actions.includes('retry_later'))
  t.equal(refusal.details.headers?.['x-svc-quota-reset'], undefined)
})

t.test('never charges more than was held, whatever the upstream used', async (t) => {
  const g = await startGateway(t)
  const member = await g.createAccount()
  for (const outcome of [completed(used(5_000, 5_000)), { kind: 'aborted', usage: used(5_000, 5_000) } as const]) {
    const x = await turnOf(g, member, { max_tokens: 16 })
    await quotaReserve.onRequest?.(x, g.services)
    await quotaReserve.onSettle?.(x, outcome, g.services)
    t.equal(x.chargedCredits, x.hold.credits, outcome.kind)
  }
  t.match(await g.listTurns(), [{ outputTokens: 5_000 }, { outputTokens: 5_000 }], 'the ledger keeps what was reported')
})

t.test('charges a client that disconnects nothing before the upstream works, and later the output so far', async (t) => {
  const g = await startGateway(t)
  const member = await g.createAccount()
  const early = await turnOf(g, member)
  await quotaReserve.onRequest?.(early, g.services)
  await quotaReserve.onSettle?.(early, { kind: 'aborted', usage: used(0, 0) }, g.services)
  t.equal(early.chargedCredits, 0)
  const later = await turnOf(g, member)
  await quotaReserve.onRequest?.(later, g.services)
  await quotaReserve.onSettle?.(
    later,
    { kind: 'aborted', usage: { inputTokens: 10, outputTokens: 5, estimated: true } },
    g.services,
  )
  t.ok((later.chargedCredits ?? 0) > 0)
})

t.test('charges the flat price if the upstream reports no usage', async (t) => {
  const g = await startGateway(t)
  const member = await g.createAccount()
  const silent = await turnOf(g, member, { model: 'svc-img' })
  await quotaReserve.onRequest?.(silent, g.services)
  t.ok(silent.hold.credits >= 2_000)
  await quotaReserve.onSettle?.(silent, completed({ inputTokens: 10, outputTokens: 1, estimated: true }), g.services)
  t.equal(silent.chargedCredits, 2_000)
  const eight = await turnOf(g, member, { model: 'svc-img', n: 8 })
  await quotaReserve.onRequest?.(eight, g.services)
  t.ok(eight.hold.credits >= 16_000, 'eight are held')
  await quotaReserve.onSettle?.(eight, completed({ inputTokens: 10, outputTokens: 0, estimated: true, pieces: 8 }), g.services)
  t.equal(eight.chargedCredits, 16_000, 'and eight are charged')
  const reported = await turnOf(g, member, { model: 'svc-img' })
  await quotaReserve.onRequest?.(reported, g.services)
  await quotaReserve.onSettle?.(reported, completed(used(10, 100)), g.services)
  t.equal(reported.chargedCredits, Math.ceil((10 * 0.435 + 100 * 0.87) * 0.25))
  const early = await turnOf(g, member, { model: 'svc-img' })
  await quotaReserve.onRequest?.(early, g.services)
  const nothing = { inputTokens: 0, outputTokens: 0, estimated: true }
  await quotaReserve.onSettle?.(early, { kind: 'aborted', usage: nothing }, g.services)
  t.equal(early.chargedCredits, 0, 'charges no flat price to a client that disconnects before the upstream was called')
})

t.test('rejects a prompt that cannot fit by any count, and holds nothing', async (t) => {
  const g = await startGateway(t, {
    products: { 'svc-2.1': { contextLength: 1_024, maxOutputTokens: 512, defaultOutputTokens: 512 } },
  })
  const member = await g.createAccount()
  const ask = (bytes: number): Promise<Turn> => turnOf(g, member, { messages: [{ role: 'user', content: 'x'.repeat(bytes) }] })
  const failure = await refused(Promise.resolve(quotaReserve.onRequest?.(await ask(140_000), g.services)))
  t.match(failure, { code: 'context_length_exceeded', details: { param: 'messages' } })
  t.match(failure.message, /maximum context length/)
  t.same(await g.listTurns(), [])
  // Sixty tokens at most: spaces only.
  const whole = await ask(8_000)
  await quotaReserve.onRequest?.(whole, g.services)
  await quotaReserve.onSettle?.(whole, completed(used(60, 1)), g.services)
})

t.test('leaves half a context of ordinary English to the upstream', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.createAccount(), {
    messages: [{ role: 'user', content: 'four words of English '.repeat(12_000) }],
  })
  await quotaReserve.onRequest?.(x, g.services)
  await quotaReserve.onSettle?.(x, completed(used(52_000, 100)), g.services)
  t.ok((x.chargedCredits ?? 0) < x.hold.credits)
})

t.test(
  'a prompt of digits that really is a token a character leaves no debt; one that may not fit the rest is refused',
  async (t) => {
    const pools = { day: 1_000, week: 1_000, month: 1_000 }
    const g = await startGateway(t, { plans: { free: { pools: { premium: pools } } } })
    const member = await g.createAccount('free')
    const digits = (count: number): Promise<Turn> =>
      turnOf(g, member, { messages: [{ role: 'user', content: '7'.repeat(count) }], max_tokens: 16 })
    const fits = await digits(8_000)
    await quotaReserve.onRequest?.(fits, g.services)
    await quotaReserve.onSettle?.(fits, completed(used(8_040, 16)), g.services)
    const { pools: after } = await g.services.ledger.balance({
      account: member.id,
      at: g.services.clock.now(),
      periods: g.services.calendar.getPeriods(g.services.clock.now()),
      limits: g.config.plans['free']?.pools ?? { fast: pools, premium: pools },
    })
    t.ok(after.every(({ debt }) => debt === 0))
    const over = await refused(Promise.resolve(quotaReserve.onRequest?.(await digits(3_000), g.services)))
    t.equal(over.code, 'quota_exceeded')
    t.match(over.message, /does not cover this request/)
  },
)

t.test('charges one idempotency key once', async (t) => {
  const g = await startGateway(t)
  const member = await g.createAccount()
  const sent = { 'idempotency-key': 'order-1' }
  const ask = async (body: Record<string, unknown> = {}, headers: Record<string, string> = sent, who = member) => {
    const x = await turnOf(g, who, body, headers)
    await quotaReserve.onRequest?.(x, g.services)
    return x
  }
  const first = await ask()
  const running = await refused(ask())
  t.match(running, { code: 'conflict', details: { shouldRetry: false } })
  t.match(running.message, /still running/)
  t.match(await refused(ask({ temperature: 1 })), { code: 'invalid_request' }, 'another body under the same key')
  await quotaReserve.onSettle?.(first, completed(used(10, 10)), g.services)
  const charged = first.chargedCredits ?? 0
  t.match(await refused(ask()), {
    message: new RegExp(`completed and charged once: ${charged} credits`),
    messageZh: new RegExp(`${charged} 点`),
  })
  const other = await ask({}, sent, await g.createAccount())
  t.ok(other.hold, 'another account’s key is another key')
  await quotaReserve.onSettle?.(other, completed(used(0, 0)), g.services)
  for (const bad of ['', 'x'.repeat(256)])
    t.match(await refused(ask({}, { 'idempotency-key': bad })), { code: 'invalid_request' })

  const left = await ask({}, { 'idempotency-key': 'order-3' })
  await quotaReserve.onSettle?.(left, { kind: 'aborted', usage: used(100, 10) }, g.services)
  const told = await refused(ask({}, { 'idempotency-key': 'order-3' }))
  t.match(told, { code: 'conflict', details: { shouldRetry: false }, messageZh: /断开连接.*计费一次/ })
  t.match(told.message, new RegExp(`closed before the response was complete. ${left.chargedCredits} credits were charged once`))
  t.notMatch(told.message, /has been answered/)

  const failed = await ask({}, { 'idempotency-key': 'order-2' })
  await refund.onSettle?.(failed, { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false }, g.services)
  const again = await ask({}, { 'idempotency-key': 'order-2' })
  t.ok(again.hold, 'a refunded turn may be retried')
  await quotaReserve.onSettle?.(again, completed(used(0, 0)), g.services)
})

t.test('leaves a failed turn to refund', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.createAccount())
  await quotaReserve.onRequest?.(x, g.services)
  await quotaReserve.onSettle?.(x, { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false }, g.services)
  t.match(await g.listTurns(), [{ state: 'held' }])
  await refund.onSettle?.(x, { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false }, g.services)
})

t.test('counts concurrent turns in the ledger too', async (t) => {
  const g = await startGateway(t, { plans: { max: { concurrency: 2 } } })
  const member = await g.createAccount()
  const turns = await Promise.all(Array.from({ length: 3 }, () => turnOf(g, member)))
  const [one, , third] = turns
  for (const x of turns.slice(0, 2)) await quotaReserve.onRequest?.(x, g.services)
  const refusal = await refused(Promise.resolve(third && quotaReserve.onRequest?.(third, g.services)))
  t.match(refusal, { code: 'rate_limited', message: /runs 2 requests at once/, details: { retryAfter: 1 } })
  const next = await refused(Promise.resolve(third && quotaReserve.onRequest?.(third, g.services)))
  t.ok(Number(next.details.retryAfter) > 1, 'each refused client has its own time')
  if (one === undefined || third === undefined) throw new Error('they are there')
  await quotaReserve.onSettle?.(one, completed(used(1, 1)), g.services)
  await quotaReserve.onRequest?.(third, g.services)
  for (const x of turns.slice(1))
    await refund.onSettle?.(x as never, { kind: 'failed', failure: refusal, streamed: false }, g.services)
})

t.test('waits for a turn of another thread, and gives the request back when none ends', async (t) => {
  const simulated = new SimulatedClock({ isLive: true })
  const g = await startGateway(
    t,
    { plans: { max: { concurrency: 1, rpm: 5 } }, limits: { concurrencyWaitMs: 1_000 } },
    { clock: simulated },
  )
  const member = await g.createAccount()
  const [one, two, three] = await Promise.all([turnOf(g, member), turnOf(g, member), turnOf(g, member)])
  if (one === undefined || two === undefined || three === undefined) throw new Error('they are there')
  await quotaReserve.onRequest?.(one, g.services)
  // The wait counts from the start of the request, which a made-up exchange does not have.
  Object.assign(two, { startedMonotonicMs: g.services.clock.monotonicMs() })
  const waiting = Promise.resolve(quotaReserve.onRequest?.(two, g.services))
  await quotaReserve.onSettle?.(one, completed(used(1, 1)), g.services)
  await waiting
  const { limits, clock } = g.services
  const now = clock.monotonicMs()
  for (let i = 0; i < 5; i++) await limits.byAccount.consume(member.id, 5, now)
  Object.assign(three, { startedMonotonicMs: clock.monotonicMs() })
  const refused = t.rejects(Promise.resolve(quotaReserve.onRequest?.(three, g.services)), { code: 'rate_limited' })
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    simulated.advance(100)
  }
  await refused
  t.equal((await limits.byAccount.consume(member.id, 5, now)).allowed, true)
  const refusal = new GatewayError('rate_limited')
  await refund.onSettle?.(two as never, { kind: 'failed', failure: refusal, streamed: false }, g.services)
})

/** Spends what the member has left in this pool, but for so many credits. */
async function spend({ services }: TestGateway, { id }: { id: string }, pool: 'fast' | 'premium', rest = 0): Promise<void> {
  const { ledger, calendar, clock, config, store } = services
  const at = clock.now()
  const plan = config.plans[(await store.accounts.find(id))?.plan ?? '']
  if (plan === undefined) throw new Error('no such plan')
  const periods = calendar.getPeriods(at)
  const { pools, packs } = await ledger.balance({ account: id, at, periods, limits: plan.pools })
  const left =
    Math.min(...pools.flatMap((each) => (each.pool === pool ? [each.remaining] : []))) +
    packs.reduce((sum, pack) => (pack.pool === pool ? sum + pack.granted - pack.settled : sum), 0)
  const amount = left - rest
  const order = { account: id, requestId: 'mbr_spent', model: 'svc', pool, at, periods, limits: plan.pools[pool] }
  const price = { input: 1, output: 1, discountPercent: 0 }
  const reservation = await ledger.reserve({
    ...order,
    amount,
    minAmount: amount,
    price,
    leaseUntil: 1e12,
    idempotency: null,
    maxConcurrentTurns: Infinity,
  })
  if (reservation.kind !== 'held') throw new Error(reservation.kind)
  const tokens = { input: 1, output: 1 }
  const ending = { tokens, estimated: false, outcome: 'completed', target: null, upstreamStatus: 200 } as const
  await ledger.settle({ hold: reservation.hold.id, at, credits: amount, ...ending })
}

/** The refusal that a client receives; null if the turn is admitted. */
async function ask(g: TestGateway, token: string, body: Record<string, unknown> = {}) {
  const response = await g.chat(token, body)
  const text = await response.text()
  if (response.status === 200) return null
  return { status: response.status, ...(JSON.parse(text) as { code: string; message: string; actions: string[] }) }
}

/** As long as a coding agent's prompts are. */
const agentPrompt = { messages: [{ role: 'user', content: 'word '.repeat(12_000) }] }

t.test('advises to switch the model where only the other pool has room, and to nothing that cannot help', async (t) => {
  const g = await startGateway(t)
  const member = await g.createMember('free')
  await spend(g, member, 'premium')
  for (const body of [{}, agentPrompt]) {
    const refusal = await ask(g, member.token, { model: 'svc', ...body })
    t.match(refusal, { status: 402, code: 'quota_exceeded', actions: ['switch_model', 'upgrade_plan'] })
    t.match(refusal?.message, /^Your included usage of premium models for today is used up\. Resets in .* Switch to 'auto'/)
    t.equal(await ask(g, member.token, { model: 'auto', ...body }), null, 'which helps')
  }
  const boosts = await g.services.boosts.listAvailable((await g.services.store.accounts.find(member.id))!)
  t.match(boosts, [{ kind: 'checkin', pool: 'fast' }], 'a boost is available, but for the other pool')
})

t.test('advises a purchase that covers the turn, with its address, and bought packs that are kept', async (t) => {
  const price = [{ amount: 5, currency: 'EUR' }]
  const g = await startGateway(t, {
    packs: [
      { id: 'tiny', credits: 1, pool: 'premium', prices: price, days: null },
      { id: 'small', credits: 500_000, pool: 'premium', prices: price, days: null },
      { id: 'quick', credits: 500_000, pool: 'fast', prices: price, days: null },
    ],
    payments: { demo: true },
  })
  const member = await g.createMember('free')
  await spend(g, member, 'premium')
  const pack = new RegExp(`A pack adds 500000 credits of premium models: ${g.url}/checkout\\?pack=small&currency=EUR `)
  const plan = new RegExp(`Pro covers it: ${g.url}/checkout\\?plan=pro&interval=month&currency=USD `)
  t.match(await ask(g, member.token, { model: 'svc' }), { actions: ['switch_model', 'upgrade_plan'], message: pack })
  t.match(await ask(g, member.token, { model: 'svc' }), { message: plan })
  t.notMatch((await ask(g, member.token, { model: 'svc' }))?.message, /tiny|quick/)
  const { services } = g
  const at = services.clock.now()
  const id = toPurchasedPackId(`ord_${'1'.padStart(26, '0')}`)
  const claim = { id, account: member.id, kind: 'grant', pool: 'premium', credits: 500_000, at, expiresAt: noEndAt } as const
  await services.store.boosts.recordClaim(claim)
  await services.membership.boosts.deliver(claim)
  await services.store.accounts.setSpendsPacks(member.id, false)
  t.match(await ask(g, member.token, { model: 'svc' }), {
    code: 'quota_exceeded',
    message: new RegExp(`used up.*You keep your bought packs; to use them: ${g.url}/account/orders `),
  })
  await services.store.accounts.setSpendsPacks(member.id, true)
  t.equal(await ask(g, member.token, { model: 'svc', max_tokens: 100 }), null, 'which helps')
  Object.assign(services.orders ?? {}, { listOffers: () => Promise.reject(new Error('the store is closed')) })
  await spend(g, member, 'premium')
  t.match(await ask(g, member.token, { model: 'svc' }), { code: 'quota_exceeded' }, 'also without the advice')
})

t.test('advises a boost only while one of this pool is available and covers the turn', async (t) => {
  const g = await startGateway(t)
  const member = await g.createMember('free')
  await spend(g, member, 'fast')
  await spend(g, member, 'premium')
  const refusal = await ask(g, member.token, { model: 'auto' })
  t.match(refusal, { actions: ['use_boost', 'upgrade_plan'] })
  t.match(refusal?.message, 'Your daily check-in adds 5000 credits of fast models.')
  t.match(await ask(g, member.token, { model: 'svc' }), { actions: ['upgrade_plan'] }, 'not for the other pool')
  const account = (await g.services.store.accounts.find(member.id))!
  await g.services.membership.boosts.checkIn(account)
  t.equal(await ask(g, member.token, { model: 'auto', max_tokens: 100 }), null, 'which helps')
  await g.waitUntilSettled()
  await spend(g, member, 'fast')
  t.match(await ask(g, member.token, { model: 'auto' }), { actions: ['upgrade_plan'] }, 'no boost is left')
  const at = g.services.clock.now()
  const rush = { id: g.services.ids.next('rush_', at), packs: 2, pool: 'premium', credits: 1_000, packMs: 86_400_000 } as const
  await g.services.store.boosts.openRush({ ...rush, startsAt: at, endsAt: at + 3_600_000 }, at, { allowOverlap: false })
  t.match(await ask(g, member.token, { model: 'svc' }), {
    actions: ['use_boost', 'upgrade_plan'],
    message: /The current rush adds 1000 credits of premium models/,
  })
  const long = { messages: [{ role: 'user', content: 'word '.repeat(30_000) }] }
  t.match(await ask(g, member.token, { model: 'svc', ...long }), { actions: ['upgrade_plan'] }, 'too small for this turn')
  await g.services.membership.boosts.grabRush(account)
  t.equal(await ask(g, member.token, { model: 'svc', max_tokens: 100 }), null, 'which helps')
})

t.test('advises a shorter prompt only if half of it fits', async (t) => {
  const g = await startGateway(t)
  const member = await g.createMember('max-20x')
  await spend(g, member, 'fast')
  const { id: _, ...x } = await turnOf(g, member, { ...agentPrompt, model: 'svc' })
  const { maxTokens } = measurePrompt(x.chat, defaultMediaFigures)
  const price = Math.ceil((maxTokens * 0.435 + 16 * 0.87) * 0.25)
  await spend(g, member, 'premium', Math.ceil(price * 0.7))
  const refusal = await ask(g, member.token, { model: 'svc', ...agentPrompt })
  t.match(refusal, {
    actions: ['shorten_prompt'],
    message: /does not cover this request\. .* A prompt of half the length still fits/,
  })
  const half = { messages: [{ role: 'user', content: 'word '.repeat(6_000) }] }
  t.equal(await ask(g, member.token, { model: 'svc', max_tokens: 16, ...half }), null, 'which helps')
  await g.waitUntilSettled()
  await spend(g, member, 'premium', 200)
  const again = await ask(g, member.token, { model: 'svc', ...agentPrompt })
  t.same(again?.actions, [], 'with next to nothing left, and nothing else to be had')
  t.notMatch(again?.message, /half|shorter|boost|Switch/i)
})

t.test('advises another model of the same kind only', async (t) => {
  const g = await startGateway(t)
  const member = await g.createMember('free')
  await spend(g, member, 'premium')
  const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }]
  for (const [body, switches] of [
    [{ model: 'svc', messages: image }, false],
    [{ model: 'svc-img' }, false],
    [{ model: 'svc-2.1-search' }, false],
    [{ model: 'svc' }, true],
  ] as const)
    t.equal((await ask(g, member.token, body))?.actions.includes('switch_model'), switches, JSON.stringify(body))
})

t.test('refuses in the same way when the available boosts cannot be read', async (t) => {
  const g = await startGateway(t)
  const member = await g.createAccount('free')
  await spend(g, member, 'fast')
  const boosts = { listAvailable: () => Promise.reject(new Error('the database is away')) }
  const refusal = await refused(
    Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member, { model: 'auto' }), { ...g.services, boosts })),
  )
  t.match(refusal, { code: 'quota_exceeded', actions: ['switch_model', 'upgrade_plan'] })
})
