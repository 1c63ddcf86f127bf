/** The end of a service whose clients keep their connections: each is told, and what arrives on it meanwhile is answered. */
import http from 'node:http'
import http2 from 'node:http2'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { Agent, request } from 'undici'
import { selfSigned } from '../support/certificate.ts'
import { atOnceMs, startGateway, temporaryFolder, until } from '../support/gateway.ts'

/** Ample for a machine that does other things as well; half of it in silence is the end. */
const noticeMs = 4_000
const requests = 400
const workers = 50

/** 400 requests on kept connections while the gateway closes, fifty at a time: as fast as they go, and with pauses. What became of them. */
async function hammer(ask: () => Promise<number>): Promise<Record<string, number>> {
  const ends: Record<string, number> = {}
  const worker = async (nth: number): Promise<void> => {
    for (let i = 0; i < requests / workers; i++) {
      if (nth % 2 === 1) await new Promise((resolve) => setTimeout(resolve, (nth * 7 + i * 13) % 60))
      const end = await ask().then(String, (error: NodeJS.ErrnoException) => error.code ?? error.message)
      ends[end] = (ends[end] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, nth) => worker(nth)))
  return ends
}

const clients: readonly [string, (url: string) => { ask: () => Promise<number>; close: () => unknown }][] = [
  [
    'node:http with an agent',
    (url) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 50 })
      const ask = (): Promise<number> =>
        new Promise((resolve, reject) => {
          const call = http.get(`${url}/healthz`, { agent }, (response) => {
            response.resume().on('end', () => resolve(response.statusCode ?? 0))
          })
          call.on('error', reject)
        })
      return { ask, close: () => agent.destroy() }
    },
  ],
  [
    'undici',
    (url) => {
      const dispatcher = new Agent({ connections: 50 })
      const ask = async (): Promise<number> => {
        const { statusCode, body } = await request(`${url}/healthz`, { dispatcher })
        await body.dump()
        return statusCode
      }
      return { ask, close: () => dispatcher.close() }
    },
  ],
]

for (const [name, open] of clients) {
  t.test(`${name}: none of 400 requests on kept connections is lost`, async (t) => {
    const g = await startGateway(t, { timeouts: { noticeMs } })
    const client = open(g.url)
    t.teardown(() => client.close())
    await Promise.all(Array.from({ length: 200 }, client.ask))
    const from = performance.now()
    const closing = g.gateway.close()
    t.same(await hammer(client.ask), { 200: requests })
    await closing
    const took = performance.now() - from
    t.ok(took < 30_000, `it ended after ${Math.round(took)} ms`)
    await t.rejects(client.ask(), 'nobody listens any more')
  })
}

t.test('HTTP/2: streams under way end whole, the session is told in order, and new ones are served until the end', async (t) => {
  const { cert, key, ca } = selfSigned(temporaryFolder(t))
  const g = await startGateway(t, { listen: { tls: { cert, key } }, timeouts: { noticeMs } })
  const { token } = await g.member()
  const open = (): http2.ClientHttp2Session => {
    const session = http2.connect(g.url, { ca })
    session.on('error', (error) => t.fail(error.message))
    return session
  }
  const ask = async (session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders, body?: string): Promise<string> => {
    const stream = session.request(headers)
    stream.end(body)
    let text = ''
    for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString()
    return text
  }
  const chat = JSON.stringify({
    model: 'svc-2.1',
    stream: true,
    messages: [{ role: 'user', content: 'demo:{"tokens":10,"betweenMs":40}' }],
  })
  const turn = {
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  }
  const session = open()
  const told: number[] = []
  session.on('goaway', (code, lastStream) => told.push(code, lastStream))
  const turns = Array.from({ length: 20 }, () => ask(session, turn, chat))
  await until(() => g.demo.stats().requests === 20, 'all turns to be under way')
  const closing = g.gateway.close()
  const other = open()
  t.match(await ask(other, { ':path': '/readyz' }), /draining/, 'a new session is served, and told')
  for (const text of await Promise.all(turns)) t.match(text, /data: \[DONE\]\n\n$/)
  await closing
  t.same(told.slice(0, 2), [0, 2 ** 31 - 1], 'no stream on its way is refused')
  await until(() => session.destroyed && other.destroyed, 'both to be closed')
})

t.test('a kept connection that says nothing is ended in order, and does not hold the end up', async (t) => {
  const g = await startGateway(t, { timeouts: { noticeMs } })
  const { hostname, port, host } = new URL(g.url)
  const sockets = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const socket = connect({ host: hostname, port: Number(port) })
      await once(socket, 'connect')
      return socket
    }),
  )
  const [spoken] = sockets
  const ends: string[] = []
  for (const socket of sockets) {
    socket.on('error', (error: NodeJS.ErrnoException) => ends.push(String(error.code)))
    socket.on('end', () => ends.push('end')).resume()
  }
  spoken?.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  if (spoken !== undefined) await once(spoken, 'data')
  const from = performance.now()
  await g.gateway.close()
  t.ok(performance.now() - from < noticeMs + atOnceMs, `${Math.round(performance.now() - from)} ms`)
  await until(() => ends.length === 3, 'all to hear of it')
  t.same(ends, ['end', 'end', 'end'], 'no reset')
})

t.test('a process that stood still for a while does not take that for silence', async (t) => {
  let stoodStillMs = 0
  const clock = { now: () => Date.now(), ticks: () => performance.now() + stoodStillMs }
  const g = await startGateway(t, { timeouts: { noticeMs: 20_000 } }, { clock })
  const dispatcher = new Agent({ connections: 1 })
  t.teardown(() => dispatcher.destroy())
  const ask = async (): Promise<string> => (await request(`${g.url}/readyz`, { dispatcher })).body.text()
  t.notMatch(await ask(), /draining/)
  const closing = g.gateway.close()
  t.match(await ask(), /draining/)
  stoodStillMs += 15_000
  // By then it has looked again.
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.match(await ask(), /draining/, 'whoever speaks now is heard')
  stoodStillMs += 15_000
  await closing
})

t.test('with no connection open the end is at once', async (t) => {
  const g = await startGateway(t, { timeouts: { noticeMs: 60_000 } })
  const from = performance.now()
  await g.gateway.close()
  t.ok(performance.now() - from < atOnceMs, `${Math.round(performance.now() - from)} ms`)
})
