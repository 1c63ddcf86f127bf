/** The client's IP address: the socket's, or through trusted proxies the first from the right that is not one of them. */
import type { BlockList } from 'node:net'
import { isIP } from 'node:net'

/** @param forwardedFor the X-Forwarded-For header as received */
export function resolveClientIp(
  peerAddress: string | undefined,
  forwardedFor: string | string[] | undefined,
  trusted: BlockList,
): string {
  let address = normalizeAddress(peerAddress ?? '')
  if (forwardedFor === undefined || !isInNetworks(address, trusted)) return address
  const hops = (Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor).split(',')
  for (const hop of hops.toReversed()) {
    const next = normalizeAddress(hop.trim())
    // A hop that is not an IP address is forged; the last valid one counts.
    if (isIP(next) === 0) return address
    address = next
    if (!isInNetworks(address, trusted)) return address
  }
  return address
}

/** The key that limits count by: an IPv4 address, or the /64 of an IPv6 address, which belongs to one customer. */
export function toAddressPrefix(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0')
  const groups = [...front, ...zeros, ...back].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

export function isInNetworks(address: string, networks: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && networks.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** Removes port, brackets and zone, and converts an IPv4-mapped IPv6 address to IPv4. */
export function normalizeAddress(text: string): string {
  let address = text
  if (address.startsWith('[')) address = address.slice(1, address.indexOf(']'))
  else if (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)) address = address.slice(0, address.indexOf(':'))
  const zone = address.indexOf('%')
  if (zone !== -1) address = address.slice(0, zone)
  return address.toLowerCase().startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address.toLowerCase()
}
