/** Of the client, only its request reaches the upstream; of the upstream, only its answer reaches the client. */
import t from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('passes the request up and the answer down, and nothing else', async (t) => {
  const upstreamKey = 'sk-operator-secret-key-123456'
  const demo = await startFakeUpstream({ key: upstreamKey })
  t.teardown(() => demo.close())
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl: demo.url, apiKey: upstreamKey, headers: { 'x-operator': 'yes' } } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'demo-flagship' }] } },
    exposeUpstreamHost: false,
  })
  const { token, email, id } = await g.createMember()
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
        'x-client-request-id',
        'x-operator',
      ])
      t.equal(call?.headers.authorization, `Bearer ${upstreamKey}`)
      t.equal(call?.headers['x-client-request-id'], 'mbr_trace-1', 'the one thing that goes along is the id')

      // The link to the explanation of a failure names this site, which has the upstream's host here.
      const otherHeaders = [...response.headers].filter(([name]) => name !== 'link')
      t.match(response.headers.get('link') ?? '', response.ok ? /^$/ : /^<[^<>]+\/docs\/errors#\w+>; rel="help"$/)
      const shown = JSON.stringify(otherHeaders) + body
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
  const metrics = await g.scrapeMetrics()
  for (const secret of [upstreamKey, token, id, email, 'mbr_']) t.notOk(metrics.includes(secret), 'nor the metrics')
})

t.test('connects to the configured upstream only', async (t) => {
  const canary = await startFakeUpstream()
  t.teardown(() => canary.close())
  const g = await startGateway(t)
  const { token } = await g.createMember()
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

t.test('masks configured secrets that an upstream repeats, in the log and in messages to members', async (t) => {
  // No pattern of secrets matches these.
  const key = 'Zebra.Violet.Teapot'
  const header = 'Walrus "Quiet" Lantern'
  const g = await startGateway(t, {
    upstreams: { main: { apiKey: key, headers: { 'x-api-key': header } } },
    log: { level: 'debug' },
  })
  const { token } = await g.createMember()
  const words = `The key ${key} and the header ${header} were received.`
  for (const script of [
    { status: 500, body: { error: { message: words } } },
    { status: 401, body: { error: { message: words } } },
    { status: 403, body: words },
    { status: 400, body: { error: { message: words, param: `messages ${key}` } } },
    { error: { at: 'whole', value: { message: words } } },
  ] as const) {
    g.demo.script(() => script)
    for (const stream of [false, true]) {
      const shown = await (await g.chat(token, { stream })).text()
      t.notMatch(shown, /Zebra|Walrus/, JSON.stringify(script))
      if ('status' in script && script.status === 400) t.match(shown, 'were received', 'the rest of the message is shown')
    }
  }
  await g.scrapeMetrics()
  const log = g.log.join('')
  t.match(log, 'The key …', 'the rest of the message is logged at this level')
  t.notMatch(log, /Zebra|Walrus/)
})

t.test('shows the upstream’s host to members only if the operator turns it on, and logs it in any case', async (t) => {
  for (const exposeUpstreamHost of [undefined, true]) {
    const g = await startGateway(t, exposeUpstreamHost === undefined ? {} : { exposeUpstreamHost })
    const { token } = await g.createMember()
    g.demo.script(() => ({ status: 500 }))
    const { debug } = (await (await g.chat(token)).json()) as { debug: { upstreamHost?: string; upstreamStatus?: number } }
    t.equal(debug.upstreamHost, exposeUpstreamHost === true ? '127.0.0.1' : undefined)
    t.equal(debug.upstreamStatus, 500)
    await g.scrapeMetrics()
    t.match(g.log.join(''), '"upstreamHost":"127.0.0.1"')
  }
})
