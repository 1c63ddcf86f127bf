/**
 * What names on the open internet mean, asked of the name servers directly. The system's own way has two threads for the whole process: a
 * few names of strangers whose server is silent kept every other name waiting for half a minute, upstreams' too.
 */
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'

/** A name server that is silent is asked once more, for twice as long. */
const answerMs = 1_000
const tries = 2

/** All addresses of a name, IPv4 first: a machine without IPv6 is the commoner one. @throws where there are none */
export function namesAt(servers?: readonly string[]): (hostname: string) => Promise<readonly LookupAddress[]> {
  return async (hostname) => {
    // Anew each time: it reads but once which name servers this machine has.
    const resolver = new Resolver({ timeout: answerMs, tries })
    if (servers !== undefined) resolver.setServers(servers)
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = [...addressesIn(v4, 4), ...addressesIn(v6, 6)]
    if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
    return addresses
  }
}

function addressesIn(answer: PromiseSettledResult<readonly string[]>, family: 4 | 6): readonly LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}
