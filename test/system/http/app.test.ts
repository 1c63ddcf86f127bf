/** The application: every route, every failure, every rule. */
import http from 'node:http'
import t from 'tap'
import { getPaths } from '../../../src/api/endpoint.ts'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import { expectErrorEnvelope } from '../../support/gateway/error-envelope.ts'
import { createMovableClock } from '../../support/gateway/movable-clock.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { sendRaw } from '../../support/raw-http.ts'

const g = await startGateway(t)
const { token } = await g.createMember()
const json = { 'content-type': 'application/json' }
const auth = { authorization: `Bearer ${token}` }
const chat = (body: RequestInit['body'], headers: Record<string, string> = {}) =>
  fetch(`${g.url}/v1/chat/completions`, { method: 'POST', headers: { ...auth, ...json, ...headers }, body: body ?? null })
const good = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }

t.test('names the way for text completions and for a slash at the end', async (t) => {
  for (const [path, sentence] of [
    ['/v1/chat/completions/', /You mean POST .*\/v1\/chat\/completions;/],
    ['/v1/models/', /You mean POST .*\/v1\/models;/],
    ['/v1/completions', /Send the prompt as a message to POST \/v1\/chat\/completions/],
  ] as const) {
    const response = await fetch(g.url + path, { method: 'POST', headers: { ...auth, ...json }, body: '{}' })
    const { message } = await expectErrorEnvelope(t, response, { status: 404, code: 'not_found' }, path)
    t.match(message, sentence, path)
  }
})

t.test('accepts x-api-key alone, and answers the health path of vLLM', async (t) => {
  const response = await fetch(`${g.url}/v1/models`, { headers: { 'x-api-key': token } })
  t.equal(response.status, 200)
  await response.text()
  t.same(await (await fetch(`${g.url}/health`)).json(), { ok: true })
})

t.test('answers an unknown route with the envelope, and under /v1 with the list of endpoints', async (t) => {
  for (const path of ['/v1/files', '/v1/moderations', '/v1/', '/v1/nothing']) {
    const envelope = await expectErrorEnvelope(
      t,
      await fetch(g.url + path, { method: 'POST', headers: { ...auth, ...json }, body: '{}' }),
      { status: 404, code: 'not_found' },
      path,
    )
    t.match(envelope.message, /POST \/v1\/chat\/completions.*GET \/v1\/models/, path)
  }
  for (const path of [
    '/v2/chat/completions',
    '/api/membership/nothing',
    '/.well-known/nothing',
    '/.env',
    '/constructor',
    '/__proto__',
  ]) {
    await expectErrorEnvelope(t, await fetch(g.url + path), { status: 404, code: 'not_found' }, path)
  }
})

t.test('serves every endpoint that is described', async (t) => {
  for (const { name, endpoint } of Object.values(endpointsByArea).flat()) {
    for (const address of getPaths(endpoint)) {
      // Uses a method that no endpoint has: the refusal lists the methods of the path.
      const answer = await fetch(g.url + address.replaceAll(/\{\w+\}/g, 'some'), { method: 'PUT' })
      await answer.body?.cancel()
      t.match(answer.headers.get('allow')?.split(', '), new Set([endpoint.method.toUpperCase()]), `${name}: ${address}`)
    }
  }
})

t.test('names the right base URL to a client whose base URL lacks /v1 or has it twice', async (t) => {
  const { url } = await startGateway(t, { listen: { baseUrl: 'https://api.example.com' } })
  for (const [method, path] of [
    ['POST', '/chat/completions'],
    ['POST', '/v1/v1/chat/completions'],
    ['GET', '/models'],
    ['GET', '/models/svc'],
    ['POST', '/images/generations'],
    ['POST', '/mcp'],
  ] as const) {
    const response = await fetch(url + path, { method, headers: json, ...(method === 'POST' ? { body: '{}' } : {}) })
    const { message, messageZh } = await expectErrorEnvelope(t, response, { status: 404, code: 'not_found' }, path)
    const right = `${method} https://api.example.com/v1${path.replace('/v1/v1', '')}`
    for (const text of [message, messageZh]) {
      t.ok(text.includes(right), text)
      t.match(text, /base URL.* https:\/\/api\.example\.com\/v1/, path)
    }
  }
})

t.test('logs unknown API paths, and counts them under few labels', async (t) => {
  const own = await startGateway(t)
  for (const path of [
    '/v1/moderations',
    '/v1/responses/resp_1',
    '/v1/responses/compact',
    '/v1/made-up-1',
    '/v1/made-up-2',
    '/chat/completions',
  ])
    await (await fetch(own.url + path, { method: 'POST' })).text()
  for (const path of ['/nowhere', '/wp-login.php']) await (await fetch(own.url + path)).text()
  const counted = (await own.scrapeMetrics()).split('\n').filter((line) => line.startsWith('svc_unknown_paths_total{'))
  t.same(counted.toSorted(), [
    'svc_unknown_paths_total{path="/v1/moderations"} 1',
    'svc_unknown_paths_total{path="/v1/responses"} 2',
    'svc_unknown_paths_total{path="misplaced"} 1',
    'svc_unknown_paths_total{path="other"} 2',
  ])
  const logged = own.log.map((line) => JSON.parse(line) as Record<string, string>).filter(({ msg }) => msg === 'unknown path')
  t.equal(logged.length, 6)
  t.match(logged[1], { level: 'info', requestId: /^mbr_/, method: 'POST', path: '/v1/responses/resp_1' })
})

t.test('answers a route under another method with 405 and the right methods', async (t) => {
  for (const [method, path, allow] of [
    ['GET', '/v1/chat/completions', /POST/],
    ['DELETE', '/v1/models', /GET/],
    ['PUT', '/api/membership/plans', /GET/],
    ['POST', '/healthz', /GET/],
  ] as const) {
    const response = await fetch(g.url + path, { method, headers: auth })
    t.match(response.headers.get('allow'), allow, path)
    await expectErrorEnvelope(t, response, { status: 405, code: 'method_not_allowed' }, `${method} ${path}`)
  }
})

t.test('answers HEAD as GET without a body, also for a failure', async (t) => {
  const list = await fetch(`${g.url}/v1/models`, { method: 'HEAD', headers: auth })
  t.equal(list.status, 200)
  t.equal(await list.text(), '')
  const refused = await fetch(`${g.url}/v1/models`, { method: 'HEAD' })
  t.equal(refused.status, 401)
  t.equal(refused.headers.get('x-svc-error-code'), 'sign_in_required')
  t.equal(await refused.text(), '')
})

t.test('answers a request without credentials with 401 sign_in_required and the request id', async (t) => {
  for (const [method, path] of [
    ['POST', '/v1/chat/completions'],
    ['GET', '/v1/models'],
    ['GET', '/v1/models/svc'],
  ] as const) {
    const response = await fetch(g.url + path, {
      method,
      headers: json,
      ...(method === 'POST' ? { body: JSON.stringify(good) } : {}),
    })
    t.equal(response.headers.get('www-authenticate'), 'Bearer realm="svc"')
    await expectErrorEnvelope(t, response, { status: 401, code: 'sign_in_required', stage: 'auth' }, path)
  }
})

t.test('adopts the client’s request id where it is harmless, and creates one otherwise', async (t) => {
  for (const path of ['/v1/models', '/v1/nothing', '/v1/chat/completions']) {
    const response = await fetch(g.url + path, { headers: { ...auth, 'x-svc-request-id': 'trace-7' } })
    t.equal(response.headers.get('x-svc-request-id'), 'trace-7', path)
    t.equal(response.headers.get('x-request-id'), 'mbr_trace-7', path)
    const other = await fetch(g.url + path, { headers: { ...auth, 'x-svc-request-id': 'no good!' } })
    t.match(other.headers.get('x-request-id'), /^mbr_[0-9A-Z]{26}$/, path)
    t.equal(other.headers.get('x-svc-request-id'), other.headers.get('x-request-id'))
  }
  for (const path of ['/healthz', '/readyz', '/api/membership/plans']) {
    const response = await fetch(g.url + path, { headers: { 'x-svc-request-id': 'trace-8' } })
    t.equal(response.status, 200, path)
    t.equal(response.headers.get('x-svc-request-id'), 'trace-8', `${path} echoes it as well`)
  }
})

t.test('refuses invalid bodies with the reason; nothing is charged or forwarded', async (t) => {
  const before = g.demo.stats().requests
  const large = JSON.stringify({ ...good, pad: 'x'.repeat(10 * 1024 * 1024) })
  for (const [name, body, headers, status, code] of [
    ['no type', JSON.stringify(good), { 'content-type': '' }, 415, 'unsupported_media_type'],
    ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    ['text', JSON.stringify(good), { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['compressed', JSON.stringify(good), { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['twice compressed', JSON.stringify(good), { 'content-encoding': 'br, zstd' }, 415, 'unsupported_media_type'],
    ['empty', '', {}, 400, 'invalid_request'],
    ['not JSON', '{nope', {}, 400, 'invalid_request'],
    ['not UTF-8', Buffer.from([0xff, 0xfe, 0x7b, 0x7d]), {}, 400, 'invalid_request'],
    ['deep', '['.repeat(10_000), {}, 400, 'invalid_request'],
    ['no model', JSON.stringify({ messages: good.messages }), {}, 400, 'invalid_request'],
    ['another model', JSON.stringify({ ...good, model: 'gpt-5' }), {}, 400, 'official_models_only'],
    ['__proto__ for a model', JSON.stringify({ ...good, model: '__proto__' }), {}, 400, 'official_models_only'],
    ['too large', large, {}, 413, 'payload_too_large'],
    ['a bad idempotency key', JSON.stringify(good), { 'idempotency-key': 'x'.repeat(256) }, 400, 'invalid_request'],
  ] as const) {
    await expectErrorEnvelope(t, await chat(body, headers), { status, code, stage: 'validation' }, name)
  }
  const stream = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 11; i++) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20))
      controller.close()
    },
  })
  const endless = fetch(`${g.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...auth, ...json },
    body: stream,
    duplex: 'half',
  } as RequestInit)
  const answer = await endless.catch((error: unknown) => error)
  // The server may close while the client still sends; then the client gets a reset instead of the response.
  if (answer instanceof Response)
    await expectErrorEnvelope(t, answer, { status: 413, code: 'payload_too_large' }, 'too large without a content-length')
  else t.pass('the connection was ended')
  t.equal(g.demo.stats().requests, before)
  t.same(await g.listTurns(), [])
  const fine = await chat(JSON.stringify(good), { 'content-type': 'application/json; charset=utf-8' })
  t.equal(fine.status, 200)
  await fine.text()
})

t.test('names the right base URL to a client whose base URL ends in a slash or in a whole path', async (t) => {
  const { url } = await startGateway(t, { listen: { baseUrl: 'https://api.example.com' } })
  for (const path of [
    '//v1/chat/completions',
    '/v1//chat/completions',
    '//chat/completions',
    '/v1/chat/completions/chat/completions',
  ]) {
    const response = await fetch(url + path, { method: 'POST', headers: json, body: '{}' })
    const { message } = await expectErrorEnvelope(t, response, { status: 404, code: 'not_found' }, path)
    t.ok(message.includes('POST https://api.example.com/v1/chat/completions;'), `${path}: ${message}`)
  }
})

t.test('allows web pages of any origin to use the API with a key, and never with credentials', async (t) => {
  const origin = 'https://app.example'
  const preflight = await fetch(`${g.url}/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,x-stainless-lang',
    },
  })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), '*')
  t.equal(preflight.headers.get('access-control-allow-headers'), 'authorization,x-stainless-lang')
  t.match(preflight.headers.get('access-control-allow-methods'), /POST/)
  t.equal(preflight.headers.get('access-control-allow-credentials'), null)
  for (const body of [good, { ...good, stream: true }, { ...good, model: 'nope' }]) {
    const response = await chat(JSON.stringify(body), { origin })
    t.equal(response.headers.get('access-control-allow-origin'), '*', JSON.stringify(body))
    t.match(response.headers.get('access-control-expose-headers'), /x-request-id/)
    await response.text()
  }
  for (const path of ['/api/membership/plans', '/healthz']) {
    t.equal((await fetch(g.url + path, { headers: { origin } })).headers.get('access-control-allow-origin'), null, path)
  }
})

t.test('exposes the brand’s headers to web pages', async (t) => {
  const { url } = await startGateway(t, { brand: { slug: 'acme' } })
  const response = await fetch(`${url}/v1/models`, { headers: { origin: 'https://app.example' } })
  const exposed = response.headers.get('access-control-expose-headers')?.split(', ') ?? []
  const own = [...response.headers.keys()].filter((name) => name.startsWith('x-acme-'))
  t.ok(own.length > 0)
  for (const name of own) t.ok(exposed.includes(name), name)
  t.notMatch(exposed.join(), /svc/)
})

t.test('lets a page read a rate limit error, and does not count preflight requests', async (t) => {
  const { url } = await startGateway(t, { limits: { addressRpm: 1 } })
  const origin = 'https://app.example'
  const statuses = new Set<number>()
  for (let nth = 0; nth < 4; nth++) {
    const preflight = await fetch(`${url}/v1/models`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
    })
    t.equal(preflight.status, 204)
    const response = await fetch(`${url}/v1/models`, { headers: { origin } })
    t.equal(response.headers.get('access-control-allow-origin'), '*', String(response.status))
    t.match(response.headers.get('access-control-expose-headers'), /retry-after/)
    statuses.add(response.status)
  }
  t.ok(statuses.has(429))
})

t.test('applies every rule however the path is spelled', async (t) => {
  const before = g.demo.stats().requests
  const { hostname, port } = new URL(g.url)
  const spelled = [
    '/v1//chat/completions',
    '//v1/chat/completions',
    '/v1/./chat/completions',
    '/v1/../v1/chat/completions',
    '/v1/chat%2fcompletions',
    '/v1/%63hat/completions',
    '/V1/Chat/Completions',
    '/v1/chat/completions;x=1',
    '/v1/chat/completions%00',
    '/v1/chat/completions/',
    '/v1/chat/completions.json',
    '/v1/chat\\completions',
    '/api/v1/chat/completions',
    '/v1/chat/completions%20',
    `http://${hostname}:${port}/v1/chat/completions`,
    `http://evil.test/v1/chat/completions`,
  ]
  for (const path of spelled) {
    const { statuses } = await sendRaw(
      g.url,
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    )
    t.ok([400, 401, 404, 405].includes(statuses[0] ?? 0), `${path}: ${statuses[0]}`)
  }
  for (const host of ['evil.test', `${hostname}.`, 'localhost:1', '[::1]']) {
    const { statuses } = await sendRaw(
      g.url,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    )
    t.equal(statuses[0], 401, `the Host header grants nothing: ${host}`)
  }
  t.equal(g.demo.stats().requests, before)
})

t.test('limits each address before authentication, except for probes', async (t) => {
  const small = await startGateway(
    t,
    { limits: { addressRpm: 3 }, listen: { trustedProxies: ['127.0.0.1'] } },
    createMovableClock(),
  )
  const ask = (address: string, path = '/v1/models') => fetch(small.url + path, { headers: { 'x-forwarded-for': address } })
  for (let i = 0; i < 3; i++) t.equal((await ask('203.0.113.9')).status, 401)
  const refused = await ask('203.0.113.9')
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.match(refused.headers.get('ratelimit'), /"address"/)
  await expectErrorEnvelope(t, refused, { status: 429, code: 'rate_limited', stage: 'rate_limit' })
  t.equal((await ask('203.0.113.10')).status, 401, 'another address')
  for (let i = 0; i < 3; i++) await ask(`2001:db8:1:1::${i}`)
  t.equal((await ask('2001:db8:1:1::ffff')).status, 429, 'another address of the same /64')
  for (const path of ['/healthz', '/health', '/readyz'])
    for (let i = 0; i < 9; i++) t.equal((await ask('203.0.113.9', path)).status, 200, path)
})

t.test('serves metrics on the public listener for the token alone, whatever the address, under one spelling', async (t) => {
  const guarded = await startGateway(t, {
    listen: { trustedProxies: ['127.0.0.1'] },
    metrics: { token: 'scrape-me', port: 0, allow: ['198.51.100.0/24'] },
  })
  const ask = (headers: Record<string, string>, path = '/metrics') => fetch(guarded.url + path, { headers })
  const unknown = { status: 404, code: 'not_found' } as const
  // From this machine directly; through its own proxy; pretending to be it; and from a network allowed elsewhere.
  for (const forwarded of [undefined, '203.0.113.9', '127.0.0.1', '198.51.100.7'])
    await expectErrorEnvelope(t, await ask(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }), unknown, forwarded)
  await expectErrorEnvelope(t, await ask({ authorization: 'Bearer scrape-you' }), unknown)
  const bearer = { authorization: 'Bearer scrape-me' }
  t.equal((await ask(bearer)).status, 200)
  for (const path of ['/METRICS', '/Metrics', '/metrics/', '/HEALTHZ', '/V1/models', '/API/membership/plans'])
    await expectErrorEnvelope(t, await ask(bearer, path), unknown, path)
  const open = await startGateway(t, { metrics: { token: null } })
  await expectErrorEnvelope(t, await fetch(`${open.url}/metrics`, { headers: { authorization: 'Bearer null' } }), unknown)
})

t.test('serves many requests on one connection', async (t) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const ports = new Set<number | undefined>()
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve, reject) => {
      const request = http.get(`${g.url}/v1/models`, { agent, headers: auth }, (response) => {
        ports.add(request.socket?.localPort)
        response.resume().on('end', resolve)
      })
      request.on('error', reject)
    })
  }
  t.equal(ports.size, 1)
})
