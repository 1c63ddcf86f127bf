/** `count_tokens` follows what the upstream reports for prompts. */
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { setUpAnthropicGateway } from '../../../support/gateway/scripted-gateway.ts'

t.test('counts a prompt by what the target reported for earlier ones', async (t) => {
  const prompt = { messages: [{ role: 'user', content: 'The target makes more tokens of this sentence. '.repeat(100) }] }
  let reportedTokens = 0
  const { post } = await setUpAnthropicGateway(t, () => ({ usage: { input_tokens: reportedTokens, output_tokens: 3 } }))
  const count = async (body: object = prompt): Promise<number> => {
    const answer = (await (await post('/v1/messages/count_tokens', body)).json()) as { input_tokens: number }
    return answer.input_tokens
  }
  const before = await count()
  reportedTokens = Math.round((before / 1.05) * 1.4)
  for (let turn = 0; turn < 20; turn++)
    t.equal((await post('/v1/messages', { ...prompt, max_tokens: 50 })).status, 200, `turn ${turn}`)
  const after = await count()
  t.ok(after > reportedTokens, 'an agent never counts too few')
  t.ok(after < reportedTokens * 1.1, 'nor many too many')
})

t.test('counts for a product id with the suffix of a long context', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const count = async (model: string) => {
    const answer = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    return { status: answer.status, body: (await answer.json()) as object }
  }
  t.same(await count('svc-2.1[1m]'), await count('svc-2.1'))
  t.equal((await count('svc-2.1')).status, 200)
  t.equal((await count('nothing[1m]')).status, 404)
})
