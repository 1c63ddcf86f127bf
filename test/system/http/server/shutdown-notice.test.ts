/** Shutdown with kept connections: each is notified, and requests that arrive meanwhile are answered. */
import http from 'node:http'
import http2 from 'node:http2'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { Agent, request } from 'undici'
import { createSelfSignedCertificate } from '../../../support/servers/tls-certificate.ts'
import { maxImmediateMs, startGateway, createTemporaryFolder, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../src/system/clock.ts'

/** Long enough for a busy machine; half of it without requests ends the notice. */
const noticeMs = 4_000
const requests = 400
const workers = 50

/** Sends 400 requests on kept connections while the gateway closes, fifty at a time, with and without pauses. Returns the outcomes. */
async function requestRepeatedly(ask: () => Promise<number>): Promise<Record<string, number>> {
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
  t.test(`${name}: loses none of 400 requests on kept connections`, async (t) => {
    const g = await startGateway(t, { timeouts: { drainNoticeMs: noticeMs } })
    const client = open(g.url)
    t.teardown(() => client.close())
    await Promise.all(Array.from({ length: 200 }, client.ask))
    const from = performance.now()
    const closing = g.gateway.close()
    t.same(await requestRepeatedly(client.ask), { 200: requests })
    await closing
    const took = performance.now() - from
    t.ok(took < 30_000, `it ended after ${Math.round(took)} ms`)
    await t.rejects(client.ask(), 'new connections are refused')
  })
}

t.test('completes running HTTP/2 streams, sends GOAWAY, and serves new streams until the end', async (t) => {
  const { cert, key, ca } = createSelfSignedCertificate(createTemporaryFolder(t))
  const g = await startGateway(t, { listen: { tls: { cert, key } }, timeouts: { drainNoticeMs: noticeMs } })
  const { token } = await g.createMember()
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
  const goaways: number[] = []
  session.on('goaway', (code, lastStream) => goaways.push(code, lastStream))
  const turns = Array.from({ length: 20 }, () => ask(session, turn, chat))
  await waitUntil(() => g.demo.stats().requests === 20, 'all turns to run')
  const closing = g.gateway.close()
  const other = open()
  t.match(await ask(other, { ':path': '/readyz' }), /draining/, 'a new session is served and notified')
  for (const text of await Promise.all(turns)) t.match(text, /data: \[DONE\]\n\n$/)
  await closing
  t.same(goaways.slice(0, 2), [0, 2 ** 31 - 1], 'no stream on its way is refused')
  await waitUntil(() => session.destroyed && other.destroyed, 'both sessions to close')
})

t.test('ends an idle connection in order and does not wait for it', async (t) => {
  const g = await startGateway(t, { timeouts: { drainNoticeMs: noticeMs } })
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
  t.ok(performance.now() - from < noticeMs + maxImmediateMs, `${Math.round(performance.now() - from)} ms`)
  await waitUntil(() => ends.length === 3, 'all connections to end')
  t.same(ends, ['end', 'end', 'end'], 'no reset')
})

t.test('does not count the time of a stalled process as idle', async (t) => {
  let stoodStillMs = 0
  const clock = createClock({ monotonicMs: () => performance.now() + stoodStillMs })
  const g = await startGateway(t, { timeouts: { drainNoticeMs: 20_000 } }, { clock })
  const dispatcher = new Agent({ connections: 1 })
  t.teardown(() => dispatcher.destroy())
  const ask = async (): Promise<string> => (await request(`${g.url}/readyz`, { dispatcher })).body.text()
  t.notMatch(await ask(), /draining/)
  const closing = g.gateway.close()
  t.match(await ask(), /draining/)
  stoodStillMs += 15_000
  // By now it has polled again.
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.match(await ask(), /draining/, 'a request after the stall is answered')
  stoodStillMs += 15_000
  await closing
})

t.test('shuts down at once without open connections', async (t) => {
  const g = await startGateway(t, { timeouts: { drainNoticeMs: 60_000 } })
  const from = performance.now()
  await g.gateway.close()
  t.ok(performance.now() - from < maxImmediateMs, `${Math.round(performance.now() - from)} ms`)
})
