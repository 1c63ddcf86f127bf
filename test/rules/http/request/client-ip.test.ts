/** The client's address: only a trusted proxy can state another one. */
import t from 'tap'
import { parseNetworks } from '../../../../src/system/cidr.ts'
import { toAddressPrefix, resolveClientIp } from '../../../../src/http/request/client-ip.ts'

const trusted = parseNetworks(['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])

t.test('uses the socket’s address unless it is a trusted proxy’s', async (t) => {
  for (const [peer, header, expected] of [
    ['203.0.113.9', undefined, '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', '1.1.1.1, 198.51.100.1, 10.0.0.7', '198.51.100.1'],
    ['127.0.0.1', ' 198.51.100.1 ,10.1.1.1,10.2.2.2', '198.51.100.1'],
    ['127.0.0.1', ['1.1.1.1', '198.51.100.1'], '198.51.100.1'],
    ['127.0.0.1', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['127.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['127.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['127.0.0.1', '2001:DB8::1', '2001:db8::1'],
    ['127.0.0.1', 'fe80::1%eth0', 'fe80::1'],
    ['127.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['fd00::1', '198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', 'unknown', '127.0.0.1'],
    ['127.0.0.1', '198.51.100.1, nonsense, 10.0.0.1', '10.0.0.1'],
    ['127.0.0.1', '', '127.0.0.1'],
    ['127.0.0.1', ',,,', '127.0.0.1'],
    ['127.0.0.1', "1.1.1.1' or 1=1", '127.0.0.1'],
    [undefined, '198.51.100.1', ''],
  ] as const) {
    t.equal(resolveClientIp(peer, header as string | string[] | undefined, trusted), expected, `${peer} ← ${String(header)}`)
  }
})

t.test('counts limits by IPv4 address and by IPv6 /64', async (t) => {
  t.equal(toAddressPrefix('203.0.113.9'), '203.0.113.9')
  const same = ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0db8:0001:0002:0:0:0:9']
  t.equal(new Set(same.map(toAddressPrefix)).size, 1)
  t.not(toAddressPrefix('2001:db8:1:3::1'), toAddressPrefix('2001:db8:1:2::1'))
  t.equal(toAddressPrefix('::1'), '0:0:0:0::/64')
  t.equal(toAddressPrefix('2001:db8::'), '2001:db8:0:0::/64')
  t.equal(toAddressPrefix(''), '')
})
