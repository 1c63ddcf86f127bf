/** Warns the operator once about each fault of a proxy's configuration that can be seen in a request. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { BlockList } from 'node:net'
import type { Services } from '../services/services.ts'
import { createPrivateNetworks } from '../system/cidr.ts'
import { isInNetworks, normalizeAddress } from './request/client-ip.ts'

interface ProxiedRequest {
  readonly peer: string | undefined
  readonly headers: IncomingHttpHeaders
  /** A probe comes from the proxy itself, so it names no client. */
  readonly isProbe: boolean
}

const remedy = 'In nginx set `proxy_set_header X-Forwarded-For $remote_addr;`; docs/proxies.md has other proxies.'

export function createProxyWarnings(
  trusted: BlockList,
  { log, origins, config }: Pick<Services, 'log' | 'origins' | 'config'>,
): (request: ProxiedRequest) => void {
  const privateRanges = createPrivateNetworks()
  const warnedFaults = new Set<string>()
  /** Trusted proxies that have sent no address: where one of them then sends one, a client has written it. */
  const silent = new Set<string>()
  const warnOnce = (fault: string, details: object, message: string): void => {
    if (warnedFaults.has(fault)) return
    warnedFaults.add(fault)
    log.warn(details, message)
  }

  const checkUntrusted = (proxy: string, headers: IncomingHttpHeaders): void => {
    const header = forwardingHeaders.find((name) => headers[name] !== undefined)
    // Headers sent from public addresses are ignored without a warning.
    if (header === undefined || !isInNetworks(proxy, privateRanges)) return
    warnOnce(
      'untrusted',
      { proxy, header },
      `${proxy} sends ${formatHeaderName(header)} but is not trusted: all clients behind it share one address's rate limit. ` +
        `If it is your proxy and sets X-Forwarded-For itself, set TRUSTED_PROXIES=${proxy}. A proxy that passes on what the client wrote ` +
        `lets each client choose its address. ${remedy}`,
    )
  }

  const checkForwardedFor = (proxy: string, headers: IncomingHttpHeaders, isProbe: boolean): void => {
    const forwardedFor = headers['x-forwarded-for']
    if (forwardedFor === undefined) {
      if (isProbe) return
      silent.add(proxy)
      const other = forwardingHeaders.find((name) => headers[name] !== undefined)
      warnOnce(
        'silent',
        { proxy },
        `the trusted proxy ${proxy} sends no X-Forwarded-For${other === undefined ? '' : `, only ${formatHeaderName(other)}, which is not read`}: ` +
          `all its clients share one address's rate limit, and a client that writes the header itself chooses its address. ${remedy}`,
      )
      return
    }
    const last = String(forwardedFor).split(',').at(-1)?.trim() ?? ''
    const isAddress = isIP(normalizeAddress(last)) !== 0
    if (isAddress && !silent.has(proxy)) return
    warnOnce(
      'chosen',
      { proxy, forwardedFor: String(forwardedFor).slice(0, 200) },
      `the trusted proxy ${proxy} passes on an X-Forwarded-For that the client wrote: ${
        isAddress ? 'other requests come from it without the header' : 'its last element is no address'
      }. Each client can choose the address that its rate limit counts by. ${remedy}`,
    )
  }

  const checkOrigin = (proxy: string, headers: IncomingHttpHeaders): void => {
    const seenOrigin = findPublicOrigin(headers)
    if (seenOrigin === null || [origins.site, origins.base, config.console.origin].includes(seenOrigin)) return
    warnOnce(
      'origin',
      { proxy, origin: seenOrigin },
      `clients reach this server at ${seenOrigin} through the trusted proxy ${proxy}, but links, emails and cookies are made for ${origins.site}. ` +
        `If ${seenOrigin} is its public address, set SITE_URL=${seenOrigin}`,
    )
  }

  return ({ peer, headers, isProbe }) => {
    const proxy = normalizeAddress(peer ?? '')
    if (!isInNetworks(proxy, trusted)) return checkUntrusted(proxy, headers)
    checkForwardedFor(proxy, headers, isProbe)
    if (!isProbe) checkOrigin(proxy, headers)
  }
}

const forwardingHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

/** The origin that the client used, as the proxy reports it; null where it reports no scheme. */
export function findPublicOrigin(headers: IncomingHttpHeaders): string | null {
  const proto = firstOf(headers['x-forwarded-proto'])
  const host = firstOf(headers['x-forwarded-host'] ?? headers.host)
  if (proto !== 'http' && proto !== 'https') return null
  return URL.parse(`${proto}://${host}`)?.origin ?? null
}

function firstOf(value: string | string[] | undefined): string {
  return String(value ?? '')
    .replace(/,.*/, '')
    .trim()
}

function formatHeaderName(name: string): string {
  return name.replaceAll(/(?:^|-)[a-z]/g, (letters) => letters.toUpperCase()).replace('Ip', 'IP')
}
