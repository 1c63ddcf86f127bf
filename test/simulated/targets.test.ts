/** Several targets: retries, rests and full upstreams. */
import t from 'tap'
import { describeTurn, oneTarget, openTurns, timeouts } from './gateway/open-turns.ts'
import { answer, rejection, wait } from './gateway/simulated-upstream.ts'

t.test('another target serves a turn that the first one refused, and the first one rests', async (t) => {
  const { gateway, token } = await openTurns(t, (count) => (count === 0 ? rejection(503, { 'retry-after': '30' }) : answer(2)), {
    upstreams: { main: { restAfterFailures: 1 } },
  })
  const turn = gateway.send(token)
  await gateway.clock.run(1_000)
  t.match(describeTurn(gateway, turn), /^completed after \d+ ms: whole, settled$/)
  t.same(
    gateway.upstream.calls.map(({ host }) => host),
    ['first.example', 'second.example'],
  )
  const resting = gateway.send(token)
  await gateway.clock.run(1_000)
  t.match(describeTurn(gateway, resting), /^completed/)
  t.equal(gateway.upstream.calls.at(-1)?.host, 'second.example', 'it rests')
  await gateway.clock.run(60_000)
  gateway.send(token)
  await gateway.clock.run(1_000)
  t.equal(gateway.upstream.calls.at(-1)?.host, 'first.example', 'and is called again')
})

t.test('at most a tenth of 200 turns is sent to a second target', async (t) => {
  // Healthy, but over its limit: it does not rest.
  const { gateway, token } = await openTurns(t, () => rejection(429), {})
  for (let i = 0; i < 200; i++) {
    gateway.send(token)
    await gateway.clock.run(10)
  }
  await gateway.clock.run(1_000)
  const count = (name: string) => gateway.upstream.calls.filter(({ host }) => host === name).length
  t.same([count('first.example'), count('second.example')], [200, 20])
})

t.test('one total time bounds a turn over all its targets', async (t) => {
  const { gateway, token } = await openTurns(
    t,
    (count) => (count === 0 ? [wait(9_000), ...rejection(503)] : answer(1_000, { betweenMs: 500 })),
    {},
  )
  const turn = gateway.send(token)
  await gateway.clock.run(timeouts.totalMs + 30_000)
  t.match(describeTurn(gateway, turn), /^completed after 300\d{3} ms: whole, settled$/)
  t.equal(gateway.upstream.calls.length, 2)
})

t.test('a turn waits for a full upstream only for its time, and takes a place that comes free', async (t) => {
  const { gateway, token } = await openTurns(t, answer(1, { firstMs: 3_000 }), {
    ...oneTarget,
    upstreams: { main: { connections: 1, maxPending: 2, maxPendingMs: 4_000, restAfterFailures: 0 }, second: {} },
  })
  const turns = [gateway.send(token), gateway.send(token), gateway.send(token), gateway.send(token)]
  await gateway.clock.run(20_000)
  t.match(
    turns.map((turn) => describeTurn(gateway, turn)),
    [
      /^completed after 3\d{3} ms: whole, settled$/,
      /^completed after 6\d{3} ms: whole, settled$/,
      /^failed upstream_rate_limited after 4\d{3} ms: 429, refunded$/,
      /^failed upstream_rate_limited after \d{1,3} ms: 429, refunded$/,
    ],
  )
})
