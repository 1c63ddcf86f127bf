/** Which page a request came from, as far as its browser tells. */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether a browser vouches that the request comes from our own pages: fetch metadata where it is sent, else the Origin.
 * A client that sends neither is no browser page and has no cookie to abuse, so it does not pass either.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, siteOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const origin = headers.origin
  return origin !== undefined && origin === siteOrigin
}

/**
 * Whether a write with the cookie comes from our own page: fetch metadata where it is sent (`none` is the person's own doing), else Origin,
 * else Referer. Who sends none of them is no browser that could prove it, and is refused.
 */
export function isOwnPage(headers: IncomingHttpHeaders, siteOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  if (headers.origin !== undefined) return headers.origin === siteOrigin
  return headers.referer !== undefined && originOf(headers.referer) === siteOrigin
}

/** Whether a browser says that another site's page sent this. Programs say nothing. */
export function isForeign(headers: IncomingHttpHeaders, siteOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && headers.origin !== siteOrigin
}

/** The only place where a cookie without `Secure` is right: plain http that never leaves the machine. */
export function isLoopbackHttp(siteOrigin: string): boolean {
  const { protocol, hostname } = new URL(siteOrigin)
  return protocol === 'http:' && isLoopbackName(hostname)
}

export function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/**
 * An own path to go to, from what a stranger may have written into a link; null when it leads anywhere else. Judged by the same parser
 * that browsers use, because every rule of thumb about slashes has been got round.
 */
export function ownPath(text: string): string | null {
  if (!text.startsWith('/') || text.length > 512) return null
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return null
  const base = 'https://own.invalid'
  if (!URL.canParse(text, base)) return null
  const url = new URL(text, base)
  const path = url.pathname + url.search + url.hash
  // `/.//elsewhere` comes out as a path that would lead elsewhere the next time it is read.
  return url.origin === base && !path.startsWith('//') ? path : null
}

function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null
}
