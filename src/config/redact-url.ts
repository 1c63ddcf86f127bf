/** Formats URLs for logs and messages. Credentials in the authority or the query are never printed. */

/** Origin and path. Invalid URLs are not printed at all, because they may contain anything. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return '(no address)'
  const { protocol, host, pathname } = new URL(text)
  if (host === '') return '(no address)'
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** The Authorization header for a URL's user and password (RFC 7617); null if it has none. */
export function toBasicAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
