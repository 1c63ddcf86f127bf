/** Places at an upstream: the shipped ones hold what a busy day brings, and where they are taken a turn waits for a stated time, not for ever. */
import t from 'tap'
import { filesAllowed, filesNeeded } from '../../src/system/open-files.ts'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import { envelopeOf } from '../support/envelope.ts'
import { atOnceMs, startGateway, testConfig, until } from '../support/gateway.ts'

const metrics = { token: 'a scraper of ours' }
const scraper = { headers: { authorization: `Bearer ${metrics.token}` } }

t.test('with 400 streams held on the shipped configuration the next turn is answered at once', async (t) => {
  const g = await startGateway(t, { metrics })
  t.ok((g.config.upstreams['main']?.connections ?? 0) >= 10_000, 'the shipped configuration has places for 10 000')
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 1, hang: { afterEvents: 1 } }))
  const held = new AbortController()
  const streams = Array.from({ length: 400 }, () => g.chat(token, { stream: true }, { signal: held.signal }))
  // Kept: an answer that nobody holds on to is cancelled when it is collected.
  const answers = await Promise.all(streams)
  t.equal(g.services.upstreams.get('main')?.gate.running, 400)
  t.match(await (await fetch(`${g.url}/metrics`, scraper)).text(), /svc_upstream_calls_running\{upstream="main"\} 400/)
  g.demo.script()
  const from = performance.now()
  t.equal((await g.chat(token)).status, 200)
  t.ok(performance.now() - from < atOnceMs)
  held.abort()
  await Promise.allSettled(answers.map((stream) => stream.text()))
  await g.settled()
  t.equal(g.services.upstreams.get('main')?.gate.running, 0, 'every place is given back')
})

t.test('a full upstream: the line, its end, and the time in it; refused turns are refunded', async (t) => {
  const g = await startGateway(t, { metrics, upstreams: { main: { connections: 1, queue: 1, queueMs: 400 } } })
  const { token, id } = await g.member()
  g.demo.script(() => ({ tokens: 1, hang: { afterEvents: 1 } }))
  const held = new AbortController()
  const gate = g.services.upstreams.get('main')?.gate
  const stream = await g.chat(token, { stream: true }, { signal: held.signal })
  const waiting = g.chat(token)
  await until(() => gate?.waiting === 1, 'one to wait')
  t.match(await (await fetch(`${g.url}/metrics`, scraper)).text(), /svc_upstream_calls_waiting\{upstream="main"\} 1/)
  for (const response of [await g.chat(token), await waiting]) {
    t.ok(Number(response.headers.get('retry-after')) >= 1)
    const { debug } = await envelopeOf(t, response, { status: 429, code: 'upstream_rate_limited' })
    t.equal(debug.quotaRefunded, true)
  }
  t.match(
    await (await fetch(`${g.url}/metrics`, scraper)).text(),
    /svc_upstream_attempts_total\{target="main\/demo-flagship",outcome="full"\} 2/,
  )
  const patient = g.chat(token)
  await until(() => gate?.waiting === 1, 'another to wait')
  g.demo.script()
  held.abort()
  await t.rejects(stream.text(), 'it was held until now')
  t.equal((await patient).status, 200, 'a place that comes free is taken')
  await g.settled()
  t.equal((await g.turns(id)).filter(({ state }) => state === 'refunded').length, 2)
})

t.test('who leaves the line takes no place, and pays nothing', async (t) => {
  const g = await startGateway(t, { upstreams: { main: { connections: 1 } } })
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 1, hang: { afterEvents: 1 } }))
  const held = new AbortController()
  const gate = g.services.upstreams.get('main')?.gate
  const stream = await g.chat(token, { stream: true }, { signal: held.signal })
  const leaving = new AbortController()
  const gone = g.chat(token, {}, { signal: leaving.signal }).catch(() => 'gone')
  await until(() => gate?.waiting === 1, 'one to wait')
  leaving.abort()
  await gone
  await until(() => gate?.waiting === 0, 'it to leave')
  await until(async () => (await g.turns()).length === 2 && (await g.turns())[0]?.state !== 'held', 'its hold to end')
  t.match((await g.turns())[0], { credits: 0 })
  held.abort()
  await t.rejects(stream.text(), 'it was held until now')
  await g.settled()
})

t.test('a full target is passed over for one with room', async (t) => {
  const [first, second] = [await startDemoUpstream(), await startDemoUpstream()]
  t.teardown(async () => {
    await first.close()
    await second.close()
  })
  const targets = [
    { upstream: 'one', model: 'demo-flagship', weight: 1 },
    { upstream: 'two', model: 'demo-flagship', weight: 0 },
  ]
  const g = await startGateway(t, {
    upstreams: { one: { baseUrl: first.url, connections: 1 }, two: { baseUrl: second.url } },
    products: { 'svc-2.1': { targets } },
  })
  const { token } = await g.member()
  first.script(() => ({ tokens: 1, hang: { afterEvents: 1 } }))
  const held = new AbortController()
  const stream = await g.chat(token, { stream: true }, { signal: held.signal })
  t.equal((await g.chat(token)).status, 200)
  t.equal(second.stats().requests, 1)
  held.abort()
  await t.rejects(stream.text(), 'it was held until now')
  await g.settled()
})

t.test('too few files for what is promised is said at the start', async (t) => {
  t.equal(
    filesAllowed(
      'Limit   Soft Limit   Hard Limit   Units\nMax open files            1024                 4096                 files\n',
    ),
    1_024,
  )
  t.equal(filesAllowed('Max open files            unlimited            unlimited            files\n'), null)
  t.equal(filesAllowed(''), null)
  const config = testConfig(t)
  t.equal(filesNeeded(config), 40_256)
  const roomy = await startGateway(t, { limits: { connections: 100 } })
  t.notMatch(roomy.log.join(''), /ulimit/)
})

t.test('a failing upstream is logged with its cause and in its own words, without a secret', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const body = { error: { message: 'The engine is out of memory; key sk-live-1234567890abcdef', type: 'server_error' } }
  g.demo.script(() => ({ status: 500, body }))
  await (await g.chat(token)).text()
  const line = g.log.find((text) => text.includes('upstream failed')) ?? ''
  t.match(JSON.parse(line), { err: { name: 'UpstreamFailure', message: 'upstream answered 500' }, said: /out of memory/ })
  t.notMatch(line, 'sk-live')
  const lost = await startGateway(t, {
    upstreams: { main: { baseUrl: 'http://nowhere.invalid/v1', allowPlaintext: true } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } },
  })
  const other = await lost.member()
  await (await lost.chat(other.token)).text()
  t.match(
    lost.log.find((text) => text.includes('upstream failed')),
    /ENOTFOUND|EAI_AGAIN/,
  )
})
