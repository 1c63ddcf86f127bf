import type { GatewayConfig } from './schema/config-schema.ts'

/** Origin of the website by the configuration alone, for commands: a server that listens on any free port has another one. */
export function getSiteOrigin({ siteUrl, host, port }: Pick<GatewayConfig['listen'], 'siteUrl' | 'host' | 'port'>): string {
  return siteUrl ?? `http://${formatHost(host)}:${port}`
}

/** A reachable address for each wildcard. Browsers do not treat `[::]` as this machine and drop its cookies. */
const reachableHosts = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Formats a host for a URL. */
export function formatHost(host: string): string {
  const reachable = reachableHosts.get(host) ?? host
  return reachable.includes(':') ? `[${reachable}]` : reachable
}
