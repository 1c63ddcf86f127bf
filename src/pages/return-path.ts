/**
 * Where to go after signing in, from an address anybody can write. Only a path of our own is followed: a link to our sign-in page must
 * not be able to end on somebody else's.
 */
export function returnPath(wanted: unknown, otherwise = '/account'): string {
  if (typeof wanted !== 'string' || wanted.length > 2000) return otherwise
  // One slash and then no second: browsers read `//host`, `/\host` and either with a tab or newline inside as another site.
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(wanted)) return otherwise
  const base = 'http://own.invalid'
  const url = URL.parse(wanted, base)
  if (url === null || url.origin !== base) return otherwise
  // Dots can leave a path that begins with two slashes: `/.//host`.
  if (url.pathname.startsWith('//')) return otherwise
  // Back to where one signs in would be a circle.
  if (/^\/sign-in(?:\/|$)/.test(url.pathname) || url.pathname.startsWith('/api/') || url.pathname.startsWith('/v1/'))
    return otherwise
  return url.pathname + url.search + url.hash
}
