/** Clients that announce long bodies and send nothing are refused before anything is read, and others are served meanwhile. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Test } from 'tap'
import { embeddingProduct } from '../../../support/gateway/embedding-product.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'

const mib = 2 ** 20

interface Announcement {
  readonly path: string
  readonly key?: string
  readonly bytes: number
}

/** Sends the head of a request; the status is known only once the server responds. */
function announceBody(t: Test, url: string, { path, key, bytes }: Announcement): Socket {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  const authorization = key === undefined ? '' : `authorization: Bearer ${key}\r\n`
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: here\r\n${authorization}content-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`,
  )
  return socket
}

/** The status line and the headers of the first response on the connection. The refused body is discarded first, so it is sent here. */
async function readHead(socket: Socket, bytes: number): Promise<string> {
  socket.write(Buffer.alloc(bytes, 0x20))
  let head = ''
  for await (const line of createInterface({ input: socket })) {
    if (line === '') break
    head += `${line}\n`
  }
  return head
}

t.test('refuses the third long body of an account before it is read, and serves other accounts', async (t) => {
  const g = await startGateway(t)
  const [{ token: key }, other] = [await g.createMember(), await g.createMember()]
  const { bodies } = g.services.limits
  for (const path of ['/v1/messages/count_tokens', '/v1/responses']) announceBody(t, g.url, { path, key, bytes: 31 * mib })
  await waitUntil(() => bodies.totalBytes === 62 * mib, 'both bodies are announced')
  for (const path of ['/v1/messages/count_tokens', '/v1/messages', '/v1/responses']) {
    const head = await readHead(announceBody(t, g.url, { path, key, bytes: 3 * mib }), 3 * mib)
    t.match(head, /^HTTP\/1.1 429 /, path)
    t.match(head, /retry-after: 1\n/i)
  }
  t.equal(bodies.totalBytes, 62 * mib, 'the refused ones are not counted')
  const answer = await fetch(`${g.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${other.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', max_tokens: 10, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  t.equal(answer.status, 200, await answer.text())
})

t.test('counts a large body until its turn ends, because its text is kept for further targets', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const { bodies } = g.services.limits
  const body = JSON.stringify({ model: 'svc-2.1', stream: true, messages: [{ role: 'user', content: 'word '.repeat(220_000) }] })
  g.demo.script(() => ({ hang: { afterEvents: 2 } }))
  const client = new AbortController()
  const response = await fetch(`${g.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    signal: client.signal,
  })
  t.equal(response.status, 200)
  t.equal(bodies.totalBytes, body.length)
  client.abort()
  await waitUntil(() => bodies.totalBytes === 0, 'the turn has ended')
})

t.test('counts an answer that is not read as a body of its account', async (t) => {
  const g = await startGateway(t, {
    products: {
      embed: embeddingProduct,
    },
    limits: { accountBodiesBytes: 2 * mib, chatBodyBytes: mib, agentBodyBytes: mib, embeddingBodyBytes: mib, mcpBodyBytes: mib },
  })
  const [{ token: key }, other] = [await g.createMember(), await g.createMember()]
  const { bodies } = g.services.limits
  const body = JSON.stringify({ model: 'embed', input: Array<string>(1_000).fill('a'), dimensions: 1_536 })
  const socket = announceBody(t, g.url, { path: '/v1/embeddings', key, bytes: body.length })
  socket.pause().write(body)
  await waitUntil(() => bodies.totalBytes > 2 * mib, 'the answer waits for its client')
  const embed = (token: string) =>
    fetch(`${g.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'embed', input: 'a', dimensions: 4 }),
    })
  t.equal((await embed(key)).status, 429)
  t.equal((await embed(other.token)).status, 200)
  socket.destroy()
  await waitUntil(() => bodies.totalBytes === 0, 'the answer is gone')
  t.equal((await embed(key)).status, 200)
})

t.test('refuses more bodies of an address without an account than its budget has room for', async (t) => {
  const g = await startGateway(t, { limits: { addressBodiesBytes: 256 * 1024 } })
  const { bodies } = g.services.limits
  announceBody(t, g.url, { path: '/oauth/register', bytes: 250 * 1024 })
  await waitUntil(() => bodies.totalBytes === 250 * 1024, 'the body is announced')
  const bytes = 50 * 1024
  for (const path of ['/api/membership/auth/otp/start', '/oauth/register', '/oauth/token'])
    t.match(await readHead(announceBody(t, g.url, { path, bytes }), bytes), /^HTTP\/1.1 429 [^]*retry-after: 1\n/i, path)
})
