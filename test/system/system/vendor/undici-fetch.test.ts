/** An answer that is read after its server has ended the connection. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { request } from 'undici'
import '../../../../src/system/vendor/undici-fetch.ts'

/** At these the client has all of the answer in memory, or a part of it, when it learns that the connection has ended. */
const sizes = [1, 63 * 1024, 64 * 1024, 65 * 1024, 128 * 1024, 200_000, 1_000_000]

async function serve(t: Test, bytes: number): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': bytes, connection: 'close' }).end(Buffer.alloc(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function passTurns(): Promise<void> {
  for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate)
}

async function countBytes(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  await passTurns()
  for await (const piece of body) {
    bytes += piece.length
    await passTurns()
  }
  return bytes
}

for (const [name, open] of [
  ['fetch', async (url: string) => (await fetch(url)).body as AsyncIterable<Uint8Array>],
  ['request', async (url: string) => (await request(url)).body as AsyncIterable<Uint8Array>],
] as const)
  t.test(`${name} reads an answer to its end though the server has ended the connection`, async (t) => {
    for (const size of sizes) t.equal(await countBytes(await open(await serve(t, size))), size)
  })
