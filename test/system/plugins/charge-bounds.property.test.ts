/** Whatever usage an upstream reports, a turn costs at least nothing, at most its hold, and no more than without cached tokens. */
import * as fc from 'fast-check'
import t from 'tap'
import { quotaReserve } from '../../../plugins/quota-reserve.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import { parseChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { parseUsage, reconcileUsage } from '../../../src/upstream/response/usage.ts'
import { createTestExchange } from '../../support/gateway/test-exchange.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

/** Mostly counts of the size of the turn, and everything that is none. */
const count = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 400 }) },
  fc.integer({ min: -5, max: 10_000_001 }),
  fc.double(),
  fc.constantFrom('7', null, true, {}),
)
const report = fc.record(
  {
    prompt_tokens: count,
    completion_tokens: count,
    prompt_tokens_details: fc.record({ cached_tokens: count }),
    prompt_cache_hit_tokens: count,
    cached_tokens: count,
  },
  { requiredKeys: ['prompt_tokens', 'completion_tokens'] },
)

t.test('charges at most the hold for any report', async (t) => {
  const seed = Number(process.env['CHARGE_SEED'] ?? Date.now() % 2 ** 31)
  t.comment(`CHARGE_SEED=${seed}`)
  const gateway = await startGateway(t, {
    prices: { flagship: { input: 900, cachedInput: 90, output: 3_000, discountPercent: 25 } },
  })
  const { services } = gateway
  const account = await services.store.accounts.find((await gateway.createAccount()).id)
  const product = services.products.get('svc-2.1')
  const limits = { day: 1e12, week: 1e12, month: 1e12 }
  const plan = { ...services.config.plans['max']!, pools: { fast: limits, premium: limits }, concurrency: 1 }
  const body = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Tell me of the sea. '.repeat(9) }], max_tokens: 100 }

  /** The credits of a turn with this report, and of its hold. */
  const charge = async (usage: unknown, tokens: number) => {
    const chat = parseChatRequest(Buffer.from(JSON.stringify(body)))
    const slots = { caller: { account, plan, credential: 'key' }, chat, product }
    const x = Object.assign(createTestExchange(), slots) as Exchange & Pick<Slots, 'caller' | 'chat' | 'product' | 'hold'>
    await quotaReserve.onRequest?.(x, services)
    const { inputEstimate, outputCap, credits: held } = x.hold
    const counted = { tokens, bytes: tokens * 4, provenTokens: tokens }
    const charged = reconcileUsage(parseUsage(usage), counted, { inputEstimate, outputCap })
    await quotaReserve.onSettle?.(x, { kind: 'completed', usage: charged }, services)
    return { held, charged: x.chargedCredits ?? Number.NaN }
  }

  let cheaper = 0
  await fc.assert(
    fc.asyncProperty(report, fc.integer({ min: 0, max: 150 }), async (usage, tokens) => {
      const { held, charged } = await charge(usage, tokens)
      const { prompt_tokens: input, completion_tokens: output } = usage
      const { charged: uncached } = await charge({ prompt_tokens: input, completion_tokens: output }, tokens)
      if (!(charged >= 0 && charged <= held)) throw new Error(`${charged} of ${held} were charged`)
      if (charged > uncached) throw new Error(`${charged} were charged with cached tokens, ${uncached} without`)
      if (charged < uncached) cheaper += 1
      const [turn] = await services.ledger.turns({ account: account?.id ?? '', limit: 2 }).then((turns) => turns.slice(1))
      if (turn === undefined || turn.cachedInputTokens > turn.inputTokens) throw new Error(JSON.stringify(turn))
    }),
    { numRuns: 300, seed },
  )
  t.ok(cheaper > 20, `${cheaper} reports of 300 made the turn cheaper`)
})
