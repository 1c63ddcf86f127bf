/**
 * The open internet, for addresses that a stranger named: who fetches them must not become a stranger's hand inside our own network. Addresses
 * are looked at when the connection is made, so that a name cannot mean one when it is checked and another when it is used.
 */
import type { LookupAddress } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { Agent } from '../system/undici-agent.ts'
import { namesAt } from './public-names.ts'

export interface PublicOptions {
  /** For tests: whom to ask for addresses, which of them may be dialled, and whose certificates are believed besides the usual. */
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>
  readonly mayDial?: (address: string) => boolean
  readonly ca?: string
}

const connectMs = 5_000

/** Connections to public addresses alone. It must be asked for https, and only where `mayAsk`. */
export function publicAgent(deadlineMs: number, { resolve = namesAt(), mayDial = isPublic, ca }: PublicOptions = {}): Agent {
  const judged = callbackify(async (hostname: string) => {
    const addresses = await resolve(hostname)
    if (addresses.some(({ address }) => !mayDial(address))) throw new Error('an address that may not be dialled')
    return addresses
  })
  const guarded: LookupFunction = (hostname, { all = false }, done) => {
    judged(hostname, (error, addresses) => {
      const first = addresses?.[0]
      if (first === undefined) done(error ?? new Error('a name without addresses'), '')
      else if (all) done(null, [...addresses])
      else done(null, first.address, first.family)
    })
  }
  const connect = { lookup: guarded, timeout: connectMs, ...(ca === undefined ? {} : { ca }) }
  return new Agent({ connections: 4, headersTimeout: deadlineMs, bodyTimeout: deadlineMs, connect })
}

/** A name is judged when it is resolved; an address that is written out never is, so it is judged here. */
export function mayAsk(
  { protocol, hostname, username, password }: URL,
  { mayDial = isPublic }: Pick<PublicOptions, 'mayDial'> = {},
): boolean {
  if (protocol !== 'https:' || username !== '' || password !== '') return false
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 || mayDial(bare)
}

/** Whether an address is one of the open internet (IANA's special-purpose registries are what is left out). */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !specialV4.check(address, 'ipv4')
  return family === 6 && globalV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6')
}

function blockList(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

const specialV4 = blockList('ipv4', [
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
const globalV6 = blockList('ipv6', ['2000::/3'])
/** Parts of it that stand for other addresses, IPv4 ones among them, or for nothing. */
const specialV6 = blockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
