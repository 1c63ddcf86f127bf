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
  return headers.referer !== undefined && URL.parse(headers.referer)?.origin === siteOrigin
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
