/** Reads, writes and deletes cookies. */

/** The value of a cookie; null if absent, or if it was sent twice, because then nothing identifies ours. */
export function readCookie(header: string | undefined, name: string): string | null {
  const [value = null, ...others] = listCookieValues(header, name)
  return others.length === 0 ? value : null
}

/** The values of all cookies of this name. */
export function listCookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
}

/** Builds a `Set-Cookie` value: HttpOnly, SameSite=Lax, host-only, all paths. `secure` is false over plain http alone. */
export function serializeCookie(name: string, value: string, maxAgeSeconds: number, secure: boolean): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

/** Cookies deleted at once: a response header has to fit the buffers of proxies. */
const maxDeletions = 32

/**
 * `Set-Cookie` values that delete this cookie wherever another host of the domain may have set it: for the host and each parent domain, at
 * each path that leads to `path`. A browser ignores those that it would not accept.
 */
export function listDeletions(name: string, hostname: string, path: string): string[] {
  const attributes = [null, ...listDomains(hostname)].flatMap((domain) =>
    listCookiePaths(path).map((cookiePath) => `; Path=${cookiePath}${domain === null ? '' : `; Domain=${domain}`}`),
  )
  return attributes.slice(0, maxDeletions).map((each) => `${name}=; Max-Age=0${each}`)
}

/** The host and its parent domains, without the last label. An address has none. */
function listDomains(hostname: string): string[] {
  if (!/[a-z]/i.test(hostname) || hostname.includes(':')) return []
  const labels = hostname.split('.')
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
}

/** `/`, and for each folder of the path the two spellings that a browser distinguishes. */
function listCookiePaths(path: string): string[] {
  const segments = path.split('/').filter((segment) => /^[\w.~%-]+$/.test(segment))
  const folders = segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`)
  return ['/', ...folders.flatMap((folder) => [folder, `${folder}/`])]
}
