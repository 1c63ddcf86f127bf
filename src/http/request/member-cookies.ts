/** The cookies of membership: the session's, the known device's, and short-lived tokens that bind a code or a provider's answer to one browser. */
import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { GatewayError } from '../../errors.ts'
import { knownDeviceLifetimeSeconds, addAccountToken } from '../../domain/identity/known-device.ts'
import { sessionLifetimes, looksLikeToken, mintToken } from '../../domain/identity/session.ts'
import type { SignInStep } from '../../pages/page.ts'
import { toSafeReturnPath } from '../../pages/return-path.ts'
import type { Services } from '../../services/services.ts'
import { listCookieValues, listDeletions, readCookie, serializeCookie } from './cookie.ts'

/** What names a cookie, and says whether it is sent by HTTPS only. */
type CookieServices = Pick<Services, 'names' | 'origins'>

const browserTokenMaxAgeSeconds = 3600

/**
 * The session's token. The cookie's name is specified and cannot have the prefix `__Host-`, so that another host of the domain can set a
 * second one: then nothing identifies ours, both are deleted, and the member signs in again.
 * @throws GatewayError `sign_in_required` for two session cookies
 */
export function readSessionCookie(ctx: Context, services: CookieServices): string | null {
  const [token = null, ...others] = listSessionTokens(ctx, services)
  if (others.length === 0) return token
  deleteSessionCookies(ctx, services)
  throw new GatewayError('sign_in_required', { message: duplicateCookieMessage })
}

const duplicateCookieMessage = {
  en: 'The session cookie was sent twice: another site of this domain has set one of the same name. Both were deleted; sign in again.',
  zh: '登录 Cookie 重复发送：本域名下的其他网站设置了同名 Cookie。两者均已删除，请重新登录。',
}

/** The values of all session cookies. A cookie of the name of earlier versions counts until its session ends; no other host can set it. */
export function listSessionTokens(ctx: Context, { names, origins }: CookieServices): readonly string[] {
  const { cookie } = ctx.req.headers
  const earlierTokens = isHttps({ origins }) ? listCookieValues(cookie, toEarlierName(names.cookie)) : []
  return earlierTokens.length > 0 ? earlierTokens : listCookieValues(cookie, names.cookie)
}

/** Replaces whatever session cookies the browser has. */
export function setSessionCookie(ctx: Context, services: CookieServices, token: string): void {
  const { names, origins } = services
  if (listCookieValues(ctx.req.headers.cookie, names.cookie).length > 1) deleteSessionCookies(ctx, services)
  deleteEarlierCookie(ctx, services)
  const maxAgeSeconds = sessionLifetimes.web.absoluteMs / 1000
  ctx.append('set-cookie', serializeCookie(names.cookie, token, maxAgeSeconds, isHttps({ origins })))
}

export function clearSessionCookie(ctx: Context, { names, origins }: CookieServices): void {
  ctx.append('set-cookie', serializeCookie(names.cookie, '', 0, isHttps({ origins })))
  deleteEarlierCookie(ctx, { names, origins })
}

/** Deletes the session cookies of every host and path that could have set one that this request sent. */
function deleteSessionCookies(ctx: Context, { names, origins }: CookieServices): void {
  const { hostname } = new URL(origins.site)
  for (const deletion of listDeletions(names.cookie, hostname, ctx.path)) ctx.append('set-cookie', deletion)
}

function deleteEarlierCookie(ctx: Context, { names, origins }: CookieServices): void {
  const name = toEarlierName(names.cookie)
  if (isHttps({ origins }) && listCookieValues(ctx.req.headers.cookie, name).length > 0)
    ctx.append('set-cookie', serializeCookie(name, '', 0, true))
}

/** The name that the session's cookie had over https until 0.1. */
function toEarlierName(name: string): string {
  return `__Host-${name}`
}

/**
 * The device tokens of this browser, one per account it has signed in to. Duplicate cookies are all read: another site of the domain
 * that sets one of this name must not make a known device unknown.
 */
export function readDeviceCookie(ctx: Context, services: Pick<Services, 'ids' | 'names' | 'origins' | 'secret'>): string | null {
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

/** A browser's session at a sign-in provider, which ends with ours. */
interface ProviderSession {
  readonly provider: string
  /** Names the session to the provider. It expires within minutes and stays in this browser. */
  readonly idToken: string
}

/** Browsers refuse larger cookies, and proxies larger request headers. */
const maxIdTokenChars = 3_000

export function setProviderSession(ctx: Context, services: CookieServices, { provider, idToken }: ProviderSession): void {
  const value = `${provider}:${idToken.length > maxIdTokenChars ? '' : idToken}`
  const name = getMembershipCookieName('provider_session', services)
  appendCookie(ctx, services, name, value, sessionLifetimes.web.absoluteMs / 1000)
}

/** Returns the session and deletes its cookie; null if there is none. */
export function takeProviderSession(ctx: Context, services: CookieServices): ProviderSession | null {
  const name = getMembershipCookieName('provider_session', services)
  const value = readCookie(ctx.req.headers.cookie, toHostCookieName(name, services))
  if (value === null) return null
  appendCookie(ctx, services, name, '', 0)
  const [, provider, idToken] = /^([a-z][a-z0-9-]*):([\w.-]*)$/.exec(value) ?? []
  return provider === undefined || idToken === undefined ? null : { provider, idToken }
}

/** Whether this browser has been offered this address for this account; remembers it, so that a member is asked once. */
export function rememberOfferedEmail(ctx: Context, services: CookieServices, account: string, email: string): boolean {
  const name = getMembershipCookieName('offer', services)
  const value = createHash('sha256').update(`${account} ${email}`).digest('base64url').slice(0, 22)
  if (readCookie(ctx.req.headers.cookie, toHostCookieName(name, services)) === value) return true
  appendCookie(ctx, services, name, value, knownDeviceLifetimeSeconds)
  return false
}

/** A cookie is at most 4 096 bytes long, and a path can be half of it. */
const maxStepChars = 3_500

/** As long as the link of the email works by default. */
export function setSignInStep(ctx: Context, services: CookieServices, step: SignInStep | null): void {
  const name = getMembershipCookieName('step', services)
  if (step === null) return appendCookie(ctx, services, name, '', 0)
  const { way, email, invite, next, sentAt, isDelayed } = step
  const fields = { way, email, invite: invite ?? '', sent: String(sentAt), delayed: isDelayed ? '1' : '' }
  const value = [{ ...fields, next }, fields].map((each) => new URLSearchParams(each).toString())
  const fittingValue = value.find(({ length }) => length <= maxStepChars)
  if (fittingValue !== undefined) appendCookie(ctx, services, name, fittingValue, browserTokenMaxAgeSeconds)
}

export function readSignInStep(ctx: Context, services: CookieServices): SignInStep | null {
  const name = toHostCookieName(getMembershipCookieName('step', services), services)
  const fields = new URLSearchParams(readCookie(ctx.req.headers.cookie, name) ?? '')
  const email = fields.get('email') ?? ''
  const sentAt = Number(fields.get('sent'))
  if (email === '' || email.length > 254 || !Number.isSafeInteger(sentAt)) return null
  return {
    way: fields.get('way') === 'sign-up' ? 'sign-up' : 'code',
    email,
    invite: fields.get('invite') || null,
    next: toSafeReturnPath(fields.get('next')),
    sentAt,
    isDelayed: fields.get('delayed') === '1',
  }
}

/** The purpose of a browser token. */
type BrowserTokenPurpose = 'browser' | 'provider'

/** Reads this browser's token, or null. */
export function readBrowserToken(ctx: Context, services: CookieServices, purpose: BrowserTokenPurpose): string | null {
  const token = readCookie(ctx.req.headers.cookie, toHostCookieName(getMembershipCookieName(purpose, services), services))
  return token !== null && looksLikeToken(token) ? token : null
}

/** Sets a token for this browser, a new one by default. */
export function setBrowserToken(
  ctx: Context,
  services: CookieServices & Pick<Services, 'ids'>,
  purpose: BrowserTokenPurpose,
  token = mintToken((size) => services.ids.bytes(size)),
): string {
  appendCookie(ctx, services, getMembershipCookieName(purpose, services), token, browserTokenMaxAgeSeconds)
  return token
}

export function clearBrowserToken(ctx: Context, services: CookieServices, purpose: BrowserTokenPurpose): void {
  appendCookie(ctx, services, getMembershipCookieName(purpose, services), '', 0)
}

function getMembershipCookieName(
  purpose: BrowserTokenPurpose | 'device' | 'provider_session' | 'offer' | 'step',
  { names }: Pick<Services, 'names'>,
): string {
  return `${names.slug}_membership_${purpose}`
}

/**
 * With the prefix a browser accepts the cookie from this host over TLS alone, so that no other host of the domain can set it
 * (RFC 6265bis). Plain http cannot have it.
 */
function toHostCookieName(name: string, services: Pick<Services, 'origins'>): string {
  return isHttps(services) ? `__Host-${name}` : name
}

function appendCookie(
  ctx: Context,
  services: Pick<Services, 'origins'>,
  name: string,
  value: string,
  maxAgeSeconds: number,
): void {
  ctx.append('set-cookie', serializeCookie(toHostCookieName(name, services), value, maxAgeSeconds, isHttps(services)))
}

/** A browser drops a `Secure` cookie that it receives over plain http, except from its own machine. */
function isHttps({ origins }: Pick<Services, 'origins'>): boolean {
  return origins.site.startsWith('https:')
}
