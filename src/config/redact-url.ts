/** Formats URLs for logs and messages. Credentials in the authority or the query are never printed. */

/** Origin and path. Invalid URLs are not printed at all, because they may contain anything. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return redactSeveralHosts(text)
  const { protocol, host, pathname } = new URL(text)
  if (host === '') return '(no address)'
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** A database on several hosts with ports: no URL by the standard. */
function redactSeveralHosts(text: string): string {
  const { scheme, hosts = '', database } = severalHostsPattern.exec(text)?.groups ?? {}
  const isValid = scheme !== undefined && hosts.split(',').every((host) => URL.canParse(`${scheme}${host}`))
  return isValid ? `${scheme}${hosts}${database}` : '(no address)'
}

const severalHostsPattern = /^(?<scheme>postgres(?:ql)?:\/\/)(?:[^@/?#]*@)?(?<hosts>[^/?#@]+)(?<database>\/[^/?#@]+)(?:\?[^#]*)?$/

/** The Authorization header for a URL's user and password (RFC 7617); null if it has none. */
export function toBasicAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
