/** Upstream slots: the shipped number covers a busy day, and a turn waits a stated time for a free one. */
import t from 'tap'
import { getFileLimit, countFilesNeeded } from '../../../../../src/server/file-limit.ts'
import { startFakeUpstream } from '../../../../support/upstream/server.ts'
import { expectErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import { maxImmediateMs, startGateway, testConfig, waitUntil } from '../../../../support/gateway/test-gateway.ts'

const metrics = { token: 'a scraper of ours' }
const scraper = { headers: { authorization: `Bearer ${metrics.token}` } }

t.test('answers the next turn at once while 400 streams are open on the shipped configuration', async (t) => {
  const g = await startGateway(t, { metrics })
  t.ok((g.config.upstreams['main']?.connections ?? 0) >= 10_000, 'the shipped configuration has places for 10 000')
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 1, hang: { afterEvents: 2 } }))
  const held = new AbortController()
  const streams = Array.from({ length: 400 }, () => g.chat(token, { stream: true }, { signal: held.signal }))
  // Kept in a variable: fetch cancels a response that is garbage collected.
  const answers = await Promise.all(streams)
  t.equal(g.services.upstreams.get('main')?.limiter.running, 400)
  t.match(await (await fetch(`${g.url}/metrics`, scraper)).text(), /svc_upstream_calls_running\{upstream="main"\} 400/)
  g.demo.script()
  const from = performance.now()
  t.equal((await g.chat(token)).status, 200)
  t.ok(performance.now() - from < maxImmediateMs)
  held.abort()
  await Promise.allSettled(answers.map((stream) => stream.text()))
  await g.waitUntilSettled()
  t.equal(g.services.upstreams.get('main')?.limiter.running, 0, 'every place is given back')
})

t.test('bounds the queue at a full upstream in length and time, and refunds refused turns', async (t) => {
  const g = await startGateway(t, { metrics, upstreams: { main: { connections: 1, maxPending: 1, maxPendingMs: 400 } } })
  const { token, id } = await g.createMember()
  g.demo.script(() => ({ tokens: 1, hang: { afterEvents: 2 } }))
  const held = new AbortController()
  const gate = g.services.upstreams.get('main')?.limiter
  const stream = await g.chat(token, { stream: true }, { signal: held.signal })
  const waiting = g.chat(token)
  await waitUntil(() => gate?.pending === 1, 'one to wait')
  t.match(await (await fetch(`${g.url}/metrics`, scraper)).text(), /svc_upstream_calls_waiting\{upstream="main"\} 1/)
  for (const response of [await g.chat(token), await waiting]) {
    t.ok(Number(response.headers.get('retry-after')) >= 1)
    const { debug } = await expectErrorEnvelope(t, response, { status: 429, code: 'upstream_rate_limited' })
    t.equal(debug.quotaRefunded, true)
  }
  t.match(
    await (await fetch(`${g.url}/metrics`, scraper)).text(),
    /svc_upstream_attempts_total\{target="main\/demo-flagship",outcome="queue_full"\} 2/,
  )
  const patient = g.chat(token)
  await waitUntil(() => gate?.pending === 1, 'another to wait')
  g.demo.script()
  held.abort()
  await t.rejects(stream.text(), 'it was held until now')
  t.equal((await patient).status, 200, 'a place that comes free is taken')
  await g.waitUntilSettled()
  t.equal((await g.listTurns(id)).filter(({ state }) => state === 'refunded').length, 2)
})

t.test('a client that leaves the queue takes no slot and pays nothing', async (t) => {
  const g = await startGateway(t, { upstreams: { main: { connections: 1 } } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 1, hang: { afterEvents: 2 } }))
  const held = new AbortController()
  const gate = g.services.upstreams.get('main')?.limiter
  const stream = await g.chat(token, { stream: true }, { signal: held.signal })
  const leaving = new AbortController()
  const gone = g.chat(token, {}, { signal: leaving.signal }).catch(() => 'gone')
  await waitUntil(() => gate?.pending === 1, 'one to wait')
  leaving.abort()
  await gone
  await waitUntil(() => gate?.pending === 0, 'it to leave')
  await waitUntil(async () => (await g.listTurns()).length === 2 && (await g.listTurns())[0]?.state !== 'held', 'its hold to end')
  t.match((await g.listTurns())[0], { credits: 0 })
  held.abort()
  await t.rejects(stream.text(), 'it was held until now')
  await g.waitUntilSettled()
})

t.test('skips a full target for one with a free slot', async (t) => {
  const [first, second] = [await startFakeUpstream(), await startFakeUpstream()]
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
  const { token } = await g.createMember()
  first.script(() => ({ tokens: 1, hang: { afterEvents: 2 } }))
  const held = new AbortController()
  const stream = await g.chat(token, { stream: true }, { signal: held.signal })
  t.equal((await g.chat(token)).status, 200)
  t.equal(second.stats().requests, 1)
  held.abort()
  await t.rejects(stream.text(), 'it was held until now')
  await g.waitUntilSettled()
})

t.test('warns at start when the file limit is too small for the configured slots', async (t) => {
  t.equal(
    getFileLimit(
      'Limit   Soft Limit   Hard Limit   Units\nMax open files            1024                 4096                 files\n',
    ),
    1_024,
  )
  t.equal(getFileLimit('Max open files            unlimited            unlimited            files\n'), null)
  t.equal(getFileLimit(''), null)
  const config = testConfig(t)
  t.equal(countFilesNeeded(config), 40_256)
  const roomy = await startGateway(t, { limits: { connections: 100 } })
  t.notMatch(roomy.log.join(''), /ulimit/)
})

t.test('logs a failing upstream with its cause, and at debug with its own message, without a secret', async (t) => {
  const g = await startGateway(t, { log: { level: 'debug' } })
  const { token } = await g.createMember()
  const body = { error: { message: 'The engine is out of memory; key sk-live-1234567890abcdef', type: 'server_error' } }
  g.demo.script(() => ({ status: 500, body }))
  await (await g.chat(token)).text()
  const line = g.log.find((text) => text.includes('upstream failed')) ?? ''
  t.match(JSON.parse(line), {
    err: { name: 'UpstreamFailure', message: 'upstream answered 500' },
    answer: { code: 'server_error', shape: 'json', length: JSON.stringify(body).length },
    said: /out of memory/,
  })
  t.notMatch(line, 'sk-live')
  const lost = await startGateway(t, {
    upstreams: { main: { baseUrl: 'http://nowhere.invalid/v1', allowPlaintext: true } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } },
  })
  const other = await lost.createMember()
  await (await lost.chat(other.token)).text()
  t.match(
    lost.log.find((text) => text.includes('upstream failed')),
    /ENOTFOUND|EAI_AGAIN/,
  )
})
