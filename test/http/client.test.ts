/** The client's end of the line: what goes over it, byte for byte. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { NodeClient } from '../../src/http/client.ts'

/** What a client of this version is sent for these words, its connection's end included; `told` hears each arrival. */
async function heard(
  version: '1.0' | '1.1',
  speak: (client: NodeClient) => void | Promise<void>,
  told: (piece: string) => void = () => undefined,
  everywhere?: Readonly<Record<string, string>>,
): Promise<string> {
  const server = createServer((request, response) => void speak(new NodeClient(request, response, everywhere)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`GET / HTTP/${version}\r\nhost: here\r\nconnection: close\r\n\r\n`)
  let all = ''
  socket.on('data', (piece) => {
    all += piece.toString('utf8')
    told(piece.toString('utf8'))
  })
  await once(socket, 'close').finally(() => server.close())
  return all
}

const headOf = (all: string) => all.slice(0, all.indexOf('\r\n\r\n'))
const bodyOf = (all: string) => all.slice(all.indexOf('\r\n\r\n') + 4)

t.test('frames are chunks, counted in bytes, and the last word ends them', async (t) => {
  const all = await heard('1.1', async (client) => {
    client.open(200, { 'content-type': 'text/event-stream' })
    client.write('data: 你好\n\n')
    client.write('')
    await turn()
    client.end('data: [DONE]\n\n')
  })
  t.match(headOf(all).toLowerCase(), 'transfer-encoding: chunked')
  t.equal(bodyOf(all), 'e\r\ndata: 你好\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
})

t.test('what comes in one piece leaves at once, what follows closely leaves together, the end before its beat', async (t) => {
  const all = await heard('1.1', async (client) => {
    const write = (...numbers: readonly number[]) => numbers.forEach((nth) => client.write(`data: ${nth}\n\n`))
    client.open(200, {})
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
  const chunks = bodyOf(all)
    .split(/[0-9a-f]+\r\n/)
    .map((chunk) => chunk.replaceAll(/data: |\s/g, ''))
  t.same(chunks, ['', '12', '345', '6', '7[DONE]', ''])
})

t.test('what was to leave at once goes with a last word that comes before, and not at all where the line is cut', async (t) => {
  const ended = await heard('1.1', (client) => {
    client.open(200, {})
    client.write('data: 1\n\n')
    client.end('data: [DONE]\n\n')
  })
  t.equal(bodyOf(ended), '17\r\ndata: 1\n\ndata: [DONE]\n\n\r\n0\r\n\r\n')
  const cut = await heard('1.1', (client) => {
    client.open(200, {})
    client.write('data: 1\n\n')
    client.cut()
  })
  t.equal(cut, '')
})

t.test('more than a little is not gathered', async (t) => {
  const long = 'x'.repeat(1_000_000)
  let takesMore = true
  await heard('1.1', async (client) => {
    client.open(200, {})
    client.write('data: 1\n\n')
    takesMore = client.write(long)
    client.end()
  })
  t.notOk(takesMore, 'it is on the connection, which has its fill')
})

t.test('a stream without a last word ends with its last chunk', async (t) => {
  const all = await heard('1.1', (client) => {
    client.open(200, {})
    client.end()
  })
  t.equal(bodyOf(all), '0\r\n\r\n')
})

t.test('a stream that is cut has no last chunk', async (t) => {
  const all = await heard('1.1', async (client) => {
    client.open(200, {})
    client.write('data: 1\n\n')
    await turn()
    client.cut()
  })
  t.notMatch(bodyOf(all), /0\r\n\r\n$/)
})

t.test('who speaks HTTP/1.0 is told of a cut by a reset, because an end is all that it knows of a whole answer', async (t) => {
  const cut = async (client: NodeClient) => {
    client.open(200, {})
    client.write('data: 1\n\n')
    await turn()
    client.cut()
  }
  await t.rejects(heard('1.0', cut), { code: 'ECONNRESET' })
})

t.test('who speaks HTTP/1.0 knows no chunks', async (t) => {
  const all = await heard('1.0', (client) => {
    client.open(200, {})
    client.write('data: 1\n\n')
    client.end('data: [DONE]\n\n')
  })
  t.notMatch(headOf(all).toLowerCase(), 'transfer-encoding')
  t.equal(bodyOf(all), 'data: 1\n\ndata: [DONE]\n\n')
})

t.test('the head of a stream leaves with its first frames, and alone where none follow', async (t) => {
  const pieces: string[] = []
  await heard(
    '1.1',
    (client) => {
      client.open(200, {})
      client.write('data: 1\n\n')
      client.end()
    },
    (piece) => pieces.push(piece),
  )
  t.match(pieces[0], /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\n9\r\ndata: 1\n\n\r\n/)
  let silent: NodeClient | undefined
  let seen = ''
  await heard(
    '1.1',
    (client) => {
      silent = client
      client.open(200, {})
    },
    (piece) => {
      seen ||= piece
      silent?.end()
      silent = undefined
    },
  )
  t.match(seen, /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\n$/)
})

t.test('what every answer has is in the head of both kinds, and gives way to what an answer says itself', async (t) => {
  const everywhere = { 'x-everywhere': 'yes', 'x-own': 'everybody' }
  for (const speak of [
    (client: NodeClient) => client.reply(200, { 'x-own': 'mine' }, 'whole'),
    (client: NodeClient) => {
      client.open(200, { 'x-own': 'mine' })
      client.end()
    },
  ]) {
    const head = headOf(await heard('1.1', speak, undefined, everywhere))
    t.match(head, '\r\nx-everywhere: yes')
    t.match(head, '\r\nx-own: mine')
    t.notMatch(head, 'everybody')
  }
})
