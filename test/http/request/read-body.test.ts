/** A client that disconnects before its body was read ends the request. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { workerThresholdBytes } from '../../../src/exchange/request/chat-request.ts'
import { readChunks } from '../../../src/http/request/read-body.ts'
import { BodyReadScheduler } from '../../../src/system/body-read-scheduler.ts'

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
  await t.rejects(readChunks(request, 1_000), { code: 'invalid_request' })
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
  const reading = readChunks(request, 1_000_000, inTurn)
  await t.rejects(reading, { code: 'invalid_request' })
})

t.test('has nothing left to do at the close of a request whose body was read', async (t) => {
  const { request, client } = await sendBody(t, 20)
  t.teardown(() => client.destroy())
  const before = request.listenerCount('close')
  t.equal((await readChunks(request, 1_000))[0]?.length, 20)
  t.equal(request.listenerCount('close'), before)
})
