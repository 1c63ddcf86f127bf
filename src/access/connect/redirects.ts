/**
 * Where an answer may be sent: https anywhere, plain http to the program's own machine, and to desktop programs by a scheme of their own,
 * either one of those the operator named or one that is a domain turned round, which nobody else would claim (RFC 8252, 7.1).
 */

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

export function mayRedirect(address: string, appSchemes: readonly string[]): boolean {
  const url = URL.parse(address)
  if (url === null || url.username !== '' || url.password !== '' || address.includes('#') || address.length > 2000) return false
  if (url.protocol === 'https:') return !loopback.has(url.hostname)
  if (url.protocol === 'http:') return loopback.has(url.hostname)
  const scheme = url.protocol.slice(0, -1)
  return appSchemes.includes(scheme) || /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$/.test(scheme)
}

/** Programs on this machine listen where there is room, so their port does not count (RFC 8252, 7.3). All else is compared letter by letter. */
export function isSameRedirect(address: string, registered: string): boolean {
  return address === registered || (isLoopback(address) && withoutPort(address) === withoutPort(registered))
}

export function isLoopback(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && url.protocol === 'http:' && loopback.has(url.hostname)
}

/** What a person can make out of it: a host, or the scheme of a program. */
export function placeOf(address: string): string {
  const url = URL.parse(address)
  if (url === null) return ''
  return url.protocol === 'https:' || url.protocol === 'http:'
    ? url.host
    : `${url.protocol}${url.host === '' ? '' : `//${url.host}`}`
}

function withoutPort(address: string): string {
  return address.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/?#:]*))(?::\d{1,5})?(?=[/?#]|$)/, '$1')
}
