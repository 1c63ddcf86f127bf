/** Every way in which a turn ends in time, and what the member is charged. */
import t from 'tap'
import { describeTurn, openTurns, timeouts } from './gateway/open-turns.ts'
import { answer, data, done, end, finish, rejection, reset, streamHead, usage, wait, word } from './gateway/simulated-upstream.ts'
import type { Script } from './gateway/simulated-upstream.ts'

const comments = (count: number): Script => Array.from({ length: count }, () => [wait(1_000), data(': still here\n\n')]).flat()

t.test('an answer reaches the client and is settled', async (t) => {
  const { gateway, token } = await openTurns(t, answer(3, { firstMs: 500, betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(5_000)
  t.match(describeTurn(gateway, turn), /^completed after \d{3} ms: whole, settled$/)
  t.equal(turn.client.body.match(/word/g)?.length, 3)
})

for (const [name, script, expected] of [
  ['no first byte', [], /^failed upstream_error after 30\d{3} ms: part, refunded$/],
  ['no event after the first', [streamHead, word], /^failed upstream_error after 20\d{3} ms: part, refunded$/],
  ['a lost connection before the answer', [wait(100), reset], /^failed upstream_\w+ after \d{3} ms: 50\d, refunded$/],
  [
    'a lost connection within the answer',
    [streamHead, word, wait(100), reset],
    /^failed upstream_\w+ after \d{3} ms: part, refunded$/,
  ],
  ['only [DONE] is missing', [streamHead, word, finish, usage(1)], /^completed after 20\d{3} ms: whole, settled$/],
  [
    'an upstream that stays connected after [DONE]',
    [streamHead, word, finish, usage(1), done],
    /^completed after \d{1,3} ms: whole, settled$/,
  ],
] as const)
  t.test(`ends for ${name}`, async (t) => {
    const { gateway, token } = await openTurns(t, script)
    const turn = gateway.send(token)
    await gateway.clock.run(60_000)
    t.match(describeTurn(gateway, turn), expected)
    t.equal(gateway.forwarder.running, 0)
    t.equal(gateway.countOpenHolds(), 0)
  })

t.test('an answer that goes on until the total time is cut off and charged', async (t) => {
  const { gateway, token } = await openTurns(t, answer(1_000, { betweenMs: 1_000 }))
  const turn = gateway.send(token)
  await gateway.clock.run(timeouts.totalMs + 1_000)
  t.match(describeTurn(gateway, turn), /^completed after 300\d{3} ms: whole, settled$/)
  t.match(turn.client.body, /"finish_reason":"length"/)
})

t.test('an upstream that is silent gets keep-alive comments sent to its client', async (t) => {
  const { gateway, token } = await openTurns(t, [streamHead, wait(19_000), ...answer(1).slice(1)])
  const turn = gateway.send(token)
  await gateway.clock.run(9_000)
  t.equal(turn.client.body, '')
  await gateway.clock.run(2_000)
  t.match(turn.client.body, /^:/)
  await gateway.clock.run(20_000)
  t.match(describeTurn(gateway, turn), /^completed after 19\d{3} ms: whole, settled$/)
})

t.test('a client that reads nothing is disconnected and charged', async (t) => {
  const { gateway, token } = await openTurns(t, answer(20, { betweenMs: 500 }))
  const turn = gateway.send(token, { paceMs: Infinity })
  await gateway.clock.run(timeouts.slowReaderMs + 5_000)
  t.match(describeTurn(gateway, turn), /^aborted after 6\d{4} ms: part, settled$/)
})

t.test('a pause of the machine, however long, ends no turn before its total time', async (t) => {
  const { gateway, token } = await openTurns(t, answer(20, { betweenMs: 1_000 }))
  const turns = [gateway.send(token), gateway.send(token, { paceMs: 100 })]
  for (let pause = 0; pause < 4; pause++) {
    await gateway.clock.run(3_000)
    gateway.clock.skip(50_000)
  }
  await gateway.clock.run(20_000)
  for (const turn of turns) t.match(describeTurn(gateway, turn), /^completed after \d+ ms: whole, settled$/)
})

t.test('a shutdown ends a turn with a refund', async (t) => {
  const { gateway, token } = await openTurns(t, answer(100, { betweenMs: 1_000 }))
  const turn = gateway.send(token)
  await gateway.clock.run(5_000)
  gateway.forwarder.abortAll(new Error('the service restarts'))
  await gateway.clock.run(100)
  t.match(describeTurn(gateway, turn), /^failed \w+ after 5\d{3} ms: part, refunded$/)
})

for (const stream of [true, false])
  for (const [name, script, expected] of [
    ['before the head', [], /^failed upstream_error after 30\d{3} ms: (?:part|502), refunded$/],
    ['after the head', [streamHead], /^failed upstream_error after 30\d{3} ms: (?:part|502), refunded$/],
    ['after comments', [streamHead, ...comments(15)], /^failed upstream_error after 35\d{3} ms: (?:part|502), refunded$/],
  ] as const)
    t.test(`a stall ${name} ends ${stream ? 'a stream' : 'a whole answer'} within its own time, refunded`, async (t) => {
      const { gateway, token } = await openTurns(t, script)
      const turn = gateway.send(token, { stream })
      await gateway.clock.run(60_000)
      t.match(describeTurn(gateway, turn), expected)
      if (!stream) t.equal(turn.client.headers['x-should-retry'], 'false', 'SDKs do not triple the wait')
    })

t.test('an answer whose upstream falls silent after its last chunk is complete', async (t) => {
  for (const stream of [true, false]) {
    const { gateway, token } = await openTurns(t, [streamHead, word, word, finish])
    const turn = gateway.send(token, { stream })
    await gateway.clock.run(30_000)
    t.match(
      describeTurn(gateway, turn),
      stream ? /^completed after 20\d{3} ms: whole, settled$/ : /^completed after 20\d{3} ms: 200, settled$/,
    )
    t.match(turn.client.body, /"finish_reason":"stop"/)
    t.equal(gateway.forwarder.running, 0, 'and the call is aborted')
  }
})

t.test('a stream that comments have opened may still fail or succeed', async (t) => {
  const { gateway, token } = await openTurns(t, (count) =>
    count === 0 ? answer(3, { firstMs: 29_000 }) : [wait(29_000), ...rejection(500)],
  )
  const [good, bad] = [gateway.send(token), gateway.send(token)]
  await gateway.clock.run(40_000)
  t.match(good.client.body, /^(: keep-alive\n\n){2,}data: \{.*\[DONE\]\n\n$/s)
  t.equal(bad.client.status, 200, 'the stream had to be opened')
  t.match(bad.client.body, /^(: keep-alive\n\n){2,}data: \{"ok":false.*"code":"upstream_error".*\}\n\ndata: \[DONE\]\n\n$/)
  t.same([gateway.readTurn(good)?.state, gateway.readTurn(bad)?.state], ['settled', 'refunded'])
})

t.test('an empty stream that a comment has opened is passed on, and not charged', async (t) => {
  const { gateway, token } = await openTurns(t, [wait(15_000), streamHead, finish, done, end])
  const turn = gateway.send(token)
  await gateway.clock.run(20_000)
  t.match(turn.client.body, /^: keep-alive.*"finish_reason":"stop".*\[DONE\]/s)
  t.equal(gateway.upstream.calls.length, 1)
  t.match(gateway.readTurn(turn), { state: 'settled', credits: 0 })
})

t.test('a turn that reads slowly until its total time is charged for its answer', async (t) => {
  const { gateway, token } = await openTurns(t, answer(1_000))
  const turn = gateway.send(token, { paceMs: 5_000 })
  await gateway.clock.run(timeouts.totalMs + 1_000)
  t.match(describeTurn(gateway, turn), /, settled$/)
  t.ok((gateway.readTurn(turn)?.credits ?? 0) > 0)
})
