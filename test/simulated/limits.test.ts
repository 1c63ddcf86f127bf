/** Limits of a plan: concurrent turns and requests per minute. */
import t from 'tap'
import { describeTurn, oneTarget, openTurns } from './gateway/open-turns.ts'
import { answer } from './gateway/simulated-upstream.ts'

t.test('a turn beyond the concurrency of its plan waits for a slot, and only for its time', async (t) => {
  const { gateway, token } = await openTurns(t, answer(10, { betweenMs: 100 }), {
    ...oneTarget,
    plans: { max: { concurrency: 1, rpm: 100 } },
    limits: { concurrencyWaitMs: 3_000 },
  })
  const [first, second, third] = [gateway.send(token), gateway.send(token), gateway.send(token)]
  await gateway.clock.run(10_000)
  t.match(describeTurn(gateway, first), /^completed after 1\d{3} ms: whole/)
  t.match(describeTurn(gateway, second), /^completed after 2\d{3} ms: whole/)
  t.match(describeTurn(gateway, third), /^failed rate_limited after \d+ ms: 429, no hold$/, 'as many wait as run')
})

t.test('a refused minute is over after the reported time', async (t) => {
  const { gateway, token } = await openTurns(t, answer(1), { ...oneTarget, plans: { max: { concurrency: 10, rpm: 2 } } })
  const turns = [gateway.send(token), gateway.send(token), gateway.send(token)]
  await gateway.clock.run(1_000)
  t.match(
    turns.map((turn) => describeTurn(gateway, turn).split(' after')[0]),
    ['completed', 'completed', 'failed rate_limited'],
  )
  const seconds = Number(turns[2]?.client.headers['retry-after'])
  t.ok(seconds > 0 && seconds <= 60, `${seconds} s`)
  await gateway.clock.run((seconds || 0) * 1_000)
  const next = gateway.send(token)
  await gateway.clock.run(1_000)
  t.match(describeTurn(gateway, next), /^completed/)
})
