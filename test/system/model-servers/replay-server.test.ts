/** The replay server itself: what a client receives is what was recorded, in these pieces, with this end. */
import { connect } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { bytesOf, listCases, loadRecording, servers, statusOf } from './recording.ts'
import type { RecordedResponse } from './recording.ts'
import { planPlayback, startReplayServer } from './replay-server.ts'
import type { Playback } from './replay-server.ts'

const ask = (body = '{"model":"m"}') =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: ${body.length}\r\n\r\n${body}`

interface Received {
  readonly pieces: readonly string[]
  readonly text: string
  readonly end: 'FIN' | 'RST' | 'open'
}

/** Sends `requests` over one connection, the next one `pauseMs` after the last byte, and reads until it ends or is silent for `quietMs`. */
function talk(url: string, requests: readonly string[], { quietMs = 100 } = {}): Promise<Received> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const left = [...requests]
    const pieces: string[] = []
    let quiet: NodeJS.Timeout | undefined
    const socket = connect({ host: hostname, port: Number(port) })
    const finish = (end: Received['end']): void => {
      clearTimeout(quiet)
      socket.destroy()
      resolve({ pieces, text: pieces.join(''), end })
    }
    const wait = (): void => {
      clearTimeout(quiet)
      quiet = setTimeout(() => {
        const next = left.shift()
        if (next === undefined) return finish('open')
        socket.write(next)
        wait()
      }, quietMs)
    }
    socket.on('connect', () => {
      socket.write(left.shift() ?? '')
      wait()
    })
    socket.on('data', (bytes: Buffer) => {
      pieces.push(bytes.toString())
      wait()
    })
    socket.on('end', () => finish('FIN'))
    socket.on('error', () => finish('RST'))
  })
}

async function play(t: Test, playback: Playback, requests = [ask()]): Promise<Received> {
  const server = await startReplayServer(() => playback)
  t.teardown(() => server.close())
  return talk(server.url, requests)
}

t.test('plays every recording to the byte, with its end', async (t) => {
  for (const name of servers)
    for (const each of listCases(name)) {
      const { response, next } = loadRecording(name, each)
      // The time after which an idle connection is closed is the subject of the next test.
      const { pieces, ending } = planPlayback({ response })
      t.equal(Buffer.concat(pieces.map(({ bytes }) => bytes)).compare(bytesOf(response)), 0, `${name}/${each}: bytes`)
      t.equal(ending?.by, response.closed ? response.closedBy : undefined, `${name}/${each}: end`)
      t.ok(statusOf(response) !== null, `${name}/${each}: has a status`)
      t.equal(isWholeByFraming(response), response.complete, `${name}/${each}: framing`)
      for (const { response: later, note } of next ?? []) {
        t.equal(later === null, note !== undefined, `${name}/${each}: a note where nothing was sent`)
        if (later?.head === '') t.match(later.closedBy, /^(FIN|RST)$/, `${name}/${each}: a connection that ended without a byte`)
      }
    }
})

t.test('writes the recorded pieces and keeps or closes the connection', async (t) => {
  const stream = loadRecording('ollama', 'stream')
  const kept = await play(t, stream)
  t.equal(kept.text, bytesOf(stream.response).toString())
  t.ok(kept.pieces.length > stream.response.chunks.length / 2, `${kept.pieces.length} reads`)
  t.equal(kept.end, 'open')
  const killed = loadRecording('ollama', 'killed-mid-stream')
  const cut = await play(t, killed)
  t.equal(cut.text, bytesOf(killed.response).toString())
  t.equal(cut.end, 'FIN')
})

t.test('keeps to the recorded times, scaled', async (t) => {
  const idle = loadRecording('litellm', 'idle-connection')
  const took = async (speed: number) => {
    const server = await startReplayServer(() => ({ ...idle, speed }))
    t.teardown(() => server.close())
    const startedAt = performance.now()
    const { end } = await talk(server.url, [ask()], { quietMs: 10_000 })
    t.equal(end, 'FIN')
    return performance.now() - startedAt
  }
  t.ok((await took(0)) < 400)
  const tenth = await took(0.1)
  t.ok(tenth > 480 && tenth < 5_000, `${tenth} ms for a tenth of 5,017`)
})

t.test('cuts at a byte, by FIN or reset', async (t) => {
  const { response } = loadRecording('ollama', 'plain')
  const whole = bytesOf(response).toString()
  const cut = await play(t, { response, cutAt: 40 })
  t.same([cut.text, cut.end], [whole.slice(0, 40), 'FIN'])
  t.equal((await play(t, { response, cutAt: 40, end: 'RST' })).end, 'RST')
  t.same(await play(t, { response, cutAt: 0 }), { pieces: [], text: '', end: 'FIN' })
  t.equal((await play(t, { response, end: 'RST' })).end, 'RST')
})

t.test('glues and splits pieces', async (t) => {
  const { response } = loadRecording('ollama', 'stream')
  const whole = bytesOf(response)
  const sizes = (pieces: Playback['pieces'] & {}) => planPlayback({ response, pieces }).pieces.map(({ bytes }) => bytes.length)
  t.same(sizes('glued'), [whole.length])
  t.same(sizes([3, 10]), [3, 7, whole.length - 10])
  t.same(new Set(sizes(1)), new Set([1]))
  t.same(
    planPlayback({ response, pieces: 7, cutAt: 9 }).pieces.map(({ bytes }) => bytes.length),
    [7, 2],
  )
  const split = await play(t, { response, pieces: 5 })
  t.equal(split.text, whole.toString())
  t.ok(split.pieces.length > 20, `${split.pieces.length} reads`)
})

t.test('answers the second request on a connection as recorded', async (t) => {
  const answered = loadRecording('litellm', 'kept-after-500-0ms')
  const both = await play(t, answered, [ask(), ask()])
  t.equal(both.text, bytesOf(answered.response).toString() + bytesOf(answered.next![0]!.response!).toString())
  const reset = await play(t, loadRecording('llama-cpp-python', 'kept-after-malformed-0ms'), [ask(), ask()])
  t.match(reset, { text: /^HTTP\/1\.1 500 .*Internal Server Error$/s, end: 'RST' })
  const closed = await play(t, loadRecording('llama-cpp-python', 'kept-after-failed-stream-0ms'), [ask(), ask()])
  t.match(closed, { text: /^HTTP\/1\.1 200 /, end: 'FIN' })
})

t.test('reads requests of any framing and leaves the choice to the test', async (t) => {
  const ok = loadRecording('ollama', 'eos').response
  const server = await startReplayServer(({ path }) => (path === '/v1/models' ? undefined : { response: ok }))
  t.teardown(() => server.close())
  const chunked = 'POST /v1/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'
  const { text } = await talk(server.url, [chunked, 'GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n', ask('{}')])
  t.match(text, /200 OK.*404 Not Found.*200 OK/s)
  t.match(server.requests, [
    { connection: 1, position: 1, method: 'POST', path: '/v1/x', body: 'abcde' },
    { connection: 1, position: 2, method: 'GET', path: '/v1/models', headers: { host: 'h' }, body: '' },
    { connection: 1, position: 3, body: '{}' },
  ])
})

/** Whether head and chunks are a complete message of HTTP/1.1. */
function isWholeByFraming(response: RecordedResponse): boolean {
  const text = bytesOf(response)
  const body = text.subarray(Buffer.byteLength(response.head, 'latin1'))
  const length = /^content-length: (\d+)\r?$/im.exec(response.head)?.[1]
  return length === undefined ? body.toString().endsWith('0\r\n\r\n') : body.length === Number(length)
}
