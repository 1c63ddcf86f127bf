/** Checks which web pages may use the tool server: our own and those that the operator configured. */
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../errors.ts'
import type { Services } from '../../services/services.ts'

const loopbackHosts = new Set(['127.0.0.1', 'localhost', '[::1]', '::1'])

/**
 * Refuses requests of foreign pages and, on a server that only this machine can reach, requests under another host name: a page whose own
 * name was changed to this address after it was loaded (DNS rebinding).
 *
 * @throws GatewayError `forbidden_origin`
 */
export function checkOrigin(headers: IncomingHttpHeaders, { config, origins }: Pick<Services, 'config' | 'origins'>): void {
  const { origin } = headers
  // HTTP/2 has another name for it.
  const host = headers[':authority'] ?? headers.host
  const onLoopback = loopbackHosts.has(config.listen.host)
  if (onLoopback && !isOwnHost(host, origins)) throw new GatewayError('forbidden_origin')
  if (origin === undefined) return
  const isAllowed = [origins.site, origins.base, ...config.search.allowedOrigins].some((own) => URL.parse(own)?.origin === origin)
  // During a trial on one machine, pages of this machine are allowed. Behind a public name they belong to visitors.
  const onThisMachine = onLoopback && isLoopbackOrigin(origins.site)
  if (!isAllowed && !(onThisMachine && isLoopbackOrigin(origin))) throw new GatewayError('forbidden_origin')
}

function isOwnHost(host: string | string[] | undefined, { site, base }: Services['origins']): boolean {
  const name = parseHostname(`http://${String(host ?? '')}`)
  return name !== null && (loopbackHosts.has(name) || name === parseHostname(site) || name === parseHostname(base))
}

function isLoopbackOrigin(origin: string): boolean {
  const name = parseHostname(origin)
  return name !== null && loopbackHosts.has(name)
}

function parseHostname(url: string): string | null {
  return URL.parse(url)?.hostname ?? null
}
