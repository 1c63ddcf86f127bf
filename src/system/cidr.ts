/** Lists of networks, for looking up addresses. */
import { BlockList, isIP } from 'node:net'

/** Loopback, private and carrier-internal ranges: no peer on the Internet has such an address. */
export function createPrivateNetworks(): BlockList {
  return parseNetworks([
    '127.0.0.0/8',
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '169.254.0.0/16',
    '100.64.0.0/10',
    '::1',
    'fc00::/7',
    'fe80::/10',
  ])
}

/**
 * Whether a list covers half of the Internet or more, in whatever pieces. Samples evenly spaced addresses: no operator's own machines
 * cover eight of the sixteen IPv4 samples or four of the eight IPv6 samples.
 */
export function coversInternet(list: BlockList): boolean {
  const v4 = Array.from({ length: 16 }, (_, i) => list.check(`${i * 16 + 7}.9.9.9`, 'ipv4'))
  const v6 = Array.from({ length: 8 }, (_, i) => list.check(`${(0x2000 + i * 0x400 + 1).toString(16)}::9`, 'ipv6'))
  return [v4, v6].some((found) => found.filter(Boolean).length >= found.length / 2)
}

/** @param entries validated addresses and CIDRs */
export function parseNetworks(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
