/**
 * Allowed redirect addresses: https anywhere, plain http to the client's own machine, and private-use schemes of desktop programs: one that the
 * operator configured, or a reversed domain name, which no other program would claim (RFC 8252, 7.1).
 */

const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost'])

export function isAllowedRedirect(address: string, redirectSchemes: readonly string[]): boolean {
  const url = URL.parse(address)
  if (url === null || url.username !== '' || url.password !== '' || address.includes('#') || address.length > 2000) return false
  if (url.protocol === 'https:') return !loopbackHosts.has(url.hostname)
  if (url.protocol === 'http:') return loopbackHosts.has(url.hostname)
  const scheme = url.protocol.slice(0, -1)
  const isReversedDomain = /^[a-z]{2,}(\.[a-z0-9-]{2,})+$/.test(scheme)
  // A path or an authority must follow: `com.example.app:alert(1)` is no address of a program.
  return (redirectSchemes.includes(scheme) || isReversedDomain) && address.charAt(scheme.length + 1) === '/'
}

/** Programs on the member's machine listen on any free port, so their port is ignored (RFC 8252, 7.3). Everything else is compared exactly. */
export function isSameRedirect(address: string, registered: string): boolean {
  return address === registered || (isLoopback(address) && withoutPort(address) === withoutPort(registered))
}

export function isLoopback(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && url.protocol === 'http:' && loopbackHosts.has(url.hostname)
}

/** The part that a person recognises: a host, or a program's scheme. */
export function getRedirectHost(address: string): string {
  const url = URL.parse(address)
  if (url === null) return ''
  return url.protocol === 'https:' || url.protocol === 'http:'
    ? url.host
    : `${url.protocol}${url.host === '' ? '' : `//${url.host}`}`
}

function withoutPort(address: string): string {
  return address.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/?#:]*))(?::\d{1,5})?(?=[/?#]|$)/, '$1')
}
