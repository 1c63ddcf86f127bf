/** Tokens that an upstream read from its cache have their own price, whichever upstream reports them and whichever API format is used. */
import t from 'tap'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { anthropicKey, startAnthropicServer } from '../../../support/upstream/anthropic-server.ts'

/** Dollars per million tokens are credits per token. */
const flagship = { input: 1_000, cachedInput: 100, output: 3_000, discountPercent: 50 }
const unlimited = { day: 1e12, week: 1e12, month: 1e12 }
const formats = [
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello!' }] }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 200 }],
  ['/v1/responses', { input: 'Hello!' }],
] as const

t.test('charges cached tokens by their price, and shows them in the turn log', async (t) => {
  const usage = { input_tokens: 5, cache_read_input_tokens: 70, cache_creation_input_tokens: 25, output_tokens: 8 }
  const server = await startAnthropicServer(t, () => ({ usage }))
  const pools = { fast: unlimited, premium: unlimited }
  const gateway = await startGateway(t, {
    upstreams: { claude: { baseUrl: server.url, apiKey: anthropicKey, kind: 'anthropic' } },
    products: { 'svc-2.1-pro': { targets: [{ upstream: 'claude', model: 'claude-one' }] } },
    prices: { flagship },
    plans: { free: { pools, rpm: 100 } },
  })
  gateway.demo.script(() => ({
    tokens: 8,
    usage: { prompt_tokens: 100, completion_tokens: 8, prompt_tokens_details: { cached_tokens: 70 } },
  }))
  const member = new WebsiteClient(gateway)
  await member.signIn('mei@example.com')
  const { token } = (await member.post('auth/api-keys', { name: 'laptop' })).body as { token: string }
  const expected = { inputTokens: 100, cachedInputTokens: 70, outputTokens: 8, estimated: false }
  const credits = (30 * 1_000 + 70 * 100 + 8 * 3_000) / 2
  for (const model of ['svc-2.1', 'svc-2.1-pro'])
    for (const [path, body] of formats)
      for (const stream of [false, true]) {
        const answer = await fetch(gateway.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, stream, ...body }),
        })
        t.equal(answer.status, 200, await answer.text())
        const [turn] = await gateway.listTurns()
        t.match(turn, { state: 'settled', model, credits, ...expected }, `${path} of ${model}${stream ? ', streamed' : ''}`)
      }

  const log = await member.get('usage')
  t.match(log.body.turns[0], { input_tokens: 100, cached_input_tokens: 70, credits })
  const history = await member.get('usage/history?days=7')
  t.match(history.body.total, { turns: 12, input_tokens: 1200, cached_input_tokens: 840 })
  const { stdout } = await createOperatorCli(t, gateway.config.store.dataDir)('turns')
  t.match(stdout, / in\/out +cached .*\n.* 100\/8 +70 /)
  t.match(
    gateway.log.find((line) => line.includes('"cachedInputTokens":70')),
    /"inputTokens":100,/,
  )
})

t.test('charges the full price where the upstream reports no cached tokens, or the tier has no price for them', async (t) => {
  for (const [cachedInput, cached, credits] of [
    [100, undefined, 100 * 1_000 + 8 * 3_000],
    [null, 70, 100 * 1_000 + 8 * 3_000],
    [100, 1_000_000, 100 * 100 + 8 * 3_000],
    [0, 100, 8 * 3_000],
  ] as const) {
    const gateway = await startGateway(t, {
      prices: { flagship: { ...flagship, cachedInput } },
      plans: { max: { pools: { fast: unlimited, premium: unlimited } } },
    })
    const details = cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }
    gateway.demo.script(() => ({ tokens: 8, usage: { prompt_tokens: 100, completion_tokens: 8, ...details } }))
    const { token } = await gateway.createMember()
    t.equal((await gateway.chat(token)).status, 200)
    t.match(await gateway.listTurns(), [{ credits: credits / 2, cachedInputTokens: Math.min(cached ?? 0, 100) }])
  }
})
