/** Two targets, one faulty: members notice nothing, the faulty one rests, and no call is repeated once it may have been executed. */
import t from 'tap'
import { startFakeUpstream } from '../../../../support/upstream/server.ts'
import type { FakeUpstream } from '../../../../support/upstream/server.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../../support/gateway/test-gateway.ts'

/** These tests look at the failure rate and at single turns; `resting-target.test.ts` has the rest. */
const neverResting = { restAfterFailures: 0, rejectedKeyRestMs: 0 }

/** Nothing listens there. A port of the system's choice could be given to another process after it was closed. */
const unreachable = 'http://127.0.0.1:9/v1'

async function startTwoTargets(
  t: Parameters<typeof startGateway>[0],
  weights = [1, 0],
  timeouts: Overrides['timeouts'] = {},
  upstreams: Overrides['upstreams'] = {},
): Promise<{ g: TestGateway; first: FakeUpstream; second: FakeUpstream; token: string }> {
  const [first, second] = [await startFakeUpstream(), await startFakeUpstream()]
  t.teardown(async () => {
    await first.close()
    await second.close()
  })
  const targets = [
    { upstream: 'one', model: 'demo-flagship', weight: weights[0] ?? 1 },
    { upstream: 'two', model: 'demo-flagship', weight: weights[1] ?? 1 },
  ]
  const g = await startGateway(t, {
    upstreams: {
      one: { baseUrl: first.url, ...neverResting, ...upstreams.one },
      two: { baseUrl: second.url, ...neverResting, ...upstreams.two },
    },
    products: { 'svc-2.1': { targets } },
    timeouts,
  })
  const { token } = await g.createMember()
  return { g, first, second, token }
}

t.test('retries a refused call on another target, and never one that may have been executed', async (t) => {
  const { g, first, second, token } = await startTwoTargets(t)
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
    const [turn] = await g.listTurns()
    t.match(turn, { state: moved ? 'settled' : 'refunded', target: moved ? 'two/demo-flagship' : 'one/demo-flagship' }, name)
  }
})

t.test('skips a target that cannot be reached', async (t) => {
  const { g, second, token } = await startTwoTargets(t, [1, 0], {}, { one: { baseUrl: unreachable } })
  t.equal((await g.chat(token)).status, 200)
  t.equal(second.stats().requests, 1)
})

t.test('rests a faulty target, probes it once a second, and uses it again when it recovers', async (t) => {
  const { g, first, second } = await startTwoTargets(t, [1, 1])
  // A conversation stays at its target, and leaves it after a failure, so each call is another member's.
  const tokens: string[] = []
  while (tokens.length < 60) tokens.push((await g.createMember()).token)
  let calls = 0
  const chat = (): Promise<Response> => g.chat(tokens[calls++ % tokens.length] ?? '')
  first.script(() => ({ status: 500 }))
  let failed = 0
  for (
    let i = 0;
    i < 60 && g.services.upstreams.getBreaker('one/demo-flagship').state(g.services.clock.monotonicMs()) === 'closed';
    i++
  ) {
    const response = await chat()
    if (response.status !== 200) failed++
    await response.text()
  }
  t.ok(failed >= 5 && failed <= 30, `${failed} failures opened it`)
  const before = first.stats().requests
  const from = performance.now()
  let refused = 0
  for (let i = 0; i < 40; i++) {
    const response = await chat()
    if (response.status !== 200) refused++
    await response.text()
  }
  const probes = first.stats().requests - before
  const seconds = Math.ceil((performance.now() - from) / 1000)
  t.ok(probes <= seconds, `${probes} calls in ${seconds} s while open`)
  t.equal(refused, probes, 'nobody but the probes meets it')
  t.match(await g.scrapeMetrics(), /svc_upstream_breaker_state\{target="one\/demo-flagship"\} [12]/)

  first.script()
  await waitUntil(async () => {
    await (await chat()).text()
    return g.services.upstreams.getBreaker('one/demo-flagship').state(g.services.clock.monotonicMs()) === 'closed'
  }, 'the healed target to be taken back')
  const healed = first.stats().requests
  // Other members: for one whose turn has just failed there, this target comes last for a while.
  for (let i = 0; i < 20; i++) await (await g.chat((await g.createMember()).token)).text()
  t.ok(first.stats().requests > healed, 'it has its share again')
  t.ok(second.stats().requests > 0)
})

t.test('keeps a target open for others after one member’s own mistakes', async (t) => {
  const { g, first, token } = await startTwoTargets(t, [1, 1])
  first.script(() => ({ status: 400 }))
  for (let i = 0; i < 30; i++) await (await g.chat(token, { prompt_cache_key: `session-${i}` })).text()
  t.equal(g.services.upstreams.getBreaker('one/demo-flagship').state(g.services.clock.monotonicMs()), 'closed')
})

t.test('a refused connection fails no turn and uses no retry budget while a healthy target exists', async (t) => {
  const { g, second, token } = await startTwoTargets(t, [1, 1], {}, { one: { baseUrl: unreachable } })
  for (let i = 0; i < 40; i++) t.equal((await g.chat(token)).status, 200)
  t.equal(second.stats().requests, 40)
})

t.test('reports the status of the last attempt', async (t) => {
  const { g, first, token } = await startTwoTargets(t, [1, 0], {}, { two: { baseUrl: unreachable } })
  first.script(() => ({ status: 503 }))
  const { debug } = (await (await g.chat(token)).json()) as { debug: Record<string, unknown> }
  t.notOk('upstreamStatus' in debug, 'nobody has answered the last time')
  t.match(await g.listTurns(), [{ state: 'refunded', target: 'two/demo-flagship', upstreamStatus: null }])
})
