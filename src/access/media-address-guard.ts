/**
 * Decides which addresses in a member's message go upstream, where a model server may fetch them. It sees neither redirects nor what a name
 * resolves to later: the barrier is the server's own list of allowed hosts, and this keeps plain attempts from reaching it.
 */
import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { isPrivateHost } from '../config/private-host.ts'
import { maxAddressLength, maxMediaAddresses } from '../exchange/request/media-addresses.ts'
import { createPublicResolver } from './public-resolver.ts'
import { isPublicAddress } from './ssrf-guard.ts'

export type MediaByAddress = 'refuse' | 'https' | 'any'

/** `refused`: none is accepted. `not_public`: one is not `https`, or its host is not public. `too_many`: more than are examined. */
export type MediaAddressFault = 'refused' | 'not_public' | 'too_many'

interface MediaUpstream {
  readonly baseUrl: string
  readonly mediaByAddress: MediaByAddress | null
}

interface MediaAddressGuardOptions {
  readonly upstreams: Readonly<Record<string, MediaUpstream>>
  readonly monotonicMs: () => number
  readonly resolve?: (hostname: string) => Promise<readonly Pick<LookupAddress, 'address'>[]>
}

/** How long a name counts as public. */
const publicNameMs = 60_000
const maxPublicNames = 1_000
/** Names of one request that are resolved. */
const maxNames = 20

/**
 * Host and port in ASCII, then a path without blanks and backslashes: parsers read all other spellings in different ways, so that one may find
 * another host than this one.
 */
const plainHttps = /^https:\/\/([a-z0-9_.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?(?:[/?#][^\s\\\p{Cc}]*)?$/iu

export class MediaAddressGuard {
  readonly #options: Required<MediaAddressGuardOptions>
  /** When each name was last found to be public, the oldest first. */
  readonly #publicNames = new Map<string, number>()

  constructor({ resolve = createPublicResolver(), ...options }: MediaAddressGuardOptions) {
    this.#options = { resolve, ...options }
  }

  /** Why these addresses must not be sent to a product with these upstreams; null if they may. The strictest upstream decides. */
  async findFault(addresses: readonly string[], upstreams: readonly string[]): Promise<MediaAddressFault | null> {
    if (addresses.length === 0) return null
    const policies = new Set(upstreams.map((name) => this.#getPolicy(name)))
    if (policies.has('refuse')) return 'refused'
    if (!policies.has('https')) return null
    if (addresses.length > maxMediaAddresses) return 'too_many'
    const names = new Set<string>()
    for (const address of addresses) {
      const host = readPublicHost(address)
      if (host === null) return 'not_public'
      if (isIP(host.replace(/^\[|\]$/g, '')) === 0) names.add(host)
    }
    if (names.size > maxNames) return 'too_many'
    const arePublic = await Promise.all([...names].map((name) => this.#isPublicName(name)))
    return arePublic.every(Boolean) ? null : 'not_public'
  }

  #getPolicy(name: string): MediaByAddress {
    const upstream = this.#options.upstreams[name]
    return upstream === undefined ? 'refuse' : getMediaByAddress(upstream)
  }

  /** Whether all addresses of the name are public. A name that cannot be resolved is not. */
  async #isPublicName(name: string): Promise<boolean> {
    const { resolve, monotonicMs } = this.#options
    const knownSince = this.#publicNames.get(name)
    if (knownSince !== undefined && monotonicMs() - knownSince < publicNameMs) return true
    const addresses = await resolve(name).catch(() => [])
    if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address))) return false
    this.#publicNames.delete(name)
    this.#publicNames.set(name, monotonicMs())
    const [oldest] = this.#publicNames.keys()
    if (this.#publicNames.size > maxPublicNames && oldest !== undefined) this.#publicNames.delete(oldest)
    return true
  }
}

/** What the upstream may receive: as configured, else nothing at a private address, which can reach the operator's network. */
export function getMediaByAddress({ baseUrl, mediaByAddress }: MediaUpstream): MediaByAddress {
  if (mediaByAddress !== null) return mediaByAddress
  return baseUrl === 'demo' || isPrivateHost(new URL(baseUrl).hostname) ? 'refuse' : 'https'
}

/** The host of an `https` address that is not known to be private; null for every other spelling. */
function readPublicHost(address: string): string | null {
  if (address.length > maxAddressLength) return null
  const [, spelledHost] = plainHttps.exec(address) ?? []
  const hostname = URL.parse(address)?.hostname.replace(/\.+$/, '')
  if (spelledHost === undefined || hostname === undefined) return null
  const bareHost = hostname.replace(/^\[|\]$/g, '')
  if (isIP(bareHost) === 0) return isPrivateHost(hostname) ? null : hostname
  // Numbers in octal, in hexadecimal or with fewer parts are other addresses to other parsers.
  return isPublicAddress(bareHost) && spelledHost.toLowerCase() === hostname ? hostname : null
}
