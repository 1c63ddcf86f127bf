/** Whoever leaves before the body has been read is heard leaving, or nobody would ever be done with the request. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { largeBytes } from '../../src/exchange/chat-request.ts'
import { readChunks } from '../../src/http/body.ts'
import { InTurn } from '../../src/http/in-turn.ts'

/** A request with a body of so many bytes, as the server has it, and the client that sends it. */
async function sent(t: Test, bytes: number): Promise<{ readonly request: IncomingMessage; readonly client: Socket }> {
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

t.test('who has left already', async (t) => {
  const { request, client } = await sent(t, 20)
  const closed = new Promise((resolve) => request.on('close', resolve))
  client.destroy()
  await closed
  await t.rejects(readChunks(request, 1_000), { code: 'invalid_request' })
})

t.test('who has sent all, and leaves while it waits to be read', async (t) => {
  const { request, client } = await sent(t, largeBytes + 48 * 1024)
  const inTurn = new InTurn(() => 0)
  // Its turn never comes, all that it has sent is here, and it leaves.
  inTurn.next = (body) => {
    body.pause()
    const looking = setInterval(() => request.complete && client.destroy(), 5)
    request.on('close', () => clearInterval(looking))
  }
  const reading = readChunks(request, 1_000_000, inTurn)
  await t.rejects(reading, { code: 'invalid_request' })
})
