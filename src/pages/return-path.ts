/**
 * The return path after sign-in, from a query that anyone can write. Only a path of this site is followed, so that a link to the sign-in
 * page cannot end on a foreign site.
 */
export function toSafeReturnPath(candidate: unknown, fallback = '/account'): string {
  if (typeof candidate !== 'string' || candidate.length > 2000) return fallback
  // One slash and then no second: browsers read `//host`, `/\host` and either with a tab or newline inside as another site.
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(candidate)) return fallback
  const base = 'http://own.invalid'
  const url = URL.parse(candidate, base)
  if (url === null || url.origin !== base) return fallback
  // Dots can leave a path that begins with two slashes: `/.//host`.
  if (url.pathname.startsWith('//')) return fallback
  // Back to where one signs in would be a circle.
  if (/^\/sign-in(?:\/|$)/.test(url.pathname) || url.pathname.startsWith('/api/') || url.pathname.startsWith('/v1/'))
    return fallback
  return url.pathname + url.search + url.hash
}
