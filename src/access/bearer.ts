/** Bearer tokens of the `Authorization` header (RFC 6750). */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Returns the token of an `Authorization` header; null for another scheme or a malformed token. */
export function parseBearerToken(header: string | readonly string[]): string | null {
  if (typeof header !== 'string') return null
  return /^Bearer +([^\s]{1,8192})$/i.exec(header)?.[1] ?? null
}

/** Whether the request carries the operator's `token` as Bearer, compared in constant time; false when `token` is null. */
export function hasBearerToken({ authorization = '' }: IncomingHttpHeaders, token: string | null): boolean {
  const sentToken = /^Bearer (.+)$/.exec(authorization)?.[1]
  if (token === null || sentToken === undefined) return false
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sentToken), digest(token))
}
