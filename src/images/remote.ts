/**
 * Fetches an image from an address that a model named, which is as good as a stranger's wish. Only https, only public addresses, looked at
 * when the connection is made, so that a name cannot mean one address when it is checked and another when it is used; redirects start
 * over; time and size are bounded; nothing of ours is sent along.
 */
import { lookup } from 'node:dns'
import type { LookupAddress } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { Agent, request } from 'undici'
import { discard, readBounded } from '../upstream/bounded-body.ts'

export interface RemoteOptions {
  readonly maxBytes: number
  /** For tests: whom to ask for addresses, which of them may be dialled, and whose certificates are believed besides the usual. */
  readonly resolve?: (hostname: string, done: (error: Error | null, addresses: readonly LookupAddress[]) => void) => void
  readonly mayDial?: (address: string) => boolean
  readonly ca?: string
}

const mostRedirects = 3
const deadlineMs = 30_000
const connectMs = 5_000

export class RemoteImages {
  readonly #maxBytes: number
  readonly #mayDial: (address: string) => boolean
  readonly #agent: Agent

  constructor({ maxBytes, resolve = resolveAll, mayDial = isPublic, ca }: RemoteOptions) {
    this.#maxBytes = maxBytes
    this.#mayDial = mayDial
    const guarded: LookupFunction = (hostname, { all = false }, done) => {
      resolve(hostname, (error, addresses) => {
        const refused = addresses.find(({ address }) => !mayDial(address))
        const [first] = addresses
        if (error !== null) done(error, '')
        else if (refused !== undefined || first === undefined) done(new Error('an address that may not be dialled'), '')
        else if (all) done(null, [...addresses])
        else done(null, first.address, first.family)
      })
    }
    const connect = { lookup: guarded, timeout: connectMs, ...(ca === undefined ? {} : { ca }) }
    this.#agent = new Agent({ connections: 4, headersTimeout: deadlineMs, bodyTimeout: deadlineMs, connect })
  }

  /** The bytes, or null where they cannot or may not be had. */
  async fetch(address: string, left: AbortSignal): Promise<Buffer | null> {
    const signal = AbortSignal.any([left, AbortSignal.timeout(deadlineMs)])
    try {
      let url: URL | null = URL.parse(address)
      for (let hop = 0; hop <= mostRedirects; hop++) {
        if (url === null || !this.#mayAsk(url)) return null
        const answer = await request(url, { dispatcher: this.#agent, signal, headers: { accept: 'image/*' } })
        if (answer.statusCode === 200) return await readBounded(answer.body, this.#maxBytes)
        discard(answer.body)
        const { location } = answer.headers
        if (answer.statusCode < 300 || answer.statusCode > 399 || typeof location !== 'string') return null
        url = URL.parse(location, url)
      }
      return null
    } catch {
      // Whatever went wrong out there, there is no image; the caller says so in its own words.
      return null
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  /** A name is judged when it is resolved; an address that is written out never is, so it is judged here. */
  #mayAsk({ protocol, hostname, username, password }: URL): boolean {
    if (protocol !== 'https:' || username !== '' || password !== '') return false
    const bare = hostname.replace(/^\[|\]$/g, '')
    return isIP(bare) === 0 || this.#mayDial(bare)
  }
}

function resolveAll(hostname: string, done: (error: Error | null, addresses: readonly LookupAddress[]) => void): void {
  lookup(hostname, { all: true }, (error, addresses) => done(error, error === null ? addresses : []))
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
