/** The response writer, byte for byte. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { ResponseWriter } from '../../../../src/http/response/response-writer.ts'
import { waitUntil } from '../../../support/wait-until.ts'

/** Runs the writer and returns what a client of this version receives, with the end of its connection; `onData` gets each arrival. */
async function readRawResponse(
  version: '1.0' | '1.1',
  speak: (client: ResponseWriter) => void | Promise<void>,
  onData: (piece: string) => void = () => undefined,
  everywhere?: Readonly<Record<string, string>>,
  { sent = '', body = '' }: { readonly sent?: string; readonly body?: string } = {},
): Promise<string> {
  const server = createServer((request, response) => void speak(new ResponseWriter(request, response, everywhere)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`GET / HTTP/${version}\r\nhost: here\r\nconnection: close\r\n${sent}\r\n`)
  if (sent !== '') setImmediate(() => socket.write(body))
  // A writer that fails must not leave the test waiting.
  socket.setTimeout(5_000, () => socket.destroy())
  let all = ''
  socket.on('data', (piece) => {
    all += piece.toString('utf8')
    onData(piece.toString('utf8'))
  })
  await once(socket, 'close').finally(() => server.close())
  return all
}

const getHead = (all: string) => all.slice(0, all.indexOf('\r\n\r\n'))
const getBody = (all: string) => all.slice(all.indexOf('\r\n\r\n') + 4)

t.test('encodes frames as chunks, counted in bytes, and ends with the last chunk', async (t) => {
  const all = await readRawResponse('1.1', async (client) => {
    client.writeHead(200, { 'content-type': 'text/event-stream' })
    client.write('data: 你好\n\n')
    client.write('')
    await turn()
    client.end('data: [DONE]\n\n')
  })
  t.match(getHead(all).toLowerCase(), 'transfer-encoding: chunked')
  t.equal(getBody(all), 'e\r\ndata: 你好\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
})

t.test('frees the bytes of a reply once they were sent', async (t) => {
  const bytes = new Uint8Array(1_000_000).fill(0x61)
  const all = await readRawResponse('1.1', (client) => client.reply(200, {}, bytes))
  t.equal(getBody(all).length, 1_000_000)
  t.ok(getBody(all).endsWith('aaa'))
  t.equal(bytes.length, 0)
})

t.test('writes a first frame at once, coalesces those that follow, and ends before the interval', async (t) => {
  const all = await readRawResponse('1.1', async (client) => {
    const write = (...numbers: readonly number[]) => numbers.forEach((nth) => client.write(`data: ${nth}\n\n`))
    client.writeHead(200, {})
    write(1, 2)
    await turn()
    write(3)
    write(4, 5)
    await pause(150)
    write(6)
    await turn()
    write(7)
    client.end('data: [DONE]\n\n')
  })
  const chunks = getBody(all)
    .split(/[0-9a-f]+\r\n/)
    .map((chunk) => chunk.replaceAll(/data: |\s/g, ''))
  t.same(chunks, ['', '12', '345', '6', '7[DONE]', ''])
})

t.test('sends the last frames with the end if that follows soon, and without it otherwise', async (t) => {
  const together = await readRawResponse('1.1', async (client) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    await turn()
    client.write('data: 2\n\n')
    client.expectEnd()
    await turn()
    client.end('data: [DONE]\n\n')
  })
  t.equal(getBody(together), '9\r\ndata: 1\n\n\r\n17\r\ndata: 2\n\ndata: [DONE]\n\n\r\n0\r\n\r\n')
  const received = Promise.withResolvers<void>()
  const apart = await readRawResponse(
    '1.1',
    async (client) => {
      client.writeHead(200, {})
      client.write('data: 1\n\n')
      client.expectEnd()
      await received.promise
      client.end('data: [DONE]\n\n')
    },
    (piece) => piece.includes('data: 1') && received.resolve(),
  )
  t.match(getBody(apart), /data: 1\n\n\r\n/)
  t.match(getBody(apart), /data: \[DONE\]\n\n\r\n0/, 'a settlement that takes long delays no text')
})

t.test('sends scheduled frames with an early end, and none of them after a destroy', async (t) => {
  const ended = await readRawResponse('1.1', (client) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    client.end('data: [DONE]\n\n')
  })
  t.equal(getBody(ended), '17\r\ndata: 1\n\ndata: [DONE]\n\n\r\n0\r\n\r\n')
  const cut = await readRawResponse('1.1', (client) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    client.destroy()
  })
  t.equal(cut, '')
})

t.test('writes large buffers without waiting', async (t) => {
  const long = 'x'.repeat(1_000_000)
  let takesMore = true
  await readRawResponse('1.1', async (client) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    takesMore = client.write(long)
    client.end()
  })
  t.notOk(takesMore, 'the connection is full')
})

t.test('ends a stream without final frames with the last chunk', async (t) => {
  const all = await readRawResponse('1.1', (client) => {
    client.writeHead(200, {})
    client.end()
  })
  t.equal(getBody(all), '0\r\n\r\n')
})

t.test('sends no last chunk for a destroyed stream', async (t) => {
  const all = await readRawResponse('1.1', async (client) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    await turn()
    client.destroy()
  })
  t.notMatch(getBody(all), /0\r\n\r\n$/)
})

t.test('resets an aborted HTTP/1.0 response, because there the end of the connection means a complete one', async (t) => {
  const cut = async (client: ResponseWriter) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    await turn()
    client.destroy()
  }
  await t.rejects(readRawResponse('1.0', cut), { code: 'ECONNRESET' })
})

t.test('sends no chunks over HTTP/1.0', async (t) => {
  const all = await readRawResponse('1.0', (client) => {
    client.writeHead(200, {})
    client.write('data: 1\n\n')
    client.end('data: [DONE]\n\n')
  })
  t.notMatch(getHead(all).toLowerCase(), 'transfer-encoding')
  t.equal(getBody(all), 'data: 1\n\ndata: [DONE]\n\n')
})

t.test('sends the head with the first frames, and alone where none follow', async (t) => {
  const pieces: string[] = []
  await readRawResponse(
    '1.1',
    (client) => {
      client.writeHead(200, {})
      client.write('data: 1\n\n')
      client.end()
    },
    (piece) => pieces.push(piece),
  )
  t.match(pieces[0], /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\n9\r\ndata: 1\n\n\r\n/)
  let silent: ResponseWriter | undefined
  let seen = ''
  await readRawResponse(
    '1.1',
    (client) => {
      silent = client
      client.writeHead(200, {})
    },
    (piece) => {
      seen ||= piece
      silent?.end()
      silent = undefined
    },
  )
  t.match(seen, /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\n$/)
})

t.test('adds the common headers to both kinds of response, and lets the response override them', async (t) => {
  const everywhere = { 'x-everywhere': 'yes', 'x-own': 'everybody' }
  for (const speak of [
    (client: ResponseWriter) => client.reply(200, { 'x-own': 'mine' }, 'whole'),
    (client: ResponseWriter) => {
      client.writeHead(200, { 'x-own': 'mine' })
      client.end()
    },
  ]) {
    const head = getHead(await readRawResponse('1.1', speak, undefined, everywhere))
    t.match(head, '\r\nx-everywhere: yes')
    t.match(head, '\r\nx-own: mine')
    t.notMatch(head, 'everybody')
  }
})

function replyAfterInvalidHeader(t: Test, client: ResponseWriter): void {
  t.throws(() => client.reply(200, { 'x-first': 'valid', 'x-own': 'a\nb' }, 'whole'), { code: 'ERR_INVALID_CHAR' })
  t.equal(client.headersSent, false)
  client.reply(500, {}, 'failed')
  t.equal(client.headersSent, true)
}

for (const [name, sent] of [
  ['no body', ''],
  ['a body', 'content-length: 4\r\n'],
] as const)
  t.test(`rejects an invalid header of a reply while another can be sent, with ${name} to be received`, async (t) => {
    const speak = (client: ResponseWriter): void => replyAfterInvalidHeader(t, client)
    const all = await readRawResponse('1.1', speak, undefined, undefined, { sent, body: 'body' })
    t.match(all, /^HTTP\/1.1 500 [^]*failed$/)
    t.notMatch(all, 'x-first')
  })

t.test('rejects an invalid header of a reply over HTTP/2, which Node drops without an error', async (t) => {
  const server = http2.createServer((request, response) => replyAfterInvalidHeader(t, new ResponseWriter(request, response)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [headers] = (await once(session.request().resume(), 'response')) as [http2.IncomingHttpHeaders]
  t.match(headers, { ':status': 500, 'x-first': undefined })
  session.destroy()
  server.close()
})

t.test('a client that takes nothing of a whole answer is disconnected, over HTTP/1.1 and HTTP/2', async (t) => {
  const body = 'x'.repeat(64 * 2 ** 20)
  const server = createServer(answerWhole)
  const server2 = http2.createServer(answerWhole)
  let closedCount = 0
  function answerWhole(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void {
    response.once('close', () => closedCount++)
    new ResponseWriter(request, response, {}, undefined, 100).reply(200, {}, body)
  }
  for (const each of [server, server2]) {
    each.listen(0, '127.0.0.1')
    await once(each, 'listening')
    t.teardown(() => each.close())
  }
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  const session = http2.connect(`http://127.0.0.1:${(server2.address() as AddressInfo).port}`)
  t.teardown(() => session.destroy())
  session
    .request({ ':path': '/' })
    .on('error', () => undefined)
    .pause()
  await waitUntil(() => closedCount === 2, 'both to be closed')
  t.equal(closedCount, 2)
})
