/** Several targets: retries, rests and full upstreams. */
import t from 'tap'
import { bringBackTarget, listRoutedProducts, takeOutTarget } from '../../src/services/routing/target-routing.ts'
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

const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: 'it answers slowly' } as const

t.test('a target that was taken out is not called, and comes back by itself', async (t) => {
  const { gateway, token } = await openTurns(t, answer(2), {})
  const { services } = gateway
  gateway.startJobs()
  const send = async () => {
    const turn = gateway.send(token)
    await gateway.clock.run(1_000)
    t.match(describeTurn(gateway, turn), /^completed/)
    return gateway.upstream.calls.at(-1)?.host
  }
  t.equal(await send(), 'first.example')
  const [first = ''] =
    listRoutedProducts(services)
      .find(({ product }) => product.id === 'svc-2.1')
      ?.targets.map(({ name }) => name) ?? []
  await takeOutTarget({ target: first, minutes: 5, allowsLast: false }, author, services)
  t.equal(await send(), 'second.example')
  await gateway.clock.run(4 * 60_000)
  t.equal(await send(), 'second.example')
  await gateway.clock.run(60_000)
  t.equal(await send(), 'first.example', 'after five minutes')

  await takeOutTarget({ target: first, minutes: 1_440, allowsLast: false }, author, services)
  t.equal(await send(), 'second.example')
  await bringBackTarget(first, author, services)
  t.equal(await send(), 'first.example', 'and at once where it is brought back')
  await t.rejects(bringBackTarget(first, author, services), { code: 'conflict' })

  await services.store.takenOutTargets.takeOut(
    { target: first, takenOutAt: services.clock.now(), until: services.clock.now() + 60_000, reason: 'by another node' },
    () => true,
  )
  await gateway.clock.run(2_000)
  t.equal(await send(), 'second.example', 'what another node takes out is left out within two seconds')
})

t.test(
  'the last target of a product is taken out only where that is confirmed, and its turns are refused and refunded',
  async (t) => {
    const { gateway, token } = await openTurns(t, answer(2), oneTarget)
    const { services } = gateway
    const order = { target: 'main/m', minutes: 10, allowsLast: false }
    await t.rejects(takeOutTarget(order, author, services), {
      code: 'conflict',
      message: /last target of svc-2\.1.*upstream_model_unavailable/,
    })
    await t.rejects(takeOutTarget({ ...order, target: 'main/none' }, author, services), { code: 'not_found' })
    t.same(await services.store.takenOutTargets.list(services.clock.now()), [])
    await takeOutTarget({ ...order, allowsLast: true }, author, services)
    const turn = gateway.send(token)
    await gateway.clock.run(1_000)
    t.match(describeTurn(gateway, turn), /^failed upstream_model_unavailable after \d ms: 502, refunded$/)
    t.match(turn.outcome, { failure: { details: { retryAfter: 600, shouldRetry: false } } })
    t.equal(gateway.upstream.calls.length, 0)
    t.match(
      (await services.store.audit.list({ limit: 5 })).map(({ event, detail, reason }) => [event, detail?.['target'], reason]),
      [['target_taken_out', 'main/m', 'it answers slowly']],
    )
  },
)
