import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { createServer as createCanary } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { paintPng } from '../../../../src/demo-upstream/png.ts'
import { RemoteImageFetcher } from '../../../../src/tools/images/remote-images.ts'
import type { RemoteImageOptions } from '../../../../src/tools/images/remote-images.ts'
import { isPublicAddress } from '../../../../src/access/ssrf-guard.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'

const never = new AbortController().signal
const png = paintPng('far away')

/** Counts connections on loopback. */
async function startCanary(t: Test): Promise<{ port: number; knocks: () => number }> {
  let knocks = 0
  const server = createCanary((socket) => {
    knocks++
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, knocks: () => knocks }
}

/** A server that stands in for the public internet: its name is `images.example`, and tests allow its address. */
async function startRemoteServer(t: Test, handle: (req: IncomingMessage, res: ServerResponse) => void) {
  const folder = createTemporaryFolder(t)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const name = ['-subj', '/CN=images.example', '-addext', 'subjectAltName=DNS:images.example,DNS:rebound.example']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('openssl', [...made, '-keyout', key, '-out', cert, ...name], { stdio: 'ignore' })
  const ca = readFileSync(cert, 'utf8')
  const server = createServer({ key: readFileSync(key), cert: ca }, handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { ca, port: (server.address() as AddressInfo).port }
}

function createFetcher(t: Test, options: Partial<RemoteImageOptions> = {}): RemoteImageFetcher {
  const images = new RemoteImageFetcher({ maxBytes: 100_000, ...options })
  t.teardown(() => images.close())
  return images
}

const toLoopback: RemoteImageOptions['resolve'] = async () => [{ address: '127.0.0.1', family: 4 }]

t.test('classifies public and special-purpose addresses', async (t) => {
  for (const address of ['8.8.8.8', '1.1.1.1', '203.0.114.1', '2606:4700::1111', '2a00:1450::1'])
    t.ok(isPublicAddress(address), address)
  const inside = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.31.255.255',
    '192.0.0.1',
    '192.168.0.1',
    '198.19.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    'fe80::1',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'example.com',
    '',
  ]
  for (const address of inside) t.notOk(isPublicAddress(address), address || 'nothing')
})

t.test('connects to no spelling of an internal address', async (t) => {
  const { port, knocks } = await startCanary(t)
  const images = createFetcher(t)
  const spellings = [
    `https://127.0.0.1:${port}/x.png`,
    `https://2130706433:${port}/x.png`,
    `https://0x7f.1:${port}/x.png`,
    `https://0177.0.0.1:${port}/x.png`,
    `https://0.0.0.0:${port}/x.png`,
    `https://[::1]:${port}/x.png`,
    `https://[::ffff:127.0.0.1]:${port}/x.png`,
    `https://[::]:${port}/x.png`,
    `https://localhost:${port}/x.png`,
    `https://localhost.:${port}/x.png`,
    `https://user:pass@images.example:${port}/x.png`,
    `http://images.example:${port}/x.png`,
    `ftp://images.example:${port}/x.png`,
    'file:///etc/passwd',
    'not an address',
  ]
  for (const url of spellings) t.equal(await images.fetch(url, never), null, url)
  t.equal(knocks(), 0, 'no connection was made')
})

t.test('does not follow a name that rebinds to an internal address', async (t) => {
  const { port, knocks } = await startCanary(t)
  let queries = 0
  // Public when checked, internal when used: the guard resolves the name only once.
  const rebinding: RemoteImageOptions['resolve'] = async () => [
    { address: queries++ === 0 ? '203.0.114.1' : '127.0.0.1', family: 4 },
  ]
  const refusing = createFetcher(t, { resolve: toLoopback })
  t.equal(await refusing.fetch(`https://images.example:${port}/x.png`, never), null)
  queries = 1
  t.equal(await createFetcher(t, { resolve: rebinding }).fetch(`https://images.example:${port}/x.png`, never), null)
  const mixed: RemoteImageOptions['resolve'] = async () => [
    { address: '203.0.114.1', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  t.equal(await createFetcher(t, { resolve: mixed }).fetch(`https://images.example:${port}/x.png`, never), null)
  t.equal(knocks(), 0, 'no connection was made')
})

t.test('fetches a public image without credentials', async (t) => {
  let seen: IncomingMessage['headers'] = {}
  const { ca, port } = await startRemoteServer(t, (req, res) => {
    seen = req.headers
    res.end(png)
  })
  const images = createFetcher(t, { resolve: toLoopback, isAllowedAddress: () => true, ca })
  t.same(await images.fetch(`https://images.example:${port}/x.png`, never), png)
  t.same(Object.keys(seen).toSorted(), ['accept', 'connection', 'host'])
})

t.test('checks each redirect: follows public addresses, refuses internal ones, and stops after a limit', async (t) => {
  const trap = await startCanary(t)
  const { ca, port } = await startRemoteServer(t, (req, res) => {
    const to: Record<string, string> = {
      '/moved': '/here',
      '/inside': `https://127.0.0.2:${trap.port}/x.png`,
      '/rebound': `https://rebound.example:${trap.port}/x.png`,
      '/plain': `http://images.example:${trap.port}/x.png`,
      '/round': '/round',
    }
    const location = to[req.url ?? '']
    if (location === undefined) return res.end(png)
    res.writeHead(302, { location }).end()
  })
  const images = createFetcher(t, {
    ca,
    // The remote server is on loopback; the trap has another loopback address.
    isAllowedAddress: (address) => address === '127.0.0.1',
    resolve: async (name) => [{ address: name === 'images.example' ? '127.0.0.1' : '127.0.0.2', family: 4 }],
  })
  const from = (path: string) => images.fetch(`https://images.example:${port}${path}`, never)
  t.same(await from('/moved'), png)
  for (const path of ['/inside', '/rebound', '/plain', '/round']) t.equal(await from(path), null, path)
  t.equal(trap.knocks(), 0)
})

t.test('stops reading above the size limit and returns null on failure', async (t) => {
  let sent = 0
  const { ca, port } = await startRemoteServer(t, (req, res) => {
    if (req.url === '/missing') return res.writeHead(404).end('no')
    const more = (): void => {
      while (sent < 50_000_000 && res.write(Buffer.alloc(64_000))) sent += 64_000
    }
    res.on('drain', more)
    more()
  })
  const images = createFetcher(t, { resolve: toLoopback, isAllowedAddress: () => true, ca })
  t.equal(await images.fetch(`https://images.example:${port}/endless`, never), null)
  t.ok(sent < 10_000_000, 'the download was aborted')
  t.equal(await images.fetch(`https://images.example:${port}/missing`, never), null)
})

t.test('aborts the fetch when the client disconnects', async (t) => {
  const gone = new AbortController()
  const { ca, port } = await startRemoteServer(t, () => gone.abort())
  const images = createFetcher(t, { resolve: toLoopback, isAllowedAddress: () => true, ca })
  t.equal(await images.fetch(`https://images.example:${port}/silent`, gone.signal), null)
})
