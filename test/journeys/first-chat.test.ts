/** The shortest way through the whole chain. */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'

t.test('a member asks, the model answers, and the turn is settled before the answer is seen', async (t) => {
  const { member, chat, turns, services } = await startGateway(t)
  const { id, token } = await member()
  const response = await chat(token)
  t.equal(response.status, 200)
  const answer = (await response.json()) as { model: string; choices: { message: { content: string } }[]; usage: object }
  t.equal(answer.model, 'svc-2.1', 'the product is named, not the model behind it')
  t.match(answer.choices[0]?.message.content, /gateway/i)
  const [turn] = await turns(id)
  t.match(turn, {
    state: 'settled',
    model: 'svc-2.1',
    estimated: false,
    upstreamStatus: 200,
    requestId: response.headers.get('x-request-id'),
  })
  t.ok((turn?.credits ?? 0) > 0)
  t.same(await services.ledger.verify(), { ok: true, accounts: 1, turns: 1, holdsOpen: 0, mismatches: [] })
})

t.test('a stream ends after it has been settled', async (t) => {
  const { member, chat, turns } = await startGateway(t)
  const { id, token } = await member()
  const response = await chat(token, { stream: true })
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.match(await response.text(), /^data: \{.*data: \[DONE\]\n\n$/s)
  t.match(await turns(id), [{ state: 'settled' }])
})
