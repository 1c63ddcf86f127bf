/** Malformed HTTP never becomes a request, and the upstream never gets more requests than clients sent. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { checkErrorEnvelope } from '../../../support/gateway/error-envelope.ts'
import type { ErrorEnvelope } from '../../../support/gateway/error-envelope.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { sendRaw } from '../../../support/raw-http.ts'

const g = await startGateway(t)
const { token } = await g.createMember()
const host = new URL(g.url).host
const chat = JSON.stringify({ model: 'svc-2.1', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] })
const auth = `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n`
const head = (line: string, more = '') => `${line}\r\nHost: ${host}\r\n${more}`
const post = (more: string, body: string) => `${head('POST /v1/chat/completions HTTP/1.1', auth + more)}\r\n${body}`
const sized = post(`Content-Length: ${chat.length}\r\n`, chat)
const chunked = `${chat.length.toString(16)}\r\n${chat}\r\n0\r\n\r\n`
const health = `${head('GET /healthz HTTP/1.1')}\r\n`

/** Counts the requests that the upstream parsed while `run` ran. */
async function upstreamCalls(run: () => Promise<unknown>): Promise<number> {
  const before = g.demo.stats().requests
  await run()
  // A request whose sender has left may still be on its way: wait until the count stops changing.
  let heard = -1
  let since = performance.now()
  await waitUntil(() => {
    const now = g.log.length + g.demo.stats().requests + g.services.limits.concurrency.size
    if (now !== heard) since = performance.now()
    heard = now
    return g.services.limits.concurrency.size === 0 && performance.now() - since > 120
  }, 'the requests to end')
  return g.demo.stats().requests - before
}

/** A protocol error has the common headers, and an id that the log contains. */
function checkWire(t: Test, text: string, name: string): void {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const envelope = JSON.parse(Buffer.from(body, 'latin1').toString()) as ErrorEnvelope
  checkErrorEnvelope(t, envelope, name)
  t.match(envelope.requestId, /^mbr_[0-9A-Z]{26}$/, `${name}: has a request id`)
  for (const header of [
    `x-request-id: ${envelope.requestId}`,
    'x-svc-request-id: mbr_',
    `x-svc-error-code: ${envelope.code}`,
    `x-svc-error-stage: ${envelope.stage}`,
    `link: <${g.url}/docs/errors#${envelope.code}>; rel="help"`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'content-type: application/json; charset=utf-8',
    'date: ',
    `content-length: ${Buffer.byteLength(Buffer.from(body, 'latin1'))}`,
  ])
    t.ok(head.toLowerCase().includes(header.toLowerCase()), `${name}: ${header}`)
  t.ok(
    g.log.some((line) => line.includes(envelope.requestId)),
    `${name}: is logged`,
  )
}

t.test('writes nothing into the middle of a response, whatever the client sends', async (t) => {
  const streamed = JSON.stringify({
    model: 'svc-2.1',
    stream: true,
    messages: [{ role: 'user', content: 'demo:{"tokens":50,"betweenMs":20}' }],
  })
  const { hostname, port } = new URL(g.url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.includes('data: {')) socket.write('\0 no request at all\r\n\r\n')
  })
  socket.on('error', () => undefined)
  socket.write(post(`Content-Length: ${streamed.length}\r\n`, streamed))
  await new Promise((resolve) => socket.once('close', resolve))
  t.match(text, /^HTTP\/1\.1 200 /)
  t.equal(text.match(/HTTP\/1\.1/g)?.length, 1, 'one status line')
  t.notMatch(text, /invalid_request/)
})

t.test('serves well-formed requests of every legal shape', async (t) => {
  for (const [name, bytes, statuses] of [
    ['sized', sized, [200]],
    ['chunked', post('Transfer-Encoding: chunked\r\n', chunked), [200]],
    ['chunk extensions', post('Transfer-Encoding: chunked\r\n', chunked.replace('\r\n', ';a=b\r\n')), [200]],
    ['two in a row', sized + sized, [200, 200]],
    ['expect: continue', post(`Content-Length: ${chat.length}\r\nExpect: 100-continue\r\n`, chat), [100, 200]],
    [
      'an unknown upgrade is ignored',
      post(`Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: ${chat.length}\r\n`, chat),
      [200],
    ],
    ['absolute form', `GET ${g.url}/healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [200]],
    ['HTTP/1.0', `GET /healthz HTTP/1.0\r\nHost: ${host}\r\n\r\n`, [200]],
  ] as const) {
    t.same((await sendRaw(g.url, bytes, { answers: statuses.length })).statuses, statuses, name)
  }
})

t.test('refuses malformed requests with the envelope and never forwards them', async (t) => {
  const hello = { model: 'x', body: chat }
  const cases: [string, string, number?][] = [
    ['two lengths that differ', post(`Content-Length: ${chat.length}\r\nContent-Length: 5\r\n`, hello.body)],
    ['two lengths that agree', post(`Content-Length: ${chat.length}\r\nContent-Length: ${chat.length}\r\n`, hello.body)],
    ['a list of lengths', post(`Content-Length: ${chat.length}, ${chat.length}\r\n`, hello.body)],
    ['a length with a sign', post(`Content-Length: +${chat.length}\r\n`, hello.body)],
    ['a length in hex', post(`Content-Length: 0x${chat.length.toString(16)}\r\n`, hello.body)],
    ['a negative length', post('Content-Length: -1\r\n', hello.body)],
    ['length and chunks', post(`Content-Length: ${chat.length}\r\nTransfer-Encoding: chunked\r\n`, chunked)],
    ['chunks and length', post(`Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`, chunked)],
    ['an unknown coding', post('Transfer-Encoding: xchunked\r\n', chunked)],
    ['chunked, and then another', post('Transfer-Encoding: chunked, identity\r\n', chunked)],
    ['chunked with a vertical tab', post('Transfer-Encoding: \x0bchunked\r\n', chunked)],
    ['a folded header', post(`X-A: b\r\n c\r\nTransfer-Encoding:\r\n chunked\r\n`, chunked)],
    ['a space before the colon', post(`Content-Length : ${chat.length}\r\n`, hello.body)],
    ['a bare LF after a header', post(`X-A: b\nContent-Length: ${chat.length}\r\n`, hello.body)],
    ['a bare CR in a header', post(`X-A: b\rc\r\nContent-Length: ${chat.length}\r\n`, hello.body)],
    ['a NUL in a header', post(`X-A: b\0c\r\nContent-Length: ${chat.length}\r\n`, hello.body)],
    ['a chunk size that is none', post('Transfer-Encoding: chunked\r\n', `zz\r\n${chat}\r\n0\r\n\r\n`)],
    ['a chunk size with a sign', post('Transfer-Encoding: chunked\r\n', `-1\r\n${chat}\r\n0\r\n\r\n`)],
    ['a chunk longer than it says', post('Transfer-Encoding: chunked\r\n', `3\r\n${chat}\r\n0\r\n\r\n`)],
    ['a chunk size beyond all numbers', post('Transfer-Encoding: chunked\r\n', `fffffffffffffffff\r\n${chat}\r\n0\r\n\r\n`)],
    ['no host', 'GET /v1/models HTTP/1.1\r\n\r\n'],
    ['two hosts', `GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`],
    ['no version', 'GET /v1/models\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.0\r\n\r\n'],
    ['a version of the future', 'GET / HTTP/3.7\r\nHost: x\r\n\r\n'],
    ['no request at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['a method in lower case', `get /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['an address without a host', `GET http:// HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a target that is no path', `GET ?x HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a space in the target', `GET /v1/ models HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['headers without end', head('GET /healthz HTTP/1.1', `X-Big: ${'x'.repeat(17 * 1024)}\r\n\r\n`), 431],
    [
      'too many headers to fit',
      head('GET /healthz HTTP/1.1', `${Array.from({ length: 2_001 }, (_, i) => `X-${i}: abcde\r\n`).join('')}\r\n`),
      431,
    ],
    ['a target without end', head(`GET /${'a'.repeat(17 * 1024)} HTTP/1.1`, '\r\n'), 431],
  ]
  const calls = await upstreamCalls(async () => {
    for (const [name, bytes, status = 400] of cases) {
      const { statuses, text, closed } = await sendRaw(g.url, bytes, { answers: Infinity })
      t.equal(statuses[0], status, `${name}: ${text.slice(0, 60)}`)
      t.match(text, /"ok":false.*"code":"invalid_request"/, `${name}: the envelope`)
      t.ok(closed, `${name}: the connection ends`)
      checkWire(t, text, name)
    }
  })
  t.equal(calls, 0)
  t.equal((await sendRaw(g.url, health)).statuses[0], 200, 'the server still serves')
})

t.test('forwards exactly the turns that were sent, whatever is smuggled along', async (t) => {
  const smuggled = `POST /v1/chat/completions HTTP/1.1\r\nHost: ${host}\r\n${auth}Content-Length: ${chat.length}\r\n\r\n${chat}`
  const hidden = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`
  for (const [name, bytes, turns] of [
    [
      'a turn inside a chunked DELETE',
      `${head('DELETE /v1/chat/completions HTTP/1.1', auth)}Transfer-Encoding: chunked\r\n\r\n${hidden}`,
      0,
    ],
    [
      'a turn inside a chunked OPTIONS',
      `${head('OPTIONS /v1/chat/completions HTTP/1.1', auth)}Transfer-Encoding: chunked\r\n\r\n${hidden}`,
      0,
    ],
    ['a turn inside a chunked GET', `${head('GET /v1/models HTTP/1.1', auth)}Transfer-Encoding: chunked\r\n\r\n${hidden}`, 0],
    [
      'a turn inside a sized DELETE',
      `${head('DELETE /v1/models HTTP/1.1', auth)}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      0,
    ],
    [
      'a turn inside a message',
      post(
        `Content-Length: ${JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: smuggled }] }).length}\r\n`,
        JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: smuggled }] }),
      ),
      1,
    ],
    ['a turn after a GET without a length', `${head('GET /healthz HTTP/1.1')}\r\n${smuggled}`, 1],
    [
      'a turn after an upgrade',
      `${head('GET /healthz HTTP/1.1', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')}\r\n${smuggled}`,
      null,
    ],
    [
      'a turn in the trailers',
      post(
        'Transfer-Encoding: chunked\r\nTrailer: x\r\n',
        `${chat.length.toString(16)}\r\n${chat}\r\n0\r\nX-A: b\r\nContent-Length: 99\r\n\r\n`,
      ),
      null,
    ],
    ['a body longer than its length', post(`Content-Length: ${chat.length}\r\n`, `${chat}GARBAGE\r\n\r\n`), null],
    [
      'HTTP/1.0 with chunks',
      `POST /v1/chat/completions HTTP/1.0\r\nHost: ${host}\r\n${auth}Transfer-Encoding: chunked\r\n\r\n${chunked}`,
      null,
    ],
    ['a length of zero and a body', post('Content-Length: 0\r\n', smuggled), 1],
  ] as const) {
    const sent = await upstreamCalls(() => sendRaw(g.url, bytes, { quietMs: 400 }))
    if (turns === null) t.ok(sent <= 1, `${name}: ${sent}`)
    else t.equal(sent, turns, name)
  }
  for (const { rawHeaders } of g.demo.calls)
    t.notMatch(
      rawHeaders.join('\n').toLowerCase(),
      /transfer-encoding|upgrade|expect/,
      'the client’s framing headers are not forwarded',
    )
})

t.test('answers odd targets and methods with the envelope and does not crash', async (t) => {
  for (const [line, status] of [
    ['OPTIONS * HTTP/1.1', 404],
    ['GET // HTTP/1.1', 404],
    ['GET /%00 HTTP/1.1', 404],
    ['GET /%zz HTTP/1.1', 404],
    ['GET /v1/models/%zz HTTP/1.1', 404],
    ['GET /v1/models/%E0%A4%A HTTP/1.1', 404],
    ['PROPFIND /v1/models HTTP/1.1', 405],
    ['TRACE /v1/models HTTP/1.1', 405],
    [`GET ${g.url}/nowhere HTTP/1.1`, 404],
    ['GET /nowhere?%00=%ff HTTP/1.1', 404],
    ['GET http://[::1/v1/models HTTP/1.1', 400],
  ] as const) {
    const { statuses, text } = await sendRaw(g.url, `${head(line, auth)}\r\n`)
    t.equal(statuses[0], status, `${line}: ${text.slice(0, 200)}`)
    t.match(text, /x-request-id: mbr_/, line)
    t.match(text, /"ok":false/, line)
  }
  const expects = await sendRaw(g.url, `${head('GET /healthz HTTP/1.1', 'Expect: a-miracle\r\n')}\r\n`)
  t.equal(expects.statuses[0], 417)
  checkWire(t, expects.text, 'an unsupported Expect header')
  const tunnel = await sendRaw(g.url, `CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n`)
  t.equal(tunnel.statuses[0], 405)
  checkWire(t, tunnel.text, 'a tunnel')
  const traced = await sendRaw(g.url, `GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Svc-Request-Id: trace-9\r\n\r\n`)
  t.match(traced.text, /x-svc-request-id: trace-9\r\n/, 'the client’s own id where it could be parsed')
  t.equal((await sendRaw(g.url, health)).statuses[0], 200)
})

t.test('survives CONNECT and malformed requests whose clients reset or stay, and closes their connections', async (t) => {
  const { hostname, port } = new URL(g.url)
  for (const bytes of ['CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 'nothing of the kind\r\n\r\n'])
    for (const stays of [false, true]) {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
      let isGone = false
      socket.on('error', () => (isGone = true))
      await once(socket, 'connect')
      socket.write(bytes)
      if (!stays) socket.resetAndDestroy()
      else {
        await once(socket.resume(), 'end')
        // Its own side stays open until the refusal arrives.
        await waitUntil(
          () => {
            socket.write('x')
            return isGone
          },
          `the end of "${bytes.slice(0, 7)}"`,
        )
      }
      socket.destroy()
    }
  t.equal((await sendRaw(g.url, health)).statuses[0], 200)
})

t.test('gives up a body that never arrives when its sender disconnects, without a charge', async (t) => {
  const calls = await upstreamCalls(async () => {
    const { hostname, port } = new URL(g.url)
    const socket = connect({ host: hostname, port: Number(port) })
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.write(post('Content-Length: 5000\r\n', '{"model":'))
    await waitUntil(() => g.services.limits.concurrency.size === 1, 'the request to start')
    socket.destroy()
    await waitUntil(() => g.services.limits.concurrency.size === 0, 'the request to be given up')
  })
  t.equal(calls, 0)
})
