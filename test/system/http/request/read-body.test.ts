/** A client that disconnects before its body was read ends the request. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { workerThresholdBytes } from '../../../../src/exchange/request/chat-request.ts'
import { createLocalLimits } from '../../../../src/access/limits/memory.ts'
import { createSlowBodyError, readChunks } from '../../../../src/http/request/read-body.ts'
import type { BodyReadOptions } from '../../../../src/http/request/read-body.ts'
import { BodyReadScheduler } from '../../../../src/system/body-reads/body-read-scheduler.ts'

function toOptions(maxBytes: number, bodyScheduler = new BodyReadScheduler(() => 0)): BodyReadOptions {
  return { maxBytes, owner: { kind: 'account', id: 'acc_1' }, services: { bodyScheduler, limits: createLocalLimits() } }
}

/** A request with a body of the given size, as the server has it, and the client that sends it. */
async function sendBody(t: Test, bytes: number): Promise<{ readonly request: IncomingMessage; readonly client: Socket }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write(
    `POST / HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`,
  )
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  request.on('error', () => undefined)
  return { request, client }
}

t.test('rejects when the client has already disconnected', async (t) => {
  const { request, client } = await sendBody(t, 20)
  const closed = new Promise((resolve) => request.on('close', resolve))
  client.destroy()
  await closed
  await t.rejects(readChunks(request, toOptions(1_000)), { code: 'invalid_request' })
})

t.test('rejects when the client sent everything and disconnects before the body was read', async (t) => {
  const { request, client } = await sendBody(t, workerThresholdBytes + 48 * 1024)
  const inTurn = new BodyReadScheduler(() => 0)
  // The body is never resumed, although all of it has arrived; then the client disconnects.
  inTurn.yieldSlice = (body) => {
    body.pause()
    const looking = setInterval(() => request.complete && client.destroy(), 5)
    request.on('close', () => clearInterval(looking))
  }
  const reading = readChunks(request, toOptions(1_000_000, inTurn))
  await t.rejects(reading, { code: 'invalid_request' })
})

t.test('has nothing left to do at the close of a request whose body was read', async (t) => {
  const { request, client } = await sendBody(t, 20)
  t.teardown(() => client.destroy())
  const before = request.listenerCount('close')
  t.equal((await readChunks(request, toOptions(1_000))).bytes, 20)
  t.equal(request.listenerCount('close'), before)
})

/** A request whose headers have arrived, and nothing of its body. */
async function beginBody(t: Test, header: string): Promise<{ readonly request: IncomingMessage; readonly client: Socket }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    client.destroy()
    server.close()
  })
  client.on('error', () => undefined)
  client.write(`POST / HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n${header}\r\n\r\n`)
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  request.on('error', () => undefined)
  return { request, client }
}

function createBudget() {
  const bodyScheduler = new BodyReadScheduler(() => 0)
  const bodies = { perAccountBytes: 1_000, perAddressBytes: 100, totalBytes: 8_000 }
  return { bodyScheduler, limits: createLocalLimits({ maxWaitMs: 0, bodies }) }
}

t.test('refuses a declared body before it is read when the bodies of its owner are too large together', async (t) => {
  const services = createBudget()
  const owner = { kind: 'account', id: 'acc_1' } as const
  const options = { maxBytes: 10_000, owner, services }
  const first = await beginBody(t, 'content-length: 700')
  const reading = readChunks(first.request, options)
  const second = await beginBody(t, 'content-length: 400')
  await t.rejects(readChunks(second.request, options), { code: 'rate_limited', details: { retryAfter: 1 } })
  t.equal(second.request.listenerCount('data'), 0, 'nothing of it is read')
  first.client.write('x'.repeat(700))
  const body = await reading
  await t.rejects(readChunks(second.request, options), { code: 'rate_limited' }, 'it counts until it has been parsed')
  body.release()
  body.release()
  const again = readChunks(second.request, options)
  second.client.write('x'.repeat(400))
  t.equal((await again).bytes, 400)
})

t.test('counts a chunked body as it arrives', async (t) => {
  const services = createBudget()
  const { request, client } = await beginBody(t, 'transfer-encoding: chunked')
  const reading = readChunks(request, { maxBytes: 10_000, owner: { kind: 'account', id: 'acc_1' }, services })
  client.write(`400\r\n${'x'.repeat(1024)}\r\n`)
  await t.rejects(reading, { code: 'rate_limited' })
  const other = services.limits.bodies.reserve({ kind: 'account', id: 'acc_1' }, 1_000)
  t.equal(other.bytes, 1_000, 'the refused body counts no longer')
})

t.test('gives the bytes of a body back when its client disconnects', async (t) => {
  const services = createBudget()
  const owner = { kind: 'address', id: '192.0.2.1' } as const
  const { request, client } = await beginBody(t, 'content-length: 90')
  const reading = readChunks(request, { maxBytes: 10_000, owner, services })
  t.throws(() => services.limits.bodies.reserve(owner, 20), { code: 'rate_limited' })
  client.destroy()
  await t.rejects(reading, { code: 'invalid_request' })
  t.equal(services.limits.bodies.reserve(owner, 100).bytes, 100)
})

t.test('counts a body that has arrived until it is released, also when its connection is lost', async (t) => {
  const services = createBudget()
  const owner = { kind: 'address', id: '192.0.2.1' } as const
  const { request, client } = await beginBody(t, 'content-length: 90')
  const reading = readChunks(request, { maxBytes: 10_000, owner, services })
  client.write('x'.repeat(90))
  const body = await reading
  request.emit('error', new Error('the connection is lost'))
  t.throws(() => services.limits.bodies.reserve(owner, 20), { code: 'rate_limited' })
  body.release()
  t.equal(services.limits.bodies.reserve(owner, 100).bytes, 100)
})

t.test('ends a body that stops arriving, and gives its bytes back', async (t) => {
  const services = createBudget()
  const owner = { kind: 'account', id: 'acc_1' } as const
  const { request } = await beginBody(t, 'content-length: 900')
  const reading = readChunks(request, { maxBytes: 10_000, owner, services })
  for (let check = 0; check < 3; check++) services.bodyScheduler.abortSlow(() => createSlowBodyError())
  await t.rejects(reading, { code: 'invalid_request', message: /did not arrive in time/ })
  t.equal(services.limits.bodies.reserve(owner, 1_000).bytes, 1_000)
})
