/** Two targets, one bad: members do not notice, the bad one is left alone, and nothing is ever asked twice once it may have been done. */
import t from 'tap'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import type { DemoUpstream } from '../../src/upstream/demo/upstream.ts'
import { startGateway, until } from '../support/gateway.ts'
import type { Overrides, TestGateway } from '../support/gateway.ts'

async function pair(
  t: Parameters<typeof startGateway>[0],
  weights = [1, 0],
  timeouts: Overrides['timeouts'] = {},
): Promise<{ g: TestGateway; first: DemoUpstream; second: DemoUpstream; token: string }> {
  const [first, second] = [await startDemoUpstream(), await startDemoUpstream()]
  t.teardown(async () => {
    await first.close()
    await second.close()
  })
  const targets = [
    { upstream: 'one', model: 'demo-flagship', weight: weights[0] ?? 1 },
    { upstream: 'two', model: 'demo-flagship', weight: weights[1] ?? 1 },
  ]
  const g = await startGateway(t, {
    upstreams: { one: { baseUrl: first.url }, two: { baseUrl: second.url } },
    products: { 'svc-2.1': { targets } },
    timeouts,
  })
  const { token } = await g.member()
  return { g, first, second, token }
}

t.test('what was refused whole is tried elsewhere; what may have been done is not', async (t) => {
  const { g, first, second, token } = await pair(t)
  for (const [name, script, moved] of [
    ['429', { status: 429 }, true],
    ['503', { status: 503 }, true],
    ['500', { status: 500 }, false],
    ['400', { status: 400 }, false],
    ['401', { status: 401 }, false],
    ['a reset before the head', { reset: { afterBytes: 0 } }, false],
    ['a reset in the stream', { reset: { afterEvents: 3 }, betweenMs: 20 }, false],
    ['an error as the first event', { error: { at: 'first' } }, false],
  ] as const) {
    const before = second.stats().requests
    first.script(() => script)
    const response = await g.chat(token, { stream: true })
    const text = await response.text()
    t.equal(second.stats().requests - before, moved ? 1 : 0, `${name}: ${moved ? 'moved on' : 'asked once'}`)
    t.equal(response.status === 200 && !text.includes('"ok":false'), moved, name)
    const [turn] = await g.turns()
    t.match(turn, { state: moved ? 'settled' : 'refunded', target: moved ? 'two/demo-flagship' : 'one/demo-flagship' }, name)
  }
})

t.test('a target that cannot be reached is passed over', async (t) => {
  const { g, first, second, token } = await pair(t)
  await first.close()
  t.equal((await g.chat(token)).status, 200)
  t.equal(second.stats().requests, 1)
})

t.test('a bad target is left alone, tried once a second, and taken back when it heals', async (t) => {
  const { g, first, second, token } = await pair(t, [1, 1])
  first.script(() => ({ status: 500 }))
  let failed = 0
  for (let i = 0; i < 60 && g.services.upstreams.breaker('one/demo-flagship').state(g.services.clock.ticks()) === 'closed'; i++) {
    const response = await g.chat(token)
    if (response.status !== 200) failed++
    await response.text()
  }
  t.ok(failed >= 5 && failed <= 30, `${failed} failures opened it`)
  const before = first.stats().requests
  const from = performance.now()
  let refused = 0
  for (let i = 0; i < 40; i++) {
    const response = await g.chat(token)
    if (response.status !== 200) refused++
    await response.text()
  }
  const probes = first.stats().requests - before
  const seconds = Math.ceil((performance.now() - from) / 1000)
  t.ok(probes <= seconds, `${probes} calls in ${seconds} s while open`)
  t.equal(refused, probes, 'nobody but the probes meets it')
  t.match(await g.metrics(), /svc_upstream_breaker_state\{target="one\/demo-flagship"\} [12]/)

  first.script()
  await until(async () => {
    await (await g.chat(token)).text()
    return g.services.upstreams.breaker('one/demo-flagship').state(g.services.clock.ticks()) === 'closed'
  }, 'the healed target to be taken back')
  const healed = first.stats().requests
  for (let i = 0; i < 20; i++) await (await g.chat(token)).text()
  t.ok(first.stats().requests > healed, 'it has its share again')
  t.ok(second.stats().requests > 0)
})

t.test('a member’s own mistakes do not close a target to others', async (t) => {
  const { g, first, token } = await pair(t, [1, 1])
  first.script(() => ({ status: 400 }))
  for (let i = 0; i < 30; i++) await (await g.chat(token)).text()
  t.equal(g.services.upstreams.breaker('one/demo-flagship').state(g.services.clock.ticks()), 'closed')
})

t.test('a turn has one total time, however many targets it went to', async (t) => {
  const { g, first, second, token } = await pair(t, [1, 0], {
    connectMs: 5_000,
    firstByteMs: 5_000,
    idleMs: 5_000,
    totalMs: 5_000,
  })
  first.script(() => ({ status: 503, headMs: 2_000 }))
  second.script(() => ({ tokens: 1_000, betweenMs: 50 }))
  const from = performance.now()
  t.match(await (await g.chat(token, { stream: true })).text(), '"ok":false')
  const took = performance.now() - from
  t.equal(second.stats().requests, 1, 'the second was asked')
  t.ok(took < 6_900, `it took ${Math.round(took)} ms of 5000; one for each target would be 7000`)
  t.match(await g.turns(), [{ state: 'refunded', target: 'two/demo-flagship' }])
})

t.test('a refused connection fails no turn while a healthy target stands, and costs no retry', async (t) => {
  const { g, first, second, token } = await pair(t, [1, 1])
  await first.close()
  for (let i = 0; i < 40; i++) t.equal((await g.chat(token)).status, 200)
  t.equal(second.stats().requests, 40)
})

t.test('of 200 turns a tenth may be asked twice, and no more', async (t) => {
  const { g, first, second, token } = await pair(t, [1, 0])
  // In good health, only without patience: the breaker has nothing to say about it.
  first.script(() => ({ status: 429 }))
  for (let i = 0; i < 200; i++) await (await g.chat(token)).text()
  t.equal(first.stats().requests, 200)
  t.equal(second.stats().requests, 20)
})

t.test('the status that is told is that of the last attempt', async (t) => {
  const { g, first, second, token } = await pair(t, [1, 0])
  first.script(() => ({ status: 503 }))
  await second.close()
  const { debug } = (await (await g.chat(token)).json()) as { debug: Record<string, unknown> }
  t.notOk('upstreamStatus' in debug, 'nobody has answered the last time')
  t.match(await g.turns(), [{ state: 'refunded', target: 'two/demo-flagship', upstreamStatus: null }])
})
