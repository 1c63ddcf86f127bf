/** Quota is exact, whoever asks at once; limits let through what they say, and no more. */
import t from 'tap'
import { envelopeOf } from '../support/envelope.ts'
import { startGateway } from '../support/gateway.ts'

t.test('200 turns at once on quota for 20: exactly 20 are let in, the others are told quota_exceeded', async (t) => {
  // One turn of this shape is held at its upper bound and settled at exactly that.
  const body = { max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(60) }] }
  const probe = await startGateway(t)
  const prober = await probe.member()
  await (await probe.chat(prober.token, body)).text()
  const price = (await probe.turns())[0]?.reserved ?? 0
  t.ok(price > 0)

  const pool = { day: price * 20, week: price * 20, month: price * 20 }
  const g = await startGateway(t, { plans: { free: { rpm: 10_000, concurrency: 1_000, pools: { premium: pool } } } })
  const { id, token } = await g.member('free')
  // Nothing ends before all have asked, and what is used is what was held.
  const seen: number[] = []
  const { input: perInput, output: perOutput, discountPercent } = probe.services.products.get('svc-2.1')?.price ?? fail()
  // As many tokens of prompt as the hold was for: nano-dollars a token, credits of a thousand of them, less the discount.
  const input = Math.floor(((price * 1000 * 100) / (100 - discountPercent) - 100 * perOutput) / perInput)
  g.demo.script(() => ({ tokens: 3, usage: { prompt_tokens: input, completion_tokens: 100 }, headMs: 1_500 }))
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await g.chat(token, body)
      const text = await response.text()
      seen.push(response.status)
      if (response.status !== 200)
        t.match(JSON.parse(text), { code: 'quota_exceeded', stage: 'quota', debug: { quotaRefunded: undefined } })
    }),
  )
  t.equal((await g.turns(id)).find(({ state }) => state === 'settled')?.credits, price, 'the turns cost what was held')
  t.equal(seen.filter((status) => status === 200).length, 20)
  t.equal(seen.filter((status) => status === 402).length, 180)
  t.equal(g.demo.stats().requests, 20, 'the upstream heard of no other')
  const turns = await g.turns(id)
  t.equal(turns.filter(({ state }) => state === 'settled').length, 20)
  const last = await envelopeOf(t, await g.chat(token, body), { status: 402, code: 'quota_exceeded', stage: 'quota' })
  t.same(last.actions, ['use_boost', 'upgrade_plan', 'retry_later'])
})

t.test('an idempotency key charges once, however many ask with it', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
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
  await envelopeOf(t, again, { status: 409, code: 'conflict', stage: 'quota' })
  await envelopeOf(
    t,
    await g.chat(token, { temperature: 1 }, { headers }),
    { status: 400, code: 'invalid_request' },
    'another body',
  )
  t.equal((await g.turns(id)).length, 1)
  const other = await g.member()
  t.equal((await g.chat(other.token, {}, { headers })).status, 200, 'another account’s key is its own')
  t.equal((await g.chat(token, {}, { headers: { 'x-svc-request-id': 'same' } })).status, 200)
  t.equal(
    (await g.chat(token, {}, { headers: { 'x-svc-request-id': 'same' } })).status,
    200,
    'a trace id never stands for a turn',
  )
})

t.test('turns at once, and requests a minute, over all keys of an account', async (t) => {
  const g = await startGateway(t, { plans: { pro: { rpm: 12, concurrency: 3 } } })
  const account = await g.account('pro')
  const keys = [await g.key(account), await g.key(account)]
  g.demo.script(() => ({ headMs: 1_000 }))
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => g.chat(keys[i % 2] ?? '')))
  t.equal(answers.filter(({ status }) => status === 200).length, 3)
  const refused = answers.filter(({ status }) => status === 429)
  t.equal(refused.length, 3)
  for (const response of refused) {
    t.match(response.headers.get('retry-after'), /^\d+$/)
    await envelopeOf(t, response, { status: 429, code: 'rate_limited', stage: 'rate_limit' })
  }
  g.demo.script()
  const more = await Promise.all(
    Array.from({ length: 10 }, (_, i) => fetch(`${g.url}/v1/models`, { headers: { authorization: `Bearer ${keys[i % 2]}` } })),
  )
  t.equal(more.filter(({ status }) => status === 200).length, 6, 'what the minute had left')
  t.match(more.find(({ status }) => status === 429)?.headers.get('x-ratelimit-remaining-requests'), '0')
})

function fail(): never {
  throw new Error('there is no such product')
}
