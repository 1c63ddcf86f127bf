/** The session cookie, read with suspicion. */
import { GatewayError } from '../errors.ts'

/**
 * The one value of a cookie, null when it is not there. Two of the same name mean that another site of the domain has set one of them,
 * and nothing tells which is ours. @throws GatewayError `invalid_request`
 */
export function readCookie(header: string | undefined, name: string): string | null {
  if (header === undefined || !header.includes(name)) return null
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  if (values.length > 1)
    throw new GatewayError('invalid_request', {
      params: { detail: { en: 'the session cookie was sent twice.', zh: '会话 Cookie 重复发送。' } },
    })
  return values[0] ?? null
}

/** The `Set-Cookie` value: HttpOnly, SameSite=Lax, this host only, every path. `secure` is off only for http on loopback. */
export function sessionCookie(name: string, value: string, maxAgeSeconds: number, secure: boolean): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
