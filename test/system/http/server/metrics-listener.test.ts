/** The separate metrics listener: off by default, and separate from the public listener. */
import t from 'tap'
import { listenForMetrics } from '../../../../src/http/server/metrics-listener.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('opens no metrics listener by default', async (t) => {
  const g = await startGateway(t)
  t.equal(g.gateway.metricsUrl, null)
})

t.test('serves metrics to this machine by the peer address, ignoring forwarding headers', async (t) => {
  const g = await startGateway(t, { metrics: { port: 0, token: null } })
  const url = g.gateway.metricsUrl ?? ''
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  const answer = await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.9' } })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^text\/plain; version=/)
  t.match(await answer.text(), /^svc_turns_running 0$/m)
  for (const other of ['/METRICS', '/healthz', '/v1/models', '/']) t.equal((await fetch(new URL(other, url))).status, 404, other)
  t.equal((await fetch(url, { method: 'POST' })).status, 404)
  t.equal((await fetch(`${g.url}/metrics`)).status, 404, 'the public listener has none')
})

t.test('refuses to start on a port in use, in a sentence that names the setting', async (t) => {
  const g = await startGateway(t, { metrics: { port: 0 } })
  const port = Number(new URL(g.gateway.metricsUrl ?? '').port)
  const again = listenForMetrics({ ...g.config.metrics, port }, g.services.telemetry)
  await t.rejects(again, { name: 'ConfigError', message: /in use.*METRICS_PORT/ })
})
