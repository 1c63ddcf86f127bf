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
