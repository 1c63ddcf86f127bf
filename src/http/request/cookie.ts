/** Reads and writes cookies; duplicate session cookies are refused. */
import { GatewayError } from '../../errors.ts'

/**
 * The value of a cookie, null if absent. Two cookies of the same name mean that another site of the domain has set one of them, and
 * nothing identifies ours. @throws GatewayError `invalid_request`
 */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = listCookieValues(header, name)
  if (values.length > 1)
    throw new GatewayError('invalid_request', {
      params: { detail: { en: 'the session cookie was sent twice.', zh: '登录 Cookie 重复发送。' } },
    })
  return values[0] ?? null
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

/** Builds a `Set-Cookie` value: HttpOnly, SameSite=Lax, host-only, all paths. `secure` is false only for http on loopback. */
export function serializeCookie(name: string, value: string, maxAgeSeconds: number, secure: boolean): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
