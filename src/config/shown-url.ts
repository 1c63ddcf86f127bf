/** The one way to print an address: credentials in it, or in its query, are for whom it leads to and for nobody's eyes. */

/** Origin and path. What is no address is not shown at all, because nobody knows what stands in it. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return '(no address)'
  const { protocol, host, pathname } = new URL(text)
  if (host === '') return '(no address)'
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/** The header that the user and password of an address stand for (RFC 7617); null where it has none. */
export function basicAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
