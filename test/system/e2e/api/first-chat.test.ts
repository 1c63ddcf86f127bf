/** The shortest path through the whole plugin chain. */
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('settles the turn before the member receives the answer', async (t) => {
  const { createMember, chat, listTurns, services } = await startGateway(t)
  const { id, token } = await createMember()
  const response = await chat(token)
  t.equal(response.status, 200)
  const answer = (await response.json()) as { model: string; choices: { message: { content: string } }[]; usage: object }
  t.equal(answer.model, 'svc-2.1', 'the product is named, not the model behind it')
  t.match(answer.choices[0]?.message.content, /gateway/i)
  const [turn] = await listTurns(id)
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

t.test('ends a stream after the turn has been settled', async (t) => {
  const { createMember, chat, listTurns } = await startGateway(t)
  const { id, token } = await createMember()
  const response = await chat(token, { stream: true })
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.match(await response.text(), /^data: \{.*data: \[DONE\]\n\n$/s)
  t.match(await listTurns(id), [{ state: 'settled' }])
})
