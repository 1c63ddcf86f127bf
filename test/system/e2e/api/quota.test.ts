/** Quotas and limits are exact under concurrent requests. */
import t from 'tap'
import { expectErrorEnvelope } from '../../../support/gateway/error-envelope.ts'
import { createMovableClock } from '../../../support/gateway/movable-clock.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'

t.test('admits exactly 20 of 200 concurrent turns on quota for 20 and answers the others quota_exceeded', async (t) => {
  // A turn of this shape is held at its upper bound and settled at exactly that.
  const body = { max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(60) }] }
  const probe = await startGateway(t)
  const prober = await probe.createMember()
  await (await probe.chat(prober.token, body)).text()
  const price = (await probe.listTurns())[0]?.reserved ?? 0
  t.ok(price > 0)

  const pool = { day: price * 20, week: price * 20, month: price * 20 }
  const g = await startGateway(t, { plans: { free: { rpm: 10_000, concurrency: 1_000, pools: { premium: pool } } } })
  const { id, token } = await g.createMember('free')
  // No turn ends before all have arrived, and each uses what it held.
  const seen: number[] = []
  const { input: perInput, output: perOutput, discountPercent } = probe.services.products.get('svc-2.1')?.price ?? fail()
  // As many prompt tokens as the hold covers: nano-dollars a token, credits of a thousand of them, less the discount.
  const input = Math.floor(((price * 1000 * 100) / (100 - discountPercent) - 100 * perOutput) / perInput)
  g.demo.script(() => ({ tokens: 3, usage: { prompt_tokens: input, completion_tokens: 100 }, headMs: 4_000 }))
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await g.chat(token, body)
      const text = await response.text()
      seen.push(response.status)
      if (response.status === 200) return
      // While turns run they hold the rest, which passes: SDKs repeat such a refusal. An empty pool does not pass.
      const passes = response.status === 429
      const code = passes ? 'rate_limited' : 'quota_exceeded'
      t.match(JSON.parse(text), { code, stage: 'quota', debug: { quotaRefunded: undefined } })
      t.equal(response.headers.get('x-should-retry'), String(passes))
      if (passes) t.ok(Number(response.headers.get('retry-after')) >= 1)
    }),
  )
  t.equal((await g.listTurns(id)).find(({ state }) => state === 'settled')?.credits, price, 'the turns cost what was held')
  t.equal(seen.filter((status) => status === 200).length, 20)
  t.ok(seen.includes(429))
  t.equal(seen.filter((status) => status === 429 || status === 402).length, 180)
  t.equal(g.demo.stats().requests, 20, 'the upstream heard of no other')
  const turns = await g.listTurns(id)
  t.equal(turns.filter(({ state }) => state === 'settled').length, 20)
  const refusal = await g.chat(token, body)
  t.equal(refusal.headers.get('x-should-retry'), 'false', 'an empty pool does not pass')
  const last = await expectErrorEnvelope(t, refusal, { status: 402, code: 'quota_exceeded', stage: 'quota' })
  t.same(last.actions, ['switch_model', 'upgrade_plan'])
})

t.test('charges one turn for any number of requests with one idempotency key', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  const headers = { 'idempotency-key': 'order-7' }
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const response = await g.chat(token, {}, { headers })
      await response.text()
      return response.status
    }),
  )
  t.equal(statuses.filter((status) => status === 200).length, 1)
  t.equal(statuses.filter((status) => status === 409).length, 19)
  t.equal(g.demo.stats().requests, 1)
  const again = await g.chat(token, {}, { headers })
  t.equal(again.headers.get('x-should-retry'), 'false')
  await expectErrorEnvelope(t, again, { status: 409, code: 'conflict', stage: 'quota' })
  await expectErrorEnvelope(
    t,
    await g.chat(token, { temperature: 1 }, { headers }),
    { status: 400, code: 'invalid_request' },
    'another body',
  )
  t.equal((await g.listTurns(id)).length, 1)
  const other = await g.createMember()
  t.equal((await g.chat(other.token, {}, { headers })).status, 200, 'another account’s key is its own')
  t.equal((await g.chat(token, {}, { headers: { 'x-svc-request-id': 'same' } })).status, 200)
  t.equal(
    (await g.chat(token, {}, { headers: { 'x-svc-request-id': 'same' } })).status,
    200,
    'a trace id never stands for a turn',
  )
})

t.test('limits concurrent turns and requests a minute over all keys of an account', async (t) => {
  const { clock } = createMovableClock()
  const g = await startGateway(t, { plans: { pro: { rpm: 12, concurrency: 3 } } }, { clock })
  const account = await g.createAccount('pro')
  const keys = [await g.createKey(account), await g.createKey(account)]
  const gate = Promise.withResolvers<void>()
  g.demo.script(async () => {
    await gate.promise
    return undefined
  })
  let refusals = 0
  const asked = Array.from({ length: 6 }, async (_, i) => {
    const response = await g.chat(keys[i % 2] ?? '')
    if (response.status === 429) refusals++
    return response
  })
  await waitUntil(() => refusals === 3 && g.demo.stats().requests === 3, 'three to run and three to be refused')
  gate.resolve()
  clock.advance(4_000)
  const answers = await Promise.all(asked)
  t.equal(answers.filter(({ status }) => status === 200).length, 3)
  const refused = answers.filter(({ status }) => status === 429)
  t.equal(refused.length, 3)
  for (const response of refused) {
    t.match(response.headers.get('retry-after'), /^\d+$/)
    await expectErrorEnvelope(t, response, { status: 429, code: 'rate_limited', stage: 'rate_limit' })
  }
  g.demo.script()
  const more = await Promise.all(
    Array.from({ length: 10 }, (_, i) => fetch(`${g.url}/v1/models`, { headers: { authorization: `Bearer ${keys[i % 2]}` } })),
  )
  t.equal(more.filter(({ status }) => status === 200).length, 9, 'the three refused turns are not counted')
  t.match(more.find(({ status }) => status === 429)?.headers.get('x-ratelimit-remaining-requests'), '0')
})

function fail(): never {
  throw new Error('there is no such product')
}
