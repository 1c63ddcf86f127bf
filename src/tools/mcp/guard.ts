/** Who may speak to the tool server from a browser: nobody's page but our own and those the operator named. */
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../errors.ts'
import type { Services } from '../../gateway/services.ts'

const loopback = new Set(['127.0.0.1', 'localhost', '[::1]', '::1'])

/**
 * Refuses requests of foreign pages, and, on a server that only this machine can reach, those that came under another machine's name: a
 * page whose own name was pointed at this address after it was loaded (DNS rebinding).
 *
 * @throws GatewayError `forbidden_origin`
 */
export function checkOrigin(headers: IncomingHttpHeaders, { config, origins }: Pick<Services, 'config' | 'origins'>): void {
  const { origin } = headers
  // HTTP/2 has another name for it.
  const host = headers[':authority'] ?? headers.host
  const onLoopback = loopback.has(config.listen.host)
  if (onLoopback && !isOwnHost(host, origins)) throw new GatewayError('forbidden_origin')
  if (origin === undefined) return
  const allowed = [origins.site, origins.base, ...config.search.allowedOrigins].some((own) => URL.parse(own)?.origin === origin)
  // While the service is tried out on one machine, so are the pages that use it. Behind a public name they are somebody's who visits.
  const onThisMachine = onLoopback && isLoopbackOrigin(origins.site)
  if (!allowed && !(onThisMachine && isLoopbackOrigin(origin))) throw new GatewayError('forbidden_origin')
}

function isOwnHost(host: string | string[] | undefined, { site, base }: Services['origins']): boolean {
  const name = hostnameOf(`http://${String(host ?? '')}`)
  return name !== null && (loopback.has(name) || name === hostnameOf(site) || name === hostnameOf(base))
}

function isLoopbackOrigin(origin: string): boolean {
  const name = hostnameOf(origin)
  return name !== null && loopback.has(name)
}

function hostnameOf(url: string): string | null {
  return URL.parse(url)?.hostname ?? null
}
