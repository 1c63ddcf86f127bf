/**
 * SSRF guard: fetches addresses named by strangers only if every resolved address is public. Addresses are checked when the connection is
 * made, so that a name cannot resolve to one address for the check and another for use.
 */
import type { LookupAddress } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { Agent } from '../system/vendor/undici-agent.ts'
import { createPublicResolver } from './public-resolver.ts'

export interface SsrfGuardOptions {
  /** For tests: the resolver, the allowed addresses, and additional trusted certificates. */
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>
  readonly isAllowedAddress?: (address: string) => boolean
  readonly ca?: string
}

const connectMs = 5_000

/** A name resolved to an address that is not public. */
export class AddressNotAllowedError extends Error {
  constructor() {
    super('the address is not allowed')
    this.name = 'AddressNotAllowedError'
  }
}

/** Connects to public addresses alone. Callers must use https and check `isAllowedUrl`. */
export function createPublicAgent(
  timeoutMs: number,
  { resolve = createPublicResolver(), isAllowedAddress = isPublicAddress, ca }: SsrfGuardOptions = {},
): Agent {
  const resolveAllowed = callbackify(async (hostname: string) => {
    const addresses = await resolve(hostname)
    if (addresses.some(({ address }) => !isAllowedAddress(address))) throw new AddressNotAllowedError()
    return addresses
  })
  const lookupAllowed: LookupFunction = (hostname, { all = false }, done) => {
    resolveAllowed(hostname, (error, addresses) => {
      const first = addresses?.[0]
      if (first === undefined) done(error ?? new Error('the name has no addresses'), '')
      else if (all) done(null, [...addresses])
      else done(null, first.address, first.family)
    })
  }
  const connect = { lookup: lookupAllowed, timeout: connectMs, ...(ca === undefined ? {} : { ca }) }
  return new Agent({ connections: 4, headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect })
}

/** A host name is checked when it is resolved; a literal address is never resolved, so it is checked here. */
export function isAllowedUrl(
  { protocol, hostname, username, password }: URL,
  { isAllowedAddress = isPublicAddress }: Pick<SsrfGuardOptions, 'isAllowedAddress'> = {},
): boolean {
  if (protocol !== 'https:' || username !== '' || password !== '') return false
  const bareHost = hostname.replace(/^\[|\]$/g, '')
  return isIP(bareHost) === 0 || isAllowedAddress(bareHost)
}

/** Whether an address belongs to the public internet (not in IANA's special-purpose registries). */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !specialV4.check(address, 'ipv4')
  return family === 6 && globalV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6')
}

function createBlockList(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

const specialV4 = createBlockList('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])
const globalV6 = createBlockList('ipv6', ['2000::/3'])
/** IPv6 ranges that embed other addresses, IPv4 among them, or are reserved. */
const specialV6 = createBlockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
