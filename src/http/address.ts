/** Who is calling: the socket's address, or through trusted proxies the first address from the right that is not one of them. */
import type { BlockList } from 'node:net'
import { isIP } from 'node:net'

/** @param forwardedFor the X-Forwarded-For header as it came */
export function clientAddress(peer: string | undefined, forwardedFor: string | string[] | undefined, trusted: BlockList): string {
  let address = normalised(peer ?? '')
  if (forwardedFor === undefined || !isTrusted(address, trusted)) return address
  const hops = (Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor).split(',')
  for (const hop of hops.toReversed()) {
    const next = normalised(hop.trim())
    // A hop that is no address was made up by somebody; the last believable one stands.
    if (isIP(next) === 0) return address
    address = next
    if (!isTrusted(address, trusted)) return address
  }
  return address
}

/** The subject that limits count by: an IPv4 address, or an IPv6 /64, which is one customer's however many addresses it has. */
export function addressPrefix(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0')
  const groups = [...front, ...zeros, ...back].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

export function isTrusted(address: string, trusted: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** Without port, brackets and zone, and an IPv4 address in IPv6 clothes as what it is. */
function normalised(text: string): string {
  let address = text
  if (address.startsWith('[')) address = address.slice(1, address.indexOf(']'))
  else if (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)) address = address.slice(0, address.indexOf(':'))
  const zone = address.indexOf('%')
  if (zone !== -1) address = address.slice(0, zone)
  return address.toLowerCase().startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address.toLowerCase()
}
