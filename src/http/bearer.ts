/** A token of the operator's, compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Whether the request brings `token` as Bearer; never where there is none. */
export function hasToken({ authorization = '' }: IncomingHttpHeaders, token: string | null): boolean {
  const sent = /^Bearer (.+)$/.exec(authorization)?.[1]
  if (token === null || sent === undefined) return false
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sent), digest(token))
}
