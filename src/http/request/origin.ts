/** Decides from the browser's headers which page a request came from. */
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether the browser's headers prove that the request comes from our own pages: fetch metadata where present, else Origin.
 * A client that sends neither is not a browser page and has no cookie to abuse, so it does not pass either.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, siteOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const origin = headers.origin
  return origin !== undefined && origin === siteOrigin
}

/**
 * Whether a write with the cookie comes from our own page: fetch metadata where present (`none` is the user's own action), else Origin,
 * else Referer. A client that sends none of them cannot prove it and is refused.
 */
export function isOwnOriginPage(headers: IncomingHttpHeaders, siteOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  if (headers.origin !== undefined) return headers.origin === siteOrigin
  return headers.referer !== undefined && URL.parse(headers.referer)?.origin === siteOrigin
}

/** Whether the browser reports that a page of another site sent this. Programs send no such header. */
export function isCrossSite(headers: IncomingHttpHeaders, siteOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && headers.origin !== siteOrigin
}
