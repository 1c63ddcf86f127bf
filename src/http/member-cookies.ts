/** The cookies that membership sets: the session's, and short-lived words that bind a code or a provider's answer to one browser. */
import type { Context } from 'koa'
import { deviceLifeSeconds, withAccount } from '../membership/known-device.ts'
import { lifetimes, looksLikeToken, mintToken } from '../membership/session.ts'
import type { Services } from '../gateway/services.ts'
import { isLoopbackHttp } from './origin.ts'
import { readCookie, sessionCookie } from './cookie.ts'

const browserLifeSeconds = 3600

export function giveSession(ctx: Context, { names, origins }: Services, token: string): void {
  const seconds = lifetimes.web.absoluteMs / 1000
  ctx.append('set-cookie', sessionCookie(names.cookie, token, seconds, !isLoopbackHttp(origins.site)))
}

export function takeSession(ctx: Context, { names, origins }: Services): void {
  ctx.append('set-cookie', sessionCookie(names.cookie, '', 0, !isLoopbackHttp(origins.site)))
}

/**
 * What the browser keeps of accounts it has signed in to. Of two such cookies both are read: another site of the domain that sets one more
 * must not make a known device unknown.
 */
export function deviceOf(ctx: Context, { names }: Services): string | null {
  const name = `${names.slug}_membership_device=`
  const words = (ctx.req.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(name))
    .map((pair) => pair.slice(name.length))
  return words.length === 0 ? null : words.join('.')
}

/** From now on this browser is known to the account, for longer than any session. */
export function giveDevice(ctx: Context, services: Services, account: string): void {
  const { names, origins, ids, secret } = services
  const words = withAccount(secret, deviceOf(ctx, services), account, (size) => ids.bytes(size))
  const secure = !isLoopbackHttp(origins.site)
  ctx.append('set-cookie', sessionCookie(`${names.slug}_membership_device`, words, deviceLifeSeconds, secure))
}

/** What a browser's token is for. */
export type Purpose = 'browser' | 'provider'

/** The token this browser keeps, or null. */
export function browserToken(ctx: Context, { names }: Services, purpose: Purpose): string | null {
  const token = readCookie(ctx.req.headers.cookie, `${names.slug}_membership_${purpose}`)
  return token !== null && looksLikeToken(token) ? token : null
}

/** A fresh token for this browser. */
export function giveBrowserToken(ctx: Context, { names, origins, ids }: Services, purpose: Purpose): string {
  const token = mintToken((size) => ids.bytes(size))
  const secure = !isLoopbackHttp(origins.site)
  ctx.append('set-cookie', sessionCookie(`${names.slug}_membership_${purpose}`, token, browserLifeSeconds, secure))
  return token
}

export function takeBrowserToken(ctx: Context, { names, origins }: Services, purpose: Purpose): void {
  ctx.append('set-cookie', sessionCookie(`${names.slug}_membership_${purpose}`, '', 0, !isLoopbackHttp(origins.site)))
}
