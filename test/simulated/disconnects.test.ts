/** Clients that disconnect: when the upstream request ends, and what they are charged. */
import t from 'tap'
import { describeTurn, oneTarget, openTurns } from './gateway/open-turns.ts'
import { answer, data, end, rejection, wait } from './gateway/simulated-upstream.ts'
import type { Script } from './gateway/simulated-upstream.ts'

t.test('a client that disconnects is charged for what was produced', async (t) => {
  const { gateway, token } = await openTurns(t, answer(200, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(5_000)
  turn.client.disconnect()
  await gateway.clock.run(5_000)
  t.match(describeTurn(gateway, turn), /^aborted after 50\d{2} ms: part, settled$/)
  t.ok((gateway.readTurn(turn)?.credits ?? 0) > 0)
})

t.test('a client that disconnects from a whole answer is charged once the answer is there', async (t) => {
  const body = JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(50) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens: 50, total_tokens: 57 },
  })
  const script: Script = [
    wait(9_000),
    { kind: 'head', status: 200, headers: { 'content-type': 'application/json' } },
    data(body),
    end,
  ]
  const { gateway, token } = await openTurns(t, script)
  const turn = gateway.send(token, { stream: false })
  await gateway.clock.run(2_000)
  turn.client.disconnect()
  await gateway.clock.run(1_000)
  t.equal(describeTurn(gateway, turn), 'running', 'the upstream works on it')
  await gateway.clock.run(10_000)
  t.match(describeTurn(gateway, turn), /^aborted after 90\d{2} ms: null, settled$/)
})

t.test('a client that disconnects is charged no more for a failing upstream than a connected one', async (t) => {
  const { gateway, token } = await openTurns(t, [wait(1_000), ...rejection(500)])
  const turn = gateway.send(token, { stream: false })
  await gateway.clock.run(100)
  turn.client.disconnect()
  await gateway.clock.run(100)
  t.equal(gateway.forwarder.running, 1, 'it runs on, and counts as running')
  await gateway.clock.run(5_000)
  t.match(gateway.readTurn(turn), { state: 'refunded', credits: 0 })
})

t.test('a client that disconnects while its turn waits for an upstream connection pays nothing', async (t) => {
  const { gateway, token } = await openTurns(t, [wait(20_000), ...answer(1)], {
    ...oneTarget,
    upstreams: { main: { connections: 1, maxPendingMs: 60_000 }, second: {} },
  })
  gateway.send(token)
  await gateway.clock.run(100)
  const waiting = gateway.send(token)
  await gateway.clock.run(1_000)
  waiting.client.disconnect()
  await gateway.clock.run(100)
  t.match(describeTurn(gateway, waiting), /^aborted after 10\d{2} ms: null, settled$/)
  t.match(gateway.readTurn(waiting), { credits: 0 })
  t.equal(gateway.upstream.calls.length, 1)
  await gateway.clock.run(30_000)
})

t.test('a client that disconnects from a whole answer that the upstream holds back is charged for all of it', async (t) => {
  const { gateway, token } = await openTurns(t, answer(50, { firstMs: 9_000 }))
  // The first turn's answer must not make the next ones cheaper.
  for (const leaveMs of [500, 4_500, 8_500, 500]) {
    const turn = gateway.send(token, { stream: false })
    await gateway.clock.run(leaveMs)
    turn.client.disconnect()
    await gateway.clock.run(10_000)
    t.match(describeTurn(gateway, turn), /^aborted after 90\d{2} ms: null, settled$/)
    t.equal(gateway.readTurn(turn)?.outputTokens, 50)
  }
})

t.test('a client that disconnects from a whole answer that grows is charged for what was produced by then', async (t) => {
  const { gateway, token } = await openTurns(t, answer(100, { betweenMs: 100 }))
  for (const leaveMs of [500, 5_000, 9_500]) {
    const turn = gateway.send(token, { stream: false })
    await gateway.clock.run(leaveMs)
    turn.client.disconnect()
    await gateway.clock.run(100)
    t.equal(gateway.forwarder.running, 0, 'the upstream request ends at once')
    await gateway.clock.run(20_000)
    const { state, outputTokens = 0 } = gateway.readTurn(turn) ?? {}
    t.equal(state, 'settled')
    t.ok(Math.abs(outputTokens - leaveMs / 100) <= 2, `${outputTokens} tokens after ${leaveMs} ms`)
  }
})
