/** The cookie of the console's session. It is not the member's: other pages do not read it, and no other site can send it. */
import type { Context } from 'koa'
import { consoleSessionMs } from '../../domain/services/operators/console-session-service.ts'
import type { Services } from '../../services/services.ts'
import { readCookie, serializeCookie } from './cookie.ts'

type CookieServices = Pick<Services, 'names' | 'origins'>

/** Null if absent, or if it was sent twice, because then nothing identifies ours. */
export function readOperatorCookie(ctx: Context, services: CookieServices): string | null {
  return readCookie(ctx.req.headers.cookie, getName(services))
}

/** Null deletes it. */
export function setOperatorCookie(ctx: Context, services: CookieServices, token: string | null): void {
  const maxAgeSeconds = token === null ? 0 : consoleSessionMs / 1000
  const cookie = serializeCookie(getName(services), token ?? '', maxAgeSeconds, isHttps(services))
  ctx.append('set-cookie', cookie.replace('SameSite=Lax', 'SameSite=Strict'))
}

/** Over https no other host of the domain can set it (RFC 6265bis). */
function getName(services: CookieServices): string {
  return `${isHttps(services) ? '__Host-' : ''}${services.names.operatorCookie}`
}

function isHttps({ origins }: CookieServices): boolean {
  return origins.site.startsWith('https:')
}
