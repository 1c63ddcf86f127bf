/** A prompt of megabytes passes every rule that a short one does, says the same to the upstream, and leaves others their turn. */
import t from 'tap'
import { startGateway, until } from '../support/gateway.ts'

const long = 'The quick brown fox, and "then" 额外的一天.\n'.repeat(40_000)

t.test('the upstream is sent it value for value, and its retry with the same key is known', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  let sent = ''
  g.demo.script((call) => {
    sent = call.rawBody
    return {}
  })
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: long },
  ]
  const headers = { 'idempotency-key': 'once' }
  const answer = await g.chat(token, { messages, temperature: 0.5 }, { headers })
  t.equal(answer.status, 200, await answer.text())
  await g.settled()
  // The demonstration remembers the first megabyte of what it was sent.
  const begins = JSON.stringify({ messages }).slice(1, -2)
  t.ok(sent.includes(begins.slice(0, 500_000)), sent.slice(0, 200))
  t.match(await g.turns(), [{ state: 'settled' }])

  t.equal((await g.chat(token, { messages, temperature: 0.5 }, { headers })).status, 409, 'the same again')
  t.equal((await g.chat(token, { messages, temperature: 0.6 }, { headers })).status, 400, 'another under its key')
  t.equal((await g.turns()).length, 1)
})

t.test('it is refused for what a short one is refused for', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const good = { role: 'user', content: long }
  for (const [body, param] of [
    [{ messages: [good, { role: 'user', content: 5 }] }, 'messages[1].content'],
    [{ messages: [good, { role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }, 'messages[1].content[0]'],
    [{ messages: [good], models: ['x'] }, 'models'],
    [{ messages: [good], n: 99 }, 'n'],
  ] as const) {
    const answer = await g.chat(token, body)
    t.equal(answer.status, 400)
    t.match(await answer.json(), { error: { code: 'invalid_request', param } })
  }
  t.same(await g.turns(), [], 'nothing was held')
})

t.test('a client who leaves while it is counted is charged nothing, and the upstream hears nothing', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  const reserve = g.services.ledger.reserve.bind(g.services.ledger)
  const gone = new AbortController()
  const counted = new Promise<void>((resolve) => {
    g.services.ledger.reserve = async (asked) => {
      // Leaving is seen between slices; by the time of the hold it has been.
      gone.abort()
      await until(() => g.services.limits.running.size > 0, 'the turn to run')
      await new Promise((seen) => setTimeout(seen, 50))
      resolve()
      return reserve(asked)
    }
  })
  await t.rejects(g.chat(token, { messages: [{ role: 'user', content: long }] }, { signal: gone.signal }))
  await counted
  await until(async () => (await g.turns(id)).some(({ state }) => state !== 'held'), 'the hold to end')
  t.match(await g.turns(id), [{ credits: 0, outputTokens: 0 }])
  t.equal(g.demo.calls.length, 0)
  await until(() => g.services.limits.running.size === 0, 'its place to be free')
})
