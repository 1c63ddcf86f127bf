/** Hosts of a private network. */
import { isIP } from 'node:net'
import { createPrivateNetworks } from '../system/cidr.ts'

/** Loopback, link-local and private ranges, and names that resolve only inside a private network. */
export function isPrivateHost(hostname: string): boolean {
  const bareHost = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  const family = isIP(bareHost)
  if (family === 0) return !bareHost.includes('.') || privateNames.test(bareHost)
  return privateNetworks.check(bareHost, family === 6 ? 'ipv6' : 'ipv4')
}

const privateNames = /\.(?:local|internal|lan|home|localhost|localdomain|intranet|corp|home\.arpa)$/i
const privateNetworks = createPrivateNetworks()
