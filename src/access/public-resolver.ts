/**
 * Resolves names on the public internet by asking the name servers directly. The system resolver has two threads for the whole process: a few
 * names of strangers with a silent name server delayed every other name by half a minute, including upstreams'.
 */
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'

/** A silent name server is asked once more, with twice the time. */
const queryTimeoutMs = 1_000
const maxAttempts = 2

/** All addresses of a name, IPv4 first, because machines without IPv6 are more common. @throws if there are none */
export function createPublicResolver(servers?: readonly string[]): (hostname: string) => Promise<readonly LookupAddress[]> {
  return async (hostname) => {
    // Created each time: a resolver reads this machine's name servers only once.
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: maxAttempts })
    if (servers !== undefined) resolver.setServers(servers)
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = [...toLookupAddresses(v4, 4), ...toLookupAddresses(v6, 6)]
    if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
    return addresses
  }
}

function toLookupAddresses(answer: PromiseSettledResult<readonly string[]>, family: 4 | 6): readonly LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}
