/** Which addresses in messages may go to which upstream. */
import t from 'tap'
import { getMediaByAddress, MediaAddressGuard } from '../../../src/access/media-address-guard.ts'

const upstreams = {
  local: { baseUrl: 'http://127.0.0.1:8000/v1', mediaByAddress: null },
  remote: { baseUrl: 'https://api.example.com/v1', mediaByAddress: null },
  open: { baseUrl: 'http://127.0.0.1:8000/v1', mediaByAddress: 'any' as const },
  closed: { baseUrl: 'https://api.example.com/v1', mediaByAddress: 'refuse' as const },
}

const names: Readonly<Record<string, readonly string[]>> = {
  'images.example.com': ['93.184.216.34', '2606:2800:220:1::1'],
  'private.example.com': ['10.0.0.7'],
  'mixed.example.com': ['93.184.216.34', '127.0.0.1'],
  'metadata.example.com': ['169.254.169.254'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'empty.example.com': [],
}

function createGuard(): { readonly guard: MediaAddressGuard; readonly asked: string[]; readonly clock: { now: number } } {
  const asked: string[] = []
  const clock = { now: 0 }
  const resolve = async (hostname: string) => {
    asked.push(hostname)
    const addresses = names[hostname] ?? (/^\d+\.many\.example$/.test(hostname) ? ['93.184.216.34'] : undefined)
    if (addresses === undefined) throw new Error('ENOTFOUND')
    return addresses.map((address) => ({ address }))
  }
  return { guard: new MediaAddressGuard({ upstreams, monotonicMs: () => clock.now, resolve }), asked, clock }
}

t.test('refuses every address for an upstream at a private address, and for one that is configured so', async (t) => {
  const { guard, asked } = createGuard()
  for (const upstream of ['local', 'closed', 'unknown'])
    t.equal(await guard.findFault(['https://images.example.com/a.png'], [upstream]), 'refused', upstream)
  t.equal(await guard.findFault(['https://images.example.com/a.png'], ['remote', 'local']), 'refused', 'the strictest decides')
  t.equal(await guard.findFault([], ['local']), null)
  t.same(asked, [])
})

t.test('the default follows from the address of the upstream', (t) => {
  for (const [baseUrl, policy] of [
    ['demo', 'refuse'],
    ['http://localhost:8000/v1', 'refuse'],
    ['http://vllm:8000/v1', 'refuse'],
    ['http://gpu.internal/v1', 'refuse'],
    ['http://192.168.1.5/v1', 'refuse'],
    ['http://169.254.1.1/v1', 'refuse'],
    ['http://100.64.0.1/v1', 'refuse'],
    ['http://[::1]:8000/v1', 'refuse'],
    ['http://[fd00::1]/v1', 'refuse'],
    ['https://api.openai.com/v1', 'https'],
    ['https://93.184.216.34/v1', 'https'],
  ] as const)
    t.equal(getMediaByAddress({ baseUrl, mediaByAddress: null }), policy, baseUrl)
  t.equal(getMediaByAddress({ baseUrl: 'demo', mediaByAddress: 'any' }), 'any')
  t.end()
})

t.test('accepts https addresses of public hosts for an upstream elsewhere', async (t) => {
  const { guard, asked, clock } = createGuard()
  for (const address of [
    'https://images.example.com/a.png',
    'HTTPS://IMAGES.example.com:8443/a%20b.png?x=1#y',
    'https://images.example.com./a.png',
    'https://images.example.com',
    'https://93.184.216.34/a.png',
    'https://[2606:2800:220:1::1]/a.png',
    'https://images.example.com/图.png',
  ])
    t.equal(await guard.findFault([address], ['remote']), null, address)
  t.same(asked, ['images.example.com'], 'resolved once')
  clock.now = 61_000
  t.equal(await guard.findFault(['https://images.example.com/a.png'], ['remote', 'open']), null)
  t.equal(asked.length, 2, 'and again after a minute')
})

t.test('refuses every spelling of another address', async (t) => {
  const { guard } = createGuard()
  for (const address of [
    'http://images.example.com/a.png',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.0.0.1/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://010.8.8.8/',
    'https://127.0.0.1./',
    'https://1.2.3.4./',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://100.64.0.1/',
    'https://172.16.0.1/',
    'https://192.168.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    'https://metadata/',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://nas.home.arpa/',
    'https://user:pass@images.example.com/',
    'https://images.example.com@127.0.0.1/',
    'https://images.example.com\\@127.0.0.1/',
    'https://127.0.0.1\\@images.example.com/',
    'https:\\\\images.example.com/',
    'https:/images.example.com/',
    'https:images.example.com',
    ' https://images.example.com/',
    'https://images.example.com/\r\nHost: x',
    'https://images.example.com/a b.png',
    'https://images.example.com:99999999/',
    'https://１２７.0.0.1/',
    'https://images。example.com/',
    'https://127%2e0.0.1/',
    'https://1.2.3.4.5/',
    'https://',
    '//images.example.com/',
    '/etc/passwd',
    'file:///etc/passwd',
    'ftp://images.example.com/',
    'javascript:1',
    `https://images.example.com/${'x'.repeat(2_100)}`,
    'https://private.example.com/',
    'https://mixed.example.com/',
    'https://metadata.example.com/',
    'https://mapped.example.com/',
    'https://empty.example.com/',
    'https://missing.example.com/',
  ])
    t.equal(await guard.findFault(['https://images.example.com/a.png', address], ['remote']), 'not_public', address)
})

t.test('sends everything to an upstream that is configured for it', async (t) => {
  const { guard } = createGuard()
  t.equal(await guard.findFault(['http://127.0.0.1/', 'file:///x', ...Array.from({ length: 101 }, String)], ['open']), null)
})

t.test('the work for one request and what is kept of names is bounded', async (t) => {
  const { guard, asked } = createGuard()
  const hosts = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `https://${from + i}.many.example/`)
  t.equal(await guard.findFault(hosts(0, 21), ['remote']), 'too_many')
  t.equal(
    await guard.findFault(
      Array.from({ length: 101 }, (_, i) => `https://images.example.com/${i}`),
      ['remote'],
    ),
    'too_many',
  )
  t.same(asked, [])
  for (let from = 0; from < 1_020; from += 20) t.equal(await guard.findFault(hosts(from, from + 20), ['remote']), null)
  asked.splice(0)
  await guard.findFault(hosts(1_000, 1_020), ['remote'])
  t.same(asked, [], 'known names')
  await guard.findFault(hosts(0, 1), ['remote'])
  t.equal(asked.length, 1, 'the oldest is forgotten')
})
