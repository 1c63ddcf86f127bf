/** Secrets cross no border: nothing of the client's goes up but its request, nothing of the upstream's comes down but its answer. */
import t from 'tap'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import { startGateway } from '../support/gateway.ts'

t.test('up goes the request; down comes the answer', async (t) => {
  const upstreamKey = 'sk-operator-secret-key-123456'
  const demo = await startDemoUpstream({ key: upstreamKey })
  t.teardown(() => demo.close())
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl: demo.url, apiKey: upstreamKey, headers: { 'x-operator': 'yes' } } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'demo-flagship' }] } },
    exposeUpstreamHost: false,
  })
  const { token, email, id } = await g.member()
  const sent = {
    cookie: 'svc_membership_session=stolen; other=1',
    'x-forwarded-for': '1.2.3.4',
    'x-forwarded-host': 'evil.test',
    forwarded: 'for=1.2.3.4',
    'x-real-ip': '1.2.3.4',
    referer: 'https://secret.example/page',
    origin: 'https://secret.example',
    'user-agent': 'member-agent/1',
    'openai-organization': 'org-member',
    'x-stainless-lang': 'js',
    'x-api-key': 'member-other-key',
    'proxy-authorization': 'Basic abc',
    'x-demo-script': '{"status":500}',
    'accept-language': 'zh',
    'x-svc-request-id': 'trace-1',
    'idempotency-key': 'order-1',
  }
  const down = {
    'set-cookie': '__cf_bm=abc; path=/',
    'openai-organization': 'org-operator',
    'openai-processing-ms': '12',
    'x-request-id': 'req_upstream',
    server: 'vendor-edge',
    via: '1.1 vendor',
    'cf-ray': 'abc',
    'x-ratelimit-limit-requests': '7',
    'alt-svc': 'h3=":443"',
    'strict-transport-security': 'max-age=1',
    'access-control-allow-origin': 'https://vendor.example',
    'x-internal-key': upstreamKey,
    'content-security-policy': 'default-src *',
  }
  for (const script of [{}, { status: 500 }, { status: 429 }, { error: { at: 1 } }]) {
    for (const stream of [false, true]) {
      const { ['idempotency-key']: key, ...headers } = sent
      demo.script(() => ({ headers: down, ...script }))
      const response = await g.chat(
        token,
        { stream, user: email, metadata: { a: 'b' } },
        { headers: { ...headers, 'idempotency-key': `${key}-${JSON.stringify(script)}-${stream}` } },
      )
      const body = await response.text()
      const call = demo.calls.at(-1)
      const up = JSON.stringify(call?.rawHeaders) + call?.rawBody
      for (const value of [
        token,
        token.slice(9),
        'stolen',
        '1.2.3.4',
        'evil.test',
        'secret.example',
        'member-agent',
        'org-member',
        'member-other-key',
        'stainless',
        'Basic abc',
        email,
        id,
        'order-1',
      ]) {
        t.notOk(up.includes(value), `${value} did not go up`)
      }
      t.same(Object.keys(call?.headers ?? {}).toSorted(), [
        'accept-encoding',
        'authorization',
        'connection',
        'content-length',
        'content-type',
        'host',
        'x-operator',
        'x-request-id',
      ])
      t.equal(call?.headers.authorization, `Bearer ${upstreamKey}`)
      t.equal(call?.headers['x-request-id'], 'mbr_trace-1', 'the one thing that goes along is the id')

      const shown = JSON.stringify([...response.headers]) + body
      for (const value of [
        upstreamKey,
        'org-operator',
        'req_upstream',
        'vendor',
        '__cf_bm',
        'abc',
        'cf-ray',
        'h3=',
        'demo-flagship',
        '127.0.0.1',
      ]) {
        t.notOk(shown.includes(value), `${value} did not come down`)
      }
      for (const header of ['set-cookie', 'server', 'via', 'openai-processing-ms', 'strict-transport-security'])
        t.equal(response.headers.get(header), null, header)
      t.equal(response.headers.get('x-ratelimit-limit-requests'), '100000', 'our limit, not the vendor’s')
      t.equal(response.headers.get('x-request-id'), 'mbr_trace-1')
    }
  }
  const log = g.log.join('')
  for (const secret of [upstreamKey, token, token.slice(9), 'stolen', email])
    t.notOk(log.includes(secret), 'nor does the log know it')
  const metrics = await g.metrics()
  for (const secret of [upstreamKey, token, id, email, 'mbr_']) t.notOk(metrics.includes(secret), 'nor the metrics')
})

t.test('only the configured upstream is ever dialled', async (t) => {
  const canary = await startDemoUpstream()
  t.teardown(() => canary.close())
  const g = await startGateway(t)
  const { token } = await g.member()
  const url = `${canary.url}/x.png`
  g.demo.script(() => ({ redirect: canary.url }))
  await (await g.chat(token)).text()
  g.demo.script()
  await (
    await g.chat(token, {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      base_url: canary.url,
      api_base: canary.url,
    })
  ).text()
  t.equal(canary.stats().sockets, 0)
  t.equal(canary.stats().requests, 0)
})
