/** The application: every route, every failure, every rule. */
import http from 'node:http'
import t from 'tap'
import { addressesOf } from '../../src/api/endpoint.ts'
import { areas } from '../../src/api/endpoints.ts'
import { envelopeOf } from '../support/envelope.ts'
import { startGateway } from '../support/gateway.ts'
import { raw } from '../support/raw.ts'

const g = await startGateway(t)
const { token } = await g.member()
const json = { 'content-type': 'application/json' }
const auth = { authorization: `Bearer ${token}` }
const chat = (body: RequestInit['body'], headers: Record<string, string> = {}) =>
  fetch(`${g.url}/v1/chat/completions`, { method: 'POST', headers: { ...auth, ...json, ...headers }, body: body ?? null })
const good = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }

t.test('an unknown route gets the envelope; under /v1 it is told what there is', async (t) => {
  for (const path of ['/v1/responses', '/v1/embeddings', '/v1/', '/v1/chat/completions/', '/v1/models/', '/v1/nothing']) {
    const envelope = await envelopeOf(
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
    await envelopeOf(t, await fetch(g.url + path), { status: 404, code: 'not_found' }, path)
  }
})

t.test('every endpoint that is described is served', async (t) => {
  for (const { name, endpoint } of Object.values(areas).flat()) {
    for (const address of addressesOf(endpoint)) {
      // By a method that no endpoint has: the refusal says which ones the address knows.
      const answer = await fetch(g.url + address.replaceAll(/\{\w+\}/g, 'some'), { method: 'PATCH' })
      await answer.body?.cancel()
      t.match(answer.headers.get('allow')?.split(', '), new Set([endpoint.method.toUpperCase()]), `${name}: ${address}`)
    }
  }
})

t.test('a client whose base URL lacks /v1, or has it twice, is told the right one', async (t) => {
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
    const { message, messageZh } = await envelopeOf(t, response, { status: 404, code: 'not_found' }, path)
    const right = `${method} https://api.example.com/v1${path.replace('/v1/v1', '')}`
    for (const text of [message, messageZh]) {
      t.ok(text.includes(right), text)
      t.match(text, /base URL.* https:\/\/api\.example\.com\/v1/, path)
    }
  }
})

t.test('what clients ask for in vain stands in the log, and in the metrics under names that are few', async (t) => {
  const own = await startGateway(t)
  for (const path of [
    '/v1/embeddings',
    '/v1/responses/resp_1',
    '/v1/responses',
    '/v1/made-up-1',
    '/v1/made-up-2',
    '/chat/completions',
  ])
    await (await fetch(own.url + path, { method: 'POST' })).text()
  for (const path of ['/nowhere', '/wp-login.php']) await (await fetch(own.url + path)).text()
  const counted = (await own.metrics()).split('\n').filter((line) => line.startsWith('svc_unknown_paths_total{'))
  t.same(counted.toSorted(), [
    'svc_unknown_paths_total{path="/v1/embeddings"} 1',
    'svc_unknown_paths_total{path="/v1/responses"} 2',
    'svc_unknown_paths_total{path="misplaced"} 1',
    'svc_unknown_paths_total{path="other"} 2',
  ])
  const logged = own.log.map((line) => JSON.parse(line) as Record<string, string>).filter(({ msg }) => msg === 'unknown path')
  t.equal(logged.length, 6)
  t.match(logged[1], { level: 'info', requestId: /^mbr_/, method: 'POST', path: '/v1/responses/resp_1' })
})

t.test('a route under another method is 405 and names the right ones', async (t) => {
  for (const [method, path, allow] of [
    ['GET', '/v1/chat/completions', /POST/],
    ['DELETE', '/v1/models', /GET/],
    ['PUT', '/api/membership/plans', /GET/],
    ['POST', '/healthz', /GET/],
  ] as const) {
    const response = await fetch(g.url + path, { method, headers: auth })
    t.match(response.headers.get('allow'), allow, path)
    await envelopeOf(t, response, { status: 405, code: 'method_not_allowed' }, `${method} ${path}`)
  }
})

t.test('HEAD is GET without its body, also for a failure', async (t) => {
  const list = await fetch(`${g.url}/v1/models`, { method: 'HEAD', headers: auth })
  t.equal(list.status, 200)
  t.equal(await list.text(), '')
  const refused = await fetch(`${g.url}/v1/models`, { method: 'HEAD' })
  t.equal(refused.status, 401)
  t.equal(refused.headers.get('x-svc-error-code'), 'sign_in_required')
  t.equal(await refused.text(), '')
})

t.test('no credentials: 401 sign_in_required, stage auth, with the request id', async (t) => {
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
    await envelopeOf(t, response, { status: 401, code: 'sign_in_required', stage: 'auth' }, path)
  }
})

t.test('the request id is the caller’s where it is harmless, and ours otherwise', async (t) => {
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

t.test('a body that is none of ours is refused with its reason; nothing is charged or forwarded', async (t) => {
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
    await envelopeOf(t, await chat(body, headers), { status, code, stage: 'validation' }, name)
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
  // The server may close while the client still sends; then the client sees a reset instead of the answer.
  if (answer instanceof Response)
    await envelopeOf(t, answer, { status: 413, code: 'payload_too_large' }, 'too large without saying so')
  else t.pass('the connection was ended')
  t.equal(g.demo.stats().requests, before)
  t.same(await g.turns(), [])
  const fine = await chat(JSON.stringify(good), { 'content-type': 'application/json; charset=utf-8' })
  t.equal(fine.status, 200)
  await fine.text()
})

t.test('a large body that is refused does not keep its connection, and is not read', async (t) => {
  const { hostname, port } = new URL(g.url)
  const size = 9 * 1024 * 1024
  const { text, closed } = await raw(
    g.url,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n{`,
  )
  t.match(text, /401/)
  t.match(text, /connection: close/i)
  t.ok(closed)
})

t.test('a client whose base URL ends in a slash, or in a whole path, is told the right one', async (t) => {
  const { url } = await startGateway(t, { listen: { baseUrl: 'https://api.example.com' } })
  for (const path of [
    '//v1/chat/completions',
    '/v1//chat/completions',
    '//chat/completions',
    '/v1/chat/completions/chat/completions',
  ]) {
    const response = await fetch(url + path, { method: 'POST', headers: json, body: '{}' })
    const { message } = await envelopeOf(t, response, { status: 404, code: 'not_found' }, path)
    t.ok(message.includes('POST https://api.example.com/v1/chat/completions;'), `${path}: ${message}`)
  }
})

t.test('web pages of any origin may use the API with a key, and never with credentials', async (t) => {
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

t.test('a page can read the headers of a service by any name', async (t) => {
  const { url } = await startGateway(t, { brand: { slug: 'acme' } })
  const response = await fetch(`${url}/v1/models`, { headers: { origin: 'https://app.example' } })
  const exposed = response.headers.get('access-control-expose-headers')?.split(', ') ?? []
  const own = [...response.headers.keys()].filter((name) => name.startsWith('x-acme-'))
  t.ok(own.length > 0)
  for (const name of own) t.ok(exposed.includes(name), name)
  t.notMatch(exposed.join(), /svc/)
})

t.test('a page can read that it asked too often, and may ask for permission as often as its browser does', async (t) => {
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

t.test('however a path is spelled, a model is reached only past every rule', async (t) => {
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
    const { statuses } = await raw(
      g.url,
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    )
    t.ok([400, 401, 404, 405].includes(statuses[0] ?? 0), `${path}: ${statuses[0]}`)
  }
  for (const host of ['evil.test', `${hostname}.`, 'localhost:1', '[::1]']) {
    const { statuses } = await raw(
      g.url,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    )
    t.equal(statuses[0], 401, `no Host opens a door: ${host}`)
  }
  t.equal(g.demo.stats().requests, before)
})

t.test('an address has its own limit, before anybody is known, and probes have none', async (t) => {
  const small = await startGateway(t, { limits: { addressRpm: 3 }, listen: { trustedProxies: ['127.0.0.1'] } })
  const ask = (address: string, path = '/v1/models') => fetch(small.url + path, { headers: { 'x-forwarded-for': address } })
  for (let i = 0; i < 3; i++) t.equal((await ask('203.0.113.9')).status, 401)
  const refused = await ask('203.0.113.9')
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.match(refused.headers.get('ratelimit'), /"address"/)
  await envelopeOf(t, refused, { status: 429, code: 'rate_limited', stage: 'rate_limit' })
  t.equal((await ask('203.0.113.10')).status, 401, 'another address')
  for (let i = 0; i < 3; i++) await ask(`2001:db8:1:1::${i}`)
  t.equal((await ask('2001:db8:1:1::ffff')).status, 429, 'another address of the same /64')
  for (let i = 0; i < 9; i++) t.equal((await ask('203.0.113.9', '/healthz')).status, 200)
})

t.test('on the public listener metrics are for the token’s bearer alone, however near he is, under one spelling', async (t) => {
  const guarded = await startGateway(t, {
    listen: { trustedProxies: ['127.0.0.1'] },
    metrics: { token: 'scrape-me', port: 0, allow: ['198.51.100.0/24'] },
  })
  const ask = (headers: Record<string, string>, path = '/metrics') => fetch(guarded.url + path, { headers })
  const unknown = { status: 404, code: 'not_found' } as const
  // From this machine itself; as through its own proxy; as if from it; and as a network that may read elsewhere.
  for (const forwarded of [undefined, '203.0.113.9', '127.0.0.1', '198.51.100.7'])
    await envelopeOf(t, await ask(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }), unknown, forwarded)
  await envelopeOf(t, await ask({ authorization: 'Bearer scrape-you' }), unknown)
  const bearer = { authorization: 'Bearer scrape-me' }
  t.equal((await ask(bearer)).status, 200)
  for (const path of ['/METRICS', '/Metrics', '/metrics/', '/HEALTHZ', '/V1/models', '/API/membership/plans'])
    await envelopeOf(t, await ask(bearer, path), unknown, path)
  const open = await startGateway(t, { metrics: { token: null } })
  await envelopeOf(t, await fetch(`${open.url}/metrics`, { headers: { authorization: 'Bearer null' } }), unknown)
})

t.test('a proxy of our own that is not believed is told of once, with what to set; a stranger’s word is not', async (t) => {
  const warnings = (g: { log: readonly string[] }) => g.log.filter((line) => line.includes('TRUSTED_PROXIES'))
  for (const header of ['x-forwarded-for', 'forwarded']) {
    const behind = await startGateway(t)
    for (let i = 0; i < 3; i++) await fetch(`${behind.url}/healthz`, { headers: { [header]: `for=203.0.113.${i}` } })
    t.equal(warnings(behind).length, 1, header)
    t.match(warnings(behind)[0], /"level":"warn".*set TRUSTED_PROXIES=127\.0\.0\.1/)
  }
  const named = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  await fetch(`${named.url}/healthz`, { headers: { 'x-forwarded-for': '203.0.113.9' } })
  t.same(warnings(named), [])
})

t.test('one connection serves many requests', async (t) => {
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
