/** Public DNS names, resolved by a real name server on this machine. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'
import t from 'tap'
import { createPublicResolver } from '../../../src/access/public-resolver.ts'

const typeA = 1
const noSuchName = 3

/** A name server whose answer depends on the first label; names that begin with "silent" get none. */
async function nameServer(t: Test): Promise<string> {
  const socket = createSocket('udp4')
  t.teardown(() => void socket.close())
  socket.on('message', (query, { port, address }) => {
    const word = query.toString('latin1', 13, 13 + query.readUInt8(12))
    const end = query.indexOf(0, 12) + 5
    const isV4 = query.readUInt16BE(end - 4) === typeA
    if (word === 'silent' || (word === 'half' && !isV4)) return
    socket.send(answerTo(query.subarray(0, end), word === 'there' || word === 'half', isV4), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return `127.0.0.1:${socket.address().port}`
}

/** The question and one address of the requested family. */
function answerTo(question: Buffer, isThere: boolean, isV4: boolean): Buffer {
  const head = Buffer.from(question)
  head.writeUInt16BE(0x8180 | (isThere ? 0 : noSuchName), 2)
  head.writeUInt16BE(isThere ? 1 : 0, 6)
  head.fill(0, 8, 12)
  if (!isThere) return head
  const address = isV4 ? [203, 0, 114, 7] : [0x26, 0x06, 0x47, 0, ...Array.from({ length: 11 }, () => 0), 7]
  const named = [0xc0, 12, 0, isV4 ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, address.length]
  return Buffer.concat([head, Buffer.from([...named, ...address])])
}

t.test('returns all addresses of a name, IPv4 first', async (t) => {
  const names = createPublicResolver([await nameServer(t)])
  t.same(await names('there.example'), [
    { address: '203.0.114.7', family: 4 },
    { address: '2606:4700::7', family: 6 },
  ])
})

t.test('rejects an unknown name', async (t) => {
  await t.rejects(createPublicResolver([await nameServer(t)])('gone.example'), { code: 'ENOTFOUND' })
})

t.test('gives up a silent name server before a connection timeout and delays no other name', async (t) => {
  const names = createPublicResolver([await nameServer(t)])
  const ended: string[] = []
  const silent = Array.from({ length: 8 }, () =>
    names('silent.example').catch(({ code }: { code: string }) => {
      ended.push('silent')
      return code
    }),
  )
  const half = names('half.example')
  await names('there.example').then(() => ended.push('there'))
  t.same(await half, [{ address: '203.0.114.7', family: 4 }], 'an answer for one address family is enough')
  t.same(new Set(await Promise.all(silent)), new Set(['ETIMEOUT']))
  t.same(ended, ['there', ...Array(8).fill('silent')])
})
