/** Limits of discarding: bytes, time, silence and the number of bodies at once. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import http2 from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { BodyDiscarder } from '../../../../src/system/body-reads/body-discarder.ts'
import type { DiscardLimits } from '../../../../src/system/body-reads/body-discarder.ts'
import { maxImmediateMs, waitUntil } from '../../../support/gateway/test-gateway.ts'

const ample: DiscardLimits = { maxBytes: 1e9, maxMs: 60_000, maxIdleMs: 60_000, maxConcurrent: 1_000 }

async function startServer(t: Test, limits: Partial<DiscardLimits>): Promise<{ discarder: BodyDiscarder; open: () => Socket }> {
  const discarder = new BodyDiscarder({ ...ample, ...limits })
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    discarder.respondAfterBody(request, response, () => response.writeHead(401, { 'content-length': '2' }).end('no'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const open = (): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => undefined)
    t.teardown(() => socket.destroy())
    return socket
  }
  return { discarder, open }
}

/** Sends without end while the connection is open. */
function sendForever(socket: Socket): void {
  const piece = Buffer.alloc(64 * 1024)
  socket.write(`POST / HTTP/1.1\r\nhost: here\r\ncontent-length: ${2 ** 50}\r\n\r\n`)
  const send = (): void => {
    while (!socket.destroyed && socket.write(piece)) continue
  }
  socket.on('drain', send)
  send()
}

async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  if (!socket.closed) await once(socket, 'close')
  return text
}

t.test('keeps the connection where the body ends within the limits', async (t) => {
  const { open } = await startServer(t, {})
  const socket = open()
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  for (const nth of [1, 2]) {
    socket.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 4\r\n\r\nab')
    socket.write('cd')
    await waitUntil(() => text.split('HTTP/1.1 401').length === nth + 1, `response ${nth}`)
  }
  t.notMatch(text.toLowerCase(), 'connection: close')
})

t.test('answers a body without end when a limit is reached, and closes the connection soon after', async (t) => {
  for (const [title, limits] of [
    ['bytes', { maxBytes: 1_000_000 }],
    ['time', { maxMs: 200 }],
    ['bodies at once', { maxConcurrent: 0 }],
  ] as const) {
    const { discarder, open } = await startServer(t, limits)
    const socket = open()
    sendForever(socket)
    const from = performance.now()
    t.match(await readAll(socket), /^HTTP\/1\.1 401 [^]*connection: close[^]*no$/i, title)
    t.ok(performance.now() - from < maxImmediateMs, `${title}: closed after ${Math.round(performance.now() - from)} ms`)
    t.equal(discarder.running, 0, title)
  }
})

t.test('ends an HTTP/2 stream whose body has passed a limit', async (t) => {
  const discarder = new BodyDiscarder({ ...ample, maxBytes: 100_000 })
  const server = http2.createServer((request, response) => {
    discarder.respondAfterBody(request, response, () => response.writeHead(401).end('no'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.teardown(() => {
    session.destroy()
    server.close()
  })
  const stream = session.request({ ':method': 'POST' })
  let text = ''
  stream.on('data', (chunk) => (text += chunk.toString()))
  stream.write(Buffer.alloc(200_000))
  await waitUntil(() => stream.closed, 'the stream to end')
  t.equal(text, 'no')
  t.equal(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR)
})

t.test('answers a body that falls silent, and resets the limit with each byte', async (t) => {
  const { open } = await startServer(t, { maxIdleMs: 300 })
  const socket = open()
  socket.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\n')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  const from = performance.now()
  while (performance.now() - from < 600) {
    socket.write('a')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.equal(text, '', 'no response while bytes arrive')
  await waitUntil(() => text !== '', 'a response')
  t.match(text, /^HTTP\/1\.1 401 /)
})

t.test('releases its place where the client disconnects', async (t) => {
  const { discarder, open } = await startServer(t, {})
  const socket = open()
  socket.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\nab')
  await waitUntil(() => discarder.running === 1, 'the body to be discarded')
  socket.resetAndDestroy()
  await waitUntil(() => discarder.running === 0, 'the place to be released')
})

t.test('ends every wait when it stops, also those of later requests', async (t) => {
  const { discarder, open } = await startServer(t, {})
  const head = 'POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\n'
  const early = open()
  early.write(head)
  await waitUntil(() => discarder.running === 1, 'the body to be discarded')
  const from = performance.now()
  discarder.stop()
  t.match(await readAll(early), /^HTTP\/1\.1 401 [^]*connection: close/i)
  const late = open()
  late.write(head)
  t.match(await readAll(late), /^HTTP\/1\.1 401 [^]*connection: close/i)
  t.ok(performance.now() - from < maxImmediateMs, 'without waiting for a limit')
  t.equal(discarder.running, 0)
})
