/** The cookies of membership: the session's, the known device's, and short-lived tokens that bind a code or a provider's answer to one browser. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from 'koa'
import { knownDeviceLifetimeSeconds, addAccountToken } from '../../domain/identity/known-device.ts'
import { sessionLifetimes, looksLikeToken, mintToken } from '../../domain/identity/session.ts'
import type { Services } from '../../services/services.ts'
import { isLoopbackHttp } from './origin.ts'
import { listCookieValues, readCookie, serializeCookie } from './cookie.ts'

const browserTokenMaxAgeSeconds = 3600

/** @throws GatewayError `invalid_request` for two session cookies */
export function readSessionCookie(headers: IncomingHttpHeaders, services: Pick<Services, 'names' | 'origins'>): string | null {
  return readCookie(headers.cookie, toHostCookieName(services.names.cookie, services))
}

export function setSessionCookie(ctx: Context, services: Services, token: string): void {
  appendCookie(ctx, services, services.names.cookie, token, sessionLifetimes.web.absoluteMs / 1000)
}

export function clearSessionCookie(ctx: Context, services: Services): void {
  appendCookie(ctx, services, services.names.cookie, '', 0)
}

/**
 * The device tokens of this browser, one per account it has signed in to. Duplicate cookies are all read: another site of the domain
 * that sets one of this name must not make a known device unknown.
 */
export function readDeviceCookie(ctx: Context, services: Services): string | null {
  const name = toHostCookieName(getMembershipCookieName('device', services), services)
  const values = listCookieValues(ctx.req.headers.cookie, name)
  return values.length === 0 ? null : values.join('.')
}

/** Marks this browser as known to the account, for longer than any session. */
export function setDeviceCookie(ctx: Context, services: Services, account: string): void {
  const { ids, secret } = services
  const value = addAccountToken(secret, readDeviceCookie(ctx, services), account, (size) => ids.bytes(size))
  appendCookie(ctx, services, getMembershipCookieName('device', services), value, knownDeviceLifetimeSeconds)
}

/** The purpose of a browser token. */
type BrowserTokenPurpose = 'browser' | 'provider'

/** Reads this browser's token, or null. */
export function readBrowserToken(ctx: Context, services: Services, purpose: BrowserTokenPurpose): string | null {
  const token = readCookie(ctx.req.headers.cookie, toHostCookieName(getMembershipCookieName(purpose, services), services))
  return token !== null && looksLikeToken(token) ? token : null
}

/** Sets a new token for this browser. */
export function setBrowserToken(ctx: Context, services: Services, purpose: BrowserTokenPurpose): string {
  const token = mintToken((size) => services.ids.bytes(size))
  appendCookie(ctx, services, getMembershipCookieName(purpose, services), token, browserTokenMaxAgeSeconds)
  return token
}

export function clearBrowserToken(ctx: Context, services: Services, purpose: BrowserTokenPurpose): void {
  appendCookie(ctx, services, getMembershipCookieName(purpose, services), '', 0)
}

function getMembershipCookieName(purpose: BrowserTokenPurpose | 'device', { names }: Pick<Services, 'names'>): string {
  return `${names.slug}_membership_${purpose}`
}

/**
 * With the prefix a browser accepts the cookie from this host over TLS alone, so that no other host of the domain can set it
 * (RFC 6265bis). Plain http, which only this machine uses, cannot have it.
 */
function toHostCookieName(name: string, { origins }: Pick<Services, 'origins'>): string {
  return origins.site.startsWith('https:') ? `__Host-${name}` : name
}

function appendCookie(ctx: Context, services: Services, name: string, value: string, maxAgeSeconds: number): void {
  const secure = !isLoopbackHttp(services.origins.site)
  ctx.append('set-cookie', serializeCookie(toHostCookieName(name, services), value, maxAgeSeconds, secure))
}
