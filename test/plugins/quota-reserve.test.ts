/** The most a turn can cost is held before the upstream hears of it; what it did cost is settled. On the real ledger. */
import t from 'tap'
import { quotaReserve } from '../../plugins/quota-reserve.ts'
import { refund } from '../../plugins/refund.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Exchange, Slots, Usage } from '../../src/exchange/exchange.ts'
import type { Reservation } from '../../src/membership/ledger.ts'
import { parseChatRequest } from '../../src/exchange/chat-request.ts'
import { promptSize } from '../../src/exchange/estimate.ts'
import { anExchange } from '../support/exchange.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

type Turn = Exchange & Pick<Slots, 'caller' | 'chat' | 'product' | 'hold'>

/** A turn of this member on this product, ready to be reserved. */
async function turnOf(
  { services }: TestGateway,
  member: { id: string },
  body: Record<string, unknown> = {},
  sent: Record<string, string> = {},
): Promise<Turn> {
  const raw = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }], ...body }
  const chat = parseChatRequest(Buffer.from(JSON.stringify(raw)))
  const product = services.products.get(chat.model)
  const account = await services.store.accounts.find(member.id)
  const plan = account && services.config.plans[account.plan]
  if (product === undefined || account === undefined || plan === undefined) throw new Error('no such product, account or plan')
  const at = services.clock.now()
  const caller = { account, plan, credential: 'key' } as const
  return Object.assign(anExchange({ id: services.ids.next('mbr_', at), sent }), { caller, chat, product }) as Turn
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

t.test('a hold covers prompt and cap at the effective price; the settlement is what was used', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.account(), { max_tokens: 1_000 })
  await quotaReserve.onRequest?.(x, g.services)
  // 0.435 and 0.87 dollars a million tokens, less 75 %.
  const { mostTokens } = promptSize(x.chat, g.config.limits.imageTokens)
  const upper = Math.ceil((mostTokens * 0.435 + 1_000 * 0.87) * 0.25)
  t.equal(x.hold.credits, upper)
  t.equal(x.hold.outputCap, 1_000)
  await quotaReserve.onSettle?.(x, completed(used(100, 200)), g.services)
  t.equal(x.charged, Math.ceil((100 * 0.435 + 200 * 0.87) * 0.25))
  t.match(await g.turns(), [{ state: 'settled', inputTokens: 100, outputTokens: 200, credits: x.charged }])
})

t.test('the cap is the caller’s, else the product’s default, never above its maximum; each choice costs', async (t) => {
  const g = await startGateway(t)
  const member = await g.account()
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
  t.equal(four.hold.outputCap, 1_000, 'the cap is each choice’s own')
  for (const x of [one, four]) await quotaReserve.onSettle?.(x, completed(used(0, 0)), g.services)
})

t.test('what is left limits the answer, and says so; with next to nothing left it is refused', async (t) => {
  const pools = { day: 100, week: 100, month: 100 }
  const g = await startGateway(t, { plans: { free: { pools: { premium: pools } } } })
  const member = await g.account('free')
  const x = await turnOf(g, member)
  await quotaReserve.onRequest?.(x, g.services)
  t.equal(x.hold.credits, 100, 'all that is left is held')
  t.ok(x.hold.outputCap < 8_192 && x.hold.outputCap >= 16)
  t.equal(x.headers['x-svc-quota-clamped'], String(x.hold.outputCap))

  const meanwhile = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
  t.match(meanwhile, { code: 'quota_exceeded', details: { retryAfter: 2 } }, 'only a running turn is in the way')

  await quotaReserve.onSettle?.(x, completed(used(200, 400)), g.services)
  const after = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
  t.equal(after.code, 'quota_exceeded')
  t.equal(after.details.retryAfter, undefined)
  t.match(after.details.headers, { 'x-svc-quota-reset': /^\d{10}$/ })
})

t.test('who only reads the message learns which pool is empty, for which time, and when it begins anew', async (t) => {
  // A Wednesday, 14:30.
  const at = Date.UTC(2026, 4, 13, 14, 30)
  const enough = 1_000_000
  for (const [premium, en, zh] of [
    [
      { day: enough, week: 10 * enough, month: 10 * enough },
      'for today is used up. It begins anew in 10 hours.',
      '今日的高级模型额度已用完,10 小时后重置。',
    ],
    [
      { day: enough, week: enough, month: 10 * enough },
      'for this week is used up. It begins anew in 5 days.',
      '本周的高级模型额度已用完,5 天后重置。',
    ],
    [
      { day: enough, week: enough, month: enough },
      'for this month is used up. It begins anew in 19 days.',
      '本月的高级模型额度已用完,19 天后重置。',
    ],
  ] as const) {
    let now = at
    const clock = { now: () => now, ticks: () => performance.now() }
    const g = await startGateway(t, { plans: { free: { pools: { premium } } } }, { clock })
    const member = await g.account('free')
    const { ledger, calendar } = g.services
    const all = { pool: 'premium', at, periods: calendar.at(at), limits: premium, want: enough, floor: enough } as const
    const price = { input: 1, output: 1, discountPercent: 0 }
    const of = { account: member.id, requestId: 'mbr_all', model: 'svc-2.1', price, idempotency: null, concurrency: Infinity }
    const { hold } = (await ledger.reserve({ ...all, ...of, until: 1e12 })) as Extract<Reservation, { kind: 'held' }>
    const used = {
      tokens: { input: 1, output: 1 },
      estimated: false,
      outcome: 'completed',
      target: null,
      upstreamStatus: 200,
    } as const
    await ledger.settle({ hold: hold.id, at, credits: enough, ...used })
    const refusal = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
    t.equal(refusal.message, `Your included usage of premium models ${en}`)
    t.equal(refusal.messageZh, zh)
    const long = await turnOf(g, member, { messages: [{ role: 'user', content: 'word '.repeat(4_000) }] })
    const tooLong = await refused(Promise.resolve(quotaReserve.onRequest?.(long, g.services)))
    t.match(tooLong.message, /^What is left of your included usage of premium models for .* begins anew in \d+ (hours|days)\.$/)
    now = Date.UTC(2026, 4, 13, 23, 59)
    if (premium.week === enough) continue
    const soon = await refused(Promise.resolve(quotaReserve.onRequest?.(await turnOf(g, member), g.services)))
    t.match(soon.message, /in 1 minute\.$/)
  }
})

t.test('what costs more than a whole period includes is not told to wait for the next', async (t) => {
  const g = await startGateway(t, { plans: { free: { pools: { premium: { day: 100, week: 1_000_000, month: 1_000_000 } } } } })
  const member = await g.account('free')
  const long = await turnOf(g, member, { messages: [{ role: 'user', content: 'word '.repeat(4_000) }] })
  const refusal = await refused(Promise.resolve(quotaReserve.onRequest?.(long, g.services)))
  t.equal(refusal.code, 'quota_exceeded')
  t.match(refusal.message, /^This request may cost more than your plan includes of premium models for today\./)
  t.notOk(refusal.actions.includes('retry_later'))
  t.equal(refusal.details.headers?.['x-svc-quota-reset'], undefined)
})

t.test('an upstream that used more than was held is settled in full all the same', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.account(), { max_tokens: 16 })
  await quotaReserve.onRequest?.(x, g.services)
  await quotaReserve.onSettle?.(x, completed(used(5_000, 5_000)), g.services)
  t.ok((x.charged ?? 0) > x.hold.credits)
})

t.test('a caller who left before anything happened pays nothing; later, what was produced', async (t) => {
  const g = await startGateway(t)
  const member = await g.account()
  const early = await turnOf(g, member)
  await quotaReserve.onRequest?.(early, g.services)
  await quotaReserve.onSettle?.(early, { kind: 'aborted', usage: used(0, 0) }, g.services)
  t.equal(early.charged, 0)
  const later = await turnOf(g, member)
  await quotaReserve.onRequest?.(later, g.services)
  await quotaReserve.onSettle?.(
    later,
    { kind: 'aborted', usage: { inputTokens: 10, outputTokens: 5, estimated: true } },
    g.services,
  )
  t.ok((later.charged ?? 0) > 0)
})

t.test('a fixed price stands for an upstream that reports nothing', async (t) => {
  const g = await startGateway(t)
  const member = await g.account()
  const silent = await turnOf(g, member, { model: 'svc-img' })
  await quotaReserve.onRequest?.(silent, g.services)
  t.ok(silent.hold.credits >= 2_000)
  await quotaReserve.onSettle?.(silent, completed({ inputTokens: 10, outputTokens: 1, estimated: true }), g.services)
  t.equal(silent.charged, 2_000)
  const eight = await turnOf(g, member, { model: 'svc-img', n: 8 })
  await quotaReserve.onRequest?.(eight, g.services)
  t.ok(eight.hold.credits >= 16_000, 'eight are held for')
  await quotaReserve.onSettle?.(eight, completed({ inputTokens: 10, outputTokens: 0, estimated: true, pieces: 8 }), g.services)
  t.equal(eight.charged, 16_000, 'and eight are charged')
  const reported = await turnOf(g, member, { model: 'svc-img' })
  await quotaReserve.onRequest?.(reported, g.services)
  await quotaReserve.onSettle?.(reported, completed(used(10, 100)), g.services)
  t.equal(reported.charged, Math.ceil((10 * 0.435 + 100 * 0.87) * 0.25))
  const early = await turnOf(g, member, { model: 'svc-img' })
  await quotaReserve.onRequest?.(early, g.services)
  const nothing = { inputTokens: 0, outputTokens: 0, estimated: true }
  await quotaReserve.onSettle?.(early, { kind: 'aborted', usage: nothing }, g.services)
  t.equal(early.charged, 0, 'whoever leaves before the upstream was asked pays no fixed price either')
})

t.test('a prompt that cannot fit by any count is refused here; nothing is held', async (t) => {
  const g = await startGateway(t, {
    products: { 'svc-2.1': { contextLength: 1_024, maxOutputTokens: 512, defaultOutputTokens: 512 } },
  })
  const member = await g.account()
  const ask = (bytes: number): Promise<Turn> => turnOf(g, member, { messages: [{ role: 'user', content: 'x'.repeat(bytes) }] })
  const failure = await refused(Promise.resolve(quotaReserve.onRequest?.(await ask(140_000), g.services)))
  t.match(failure, { code: 'context_length_exceeded', details: { param: 'messages' } })
  t.match(failure.message, /maximum context length/)
  t.same(await g.turns(), [])
  // Sixty tokens of nothing but blanks, for all that can be known here.
  const whole = await ask(8_000)
  await quotaReserve.onRequest?.(whole, g.services)
  await quotaReserve.onSettle?.(whole, completed(used(60, 1)), g.services)
})

t.test('half a context of ordinary English is the upstream’s to count', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.account(), { messages: [{ role: 'user', content: 'four words of English '.repeat(12_000) }] })
  await quotaReserve.onRequest?.(x, g.services)
  await quotaReserve.onSettle?.(x, completed(used(52_000, 100)), g.services)
  t.ok((x.charged ?? 0) < x.hold.credits)
})

t.test(
  'a prompt of digits that really is a token a character leaves no debt; one that may not fit the rest is refused',
  async (t) => {
    const pools = { day: 1_000, week: 1_000, month: 1_000 }
    const g = await startGateway(t, { plans: { free: { pools: { premium: pools } } } })
    const member = await g.account('free')
    const digits = (count: number): Promise<Turn> =>
      turnOf(g, member, { messages: [{ role: 'user', content: '7'.repeat(count) }], max_tokens: 16 })
    const fits = await digits(8_000)
    await quotaReserve.onRequest?.(fits, g.services)
    await quotaReserve.onSettle?.(fits, completed(used(8_040, 16)), g.services)
    const { pools: after } = await g.services.ledger.balance({
      account: member.id,
      at: g.services.clock.now(),
      periods: g.services.calendar.at(g.services.clock.now()),
      limits: g.config.plans['free']?.pools ?? { fast: pools, premium: pools },
    })
    t.ok(after.every(({ debt }) => debt === 0))
    const over = await refused(Promise.resolve(quotaReserve.onRequest?.(await digits(3_000), g.services)))
    t.equal(over.code, 'quota_exceeded')
    t.match(over.message, /prompt of this length/)
  },
)

t.test('one idempotency key, one charge', async (t) => {
  const g = await startGateway(t)
  const member = await g.account()
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
  const charged = first.charged ?? 0
  t.match(await refused(ask()), {
    message: new RegExp(`answered and charged once: ${charged} credits`),
    messageZh: new RegExp(`${charged} 点`),
  })
  const other = await ask({}, sent, await g.account())
  t.ok(other.hold, 'another account’s key is another key')
  await quotaReserve.onSettle?.(other, completed(used(0, 0)), g.services)
  for (const bad of ['', 'x'.repeat(256)])
    t.match(await refused(ask({}, { 'idempotency-key': bad })), { code: 'invalid_request' })

  const left = await ask({}, { 'idempotency-key': 'order-3' })
  await quotaReserve.onSettle?.(left, { kind: 'aborted', usage: used(100, 10) }, g.services)
  const told = await refused(ask({}, { 'idempotency-key': 'order-3' }))
  t.match(told, { code: 'conflict', details: { shouldRetry: false }, messageZh: /断开连接.*计费一次/ })
  t.match(told.message, new RegExp(`ended before its answer did; ${left.charged} credits were charged once`))
  t.notMatch(told.message, /has been answered/)

  const failed = await ask({}, { 'idempotency-key': 'order-2' })
  await refund.onSettle?.(failed, { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false }, g.services)
  const again = await ask({}, { 'idempotency-key': 'order-2' })
  t.ok(again.hold, 'a turn that was given back may be tried again')
  await quotaReserve.onSettle?.(again, completed(used(0, 0)), g.services)
})

t.test('a failed turn is not settled here: that is for the refund', async (t) => {
  const g = await startGateway(t)
  const x = await turnOf(g, await g.account())
  await quotaReserve.onRequest?.(x, g.services)
  await quotaReserve.onSettle?.(x, { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false }, g.services)
  t.match(await g.turns(), [{ state: 'held' }])
  await refund.onSettle?.(x, { kind: 'failed', failure: new GatewayError('upstream_error'), streamed: false }, g.services)
})

t.test('turns at once are counted where they are held, whoever has let them in', async (t) => {
  const g = await startGateway(t, { plans: { max: { concurrency: 2 } } })
  const member = await g.account()
  const turns = await Promise.all(Array.from({ length: 3 }, () => turnOf(g, member)))
  const [one, , third] = turns
  for (const x of turns.slice(0, 2)) await quotaReserve.onRequest?.(x, g.services)
  const refusal = await refused(Promise.resolve(third && quotaReserve.onRequest?.(third, g.services)))
  t.match(refusal, { code: 'rate_limited', message: /runs 2 requests at once/ })
  if (one === undefined || third === undefined) throw new Error('they are there')
  await quotaReserve.onSettle?.(one, completed(used(1, 1)), g.services)
  await quotaReserve.onRequest?.(third, g.services)
  for (const x of turns.slice(1))
    await refund.onSettle?.(x as never, { kind: 'failed', failure: refusal, streamed: false }, g.services)
})
