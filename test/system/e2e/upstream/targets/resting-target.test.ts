/** A target that keeps failing is called less and less, members learn when to come back, and a rejected key is not tried again and again. */
import t from 'tap'
import { startFakeUpstream } from '../../../../support/upstream/server.ts'
import { createMovableClock } from '../../../../support/gateway/movable-clock.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'

const resting = { restAfterFailures: 5, rejectedKeyRestMs: 60_000 }

t.test(
  'stops calling a single target that fails, with a growing Retry-After, and finds its recovery with single probes',
  async (t) => {
    const { clock, advance } = createMovableClock()
    const g = await startGateway(t, { upstreams: { main: resting } }, { clock })
    const { id, token } = await g.createMember()
    g.demo.script(() => ({ status: 500 }))
    const waits: number[] = []
    for (let nth = 0; nth < 40; nth++) {
      const response = await g.chat(token)
      t.equal(response.status, 502)
      waits.push(Number(response.headers.get('retry-after')))
      const envelope = (await response.json()) as { code: string; message: string; messageZh: string }
      t.equal(envelope.code, 'upstream_error')
      if (nth === 39)
        t.match(envelope, { message: /keeps failing. You were not charged. Try again in 1 second/, messageZh: /未计费.* 1 秒/ })
    }
    t.same(
      waits,
      [1, 2, 4, 8, ...Array.from({ length: 36 }, () => 1)],
      'the next probe, from the failure that rests the target on',
    )
    const calls = g.demo.stats().requests
    t.ok(calls >= 5 && calls <= 7, `${calls} of 40 calls went out`)
    t.ok((await g.listTurns(id)).every(({ state, credits }) => state === 'refunded' && credits === 0))

    advance(4_000)
    const answers = await Promise.all(Array.from({ length: 20 }, () => g.chat(token)))
    for (const answer of answers) await answer.text()
    t.equal(g.demo.stats().requests, calls + 1, 'one probe')
    const afterProbe = Number((await g.chat(token)).headers.get('retry-after'))
    t.ok(afterProbe >= 1 && afterProbe <= 4, `${afterProbe} s`)

    g.demo.script()
    advance(4_000)
    t.equal((await g.chat(token)).status, 200, 'the probe is a member’s turn')
    for (let nth = 0; nth < 10; nth++) t.equal((await g.chat(token)).status, 200, 'and then the target serves all again')
  },
)

for (const [name, script] of [
  ['401', { status: 401 }],
  [
    'a key that Google rejects with 400',
    { status: 400, body: { error: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] } } },
  ],
  ['an error inside a 200', { error: { at: 'whole', value: { code: 'invalid_api_key', message: 'No.' } } }],
] as const)
  t.test(`does not call a target that rejected the key before the retry time that members receive: ${name}`, async (t) => {
    const { clock, advance } = createMovableClock()
    const g = await startGateway(t, { upstreams: { main: resting } }, { clock })
    const { token } = await g.createMember()
    g.demo.script(() => script)
    const first = await g.chat(token)
    t.equal(first.status, 503)
    t.equal(first.headers.get('retry-after'), '60')
    await first.text()
    for (let second = 1; second < 60; second++) {
      advance(1_000)
      const response = await g.chat(token)
      t.match(await response.json(), { code: 'upstream_not_configured' })
      t.equal(response.status, 503)
      const wait = Number(response.headers.get('retry-after'))
      t.ok(wait <= 60 - second + 1 && wait >= 1, `${wait} s after ${second} s`)
    }
    t.equal(g.demo.stats().requests, 1)
    advance(2_000)
    const probes = await Promise.all(Array.from({ length: 10 }, () => g.chat(token)))
    for (const probe of probes) await probe.text()
    t.equal(g.demo.stats().requests, 2, 'one probe')
    t.equal((await g.chat(token)).headers.get('retry-after'), '60', 'which failed, so that the target rests again')
    g.demo.script()
    advance(61_000)
    t.equal((await g.chat(token)).status, 200)
    t.equal((await g.chat(token)).status, 200)
  })

t.test('goes to another target at once after the first has rejected its key', async (t) => {
  const second = await startFakeUpstream()
  t.teardown(() => second.close())
  const targets = [
    { upstream: 'main', model: 'demo-flagship', weight: 1 },
    { upstream: 'two', model: 'demo-flagship', weight: 0 },
  ]
  const g = await startGateway(t, {
    upstreams: { main: resting, two: { baseUrl: second.url } },
    products: { 'svc-2.1': { targets } },
  })
  const { token } = await g.createMember()
  g.demo.script(() => ({ status: 401 }))
  t.equal((await g.chat(token)).status, 503)
  for (let nth = 0; nth < 20; nth++) t.equal((await g.chat(token)).status, 200)
  t.equal(g.demo.stats().requests, 1)
  t.equal(second.stats().requests, 20)
})

t.test('keeps using a target of whose calls a part fails while the other target is down', async (t) => {
  const second = await startFakeUpstream()
  t.teardown(() => second.close())
  const targets = [
    { upstream: 'main', model: 'demo-flagship', weight: 1 },
    { upstream: 'two', model: 'demo-flagship', weight: 0 },
  ]
  const { clock } = createMovableClock()
  const g = await startGateway(
    t,
    { upstreams: { main: resting, two: { baseUrl: second.url, ...resting } }, products: { 'svc-2.1': { targets } } },
    { clock },
  )
  const { token } = await g.createMember()
  const now = clock.monotonicMs()
  const [partly, down] = [
    g.services.upstreams.getBreaker('main/demo-flagship'),
    g.services.upstreams.getBreaker('two/demo-flagship'),
  ]
  for (let nth = 0; nth < 20; nth++) partly.record(nth % 2 === 0, now)
  for (let nth = 0; nth < 5; nth++) down.record(false, now)
  t.same(
    [partly, down].map((breaker) => [breaker.state(now), breaker.isDown]),
    [
      ['open', false],
      ['open', true],
    ],
  )
  t.equal((await g.chat(token)).status, 200)
  t.same([g.demo.stats().requests, second.stats().requests], [1, 0])
})

t.test('slows the member whose turns alone fail, and serves the others', async (t) => {
  const { clock, advance } = createMovableClock()
  const g = await startGateway(t, { upstreams: { main: resting } }, { clock })
  const [failing, other, late] = [await g.createMember(), await g.createMember(), await g.createMember()]
  g.demo.script(({ rawBody }) => (rawBody.includes('null schema') ? { status: 500 } : {}))
  const fail = () => g.chat(failing.token, { messages: [{ role: 'user', content: 'a null schema' }] })
  for (let round = 0; round < 30; round++) {
    for (let nth = 0; nth < 5; nth++) t.match(await (await fail()).json(), { code: 'upstream_error', message: /not charged/ })
    t.equal((await g.chat(other.token)).status, 200, `round ${round}`)
    advance(500)
  }
  t.equal((await g.chat(late.token)).status, 200)
  const failed = g.demo.stats().requests - 31
  t.ok(failed >= 5 && failed <= 15, `${failed} of 150 failing turns were sent`)
  t.ok((await g.listTurns(failing.id)).every(({ state, credits }) => state === 'refunded' && credits === 0))
})

t.test('serves another member at once while the target rests for the only one that called it', async (t) => {
  const { clock } = createMovableClock()
  const g = await startGateway(t, { upstreams: { main: resting } }, { clock })
  const [failing, other] = [await g.createMember(), await g.createMember()]
  g.demo.script(() => ({ status: 500 }))
  for (let nth = 0; nth < 10; nth++) t.equal((await g.chat(failing.token)).status, 502)
  t.equal(g.demo.stats().requests, 5)
  g.demo.script()
  for (let nth = 0; nth < 7; nth++) t.equal((await g.chat(other.token)).status, 200)
})

t.test('tells all members the same time while a target rests, also the one whose probe failed', async (t) => {
  for (const script of [{ status: 500 }, { status: 503, headers: { 'retry-after': '20' } }]) {
    const { clock, advance } = createMovableClock()
    const g = await startGateway(t, { upstreams: { main: resting } }, { clock })
    const members = [await g.createMember(), await g.createMember(), await g.createMember()]
    g.demo.script(() => script)
    const chatAll = async (): Promise<(string | null)[]> => {
      const waits: (string | null)[] = []
      for (const { token } of members) waits.push((await g.chat(token)).headers.get('retry-after'))
      return waits
    }
    for (let round = 0; round < 6; round++) await chatAll()
    t.same(new Set(await chatAll()), new Set(['1']))
    advance(4_000)
    const afterProbe = new Set(await chatAll())
    t.equal(afterProbe.size, 1, [...afterProbe].join())
    advance(1_000)
    t.notSame(new Set(await chatAll()), afterProbe, 'and it is the time of the next probe')
  }
})

t.test('does not let a member rest a target with requests of its own making', async (t) => {
  const g = await startGateway(t, { upstreams: { main: resting } })
  const { token } = await g.createMember()
  g.demo.script(() => ({
    status: 400,
    body: { error: { message: 'Invalid API key supplied in your message: invalid api key' } },
  }))
  for (let nth = 0; nth < 12; nth++) await (await g.chat(token)).text()
  g.demo.script()
  t.equal((await g.chat(token)).status, 200)
})
