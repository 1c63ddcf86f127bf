/** Authentication of membership routes: client info, the session, and whether the request may write. */
import type { Context } from 'koa'
import { parseBearerToken } from '../../access/bearer.ts'
import type { Credential } from '../../access/credentials.ts'
import { GatewayError } from '../../errors.ts'
import { adoptRequestId } from '../../exchange/request-id.ts'
import type { Account } from '../../domain/identity/account.ts'
import type { Session } from '../../domain/identity/session.ts'
import type { ClientInfo } from '../../domain/identity/client-info.ts'
import type { Services } from '../../services/services.ts'
import { toAddressPrefix } from '../request/client-ip.ts'
import { getExchange } from '../request-context.ts'
import type { RequestState } from '../request-context.ts'
import { isCrossSite, isOwnOriginPage } from '../request/origin.ts'
import { parseClientName } from '../request/client-name.ts'
import { readReader } from '../request/reader.ts'
import { readDeviceCookie, readSessionCookie } from '../request/member-cookies.ts'

export function getClientInfo(ctx: Context, services: Services): ClientInfo {
  const { address: ip } = ctx.state as RequestState
  const x = getExchange(ctx, 'unmetered', services)
  // Adopt the client's request id first, so that audit records carry the id that the response will have.
  adoptRequestId(x)
  const name = parseClientName(ctx.get('user-agent'))
  const reader = readReader(ctx, services)
  return { ip, network: toAddressPrefix(ip), requestId: x.id, name, deviceTokens: readDeviceCookie(ctx, services), reader }
}

/** A signed-in member. */
export interface Member {
  readonly account: Account
  readonly credential: Credential
  /** The cookie or session token itself. */
  readonly token: string
}

/** Accepts the website's cookie alone. A request with an Authorization header is refused, because no bearer token is valid here. */
export function requireSessionCookie(
  ctx: Context,
  services: Pick<Services, 'credentials' | 'names' | 'origins'>,
): Promise<Member> {
  if (ctx.get('authorization') !== '') throw new GatewayError('sign_in_required')
  return authenticateByCookie(ctx, services)
}

/** Accepts the cookie or a device's session token; an API key is not a session. */
export async function requireSession(
  ctx: Context,
  services: Pick<Services, 'credentials' | 'names' | 'origins'>,
): Promise<Member> {
  const header = ctx.get('authorization')
  if (header === '') return authenticateByCookie(ctx, services)
  const token = parseBearerToken(header)
  const credential = token === null ? null : await services.credentials.resolve(token)
  if (token === null || credential?.kind !== 'session') throw new GatewayError('sign_in_required')
  return { account: credential.account, credential, token }
}

async function authenticateByCookie(
  ctx: Context,
  services: Pick<Services, 'credentials' | 'names' | 'origins'>,
): Promise<Member> {
  const token = readSessionCookie(ctx, services)
  if (token === null) throw new GatewayError('sign_in_required')
  // Checked before any lookup, so that a foreign page cannot find out whether its visitor is signed in here.
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') requireOwnOriginPage(ctx, services)
  const credential = await services.credentials.resolve(token)
  if (credential?.kind !== 'cookie') throw new GatewayError('sign_in_required')
  return { account: credential.account, credential, token }
}

/** Loads the session behind a member's credential. */
export async function getSession({ token }: Member, { membership }: Pick<Services, 'membership'>): Promise<Session> {
  const session = await membership.sessions.findByToken(token)
  if (session === undefined) throw new GatewayError('sign_in_required')
  return session
}

export function requireOwnOriginPage(ctx: Context, { origins }: Pick<Services, 'origins'>): void {
  ctx.vary('Sec-Fetch-Site')
  ctx.vary('Origin')
  if (!isOwnOriginPage(ctx.req.headers, origins.site)) throw new GatewayError('forbidden_origin')
}

/** For writes that need no cookie: allows programs and our own pages, refuses pages of other sites. */
export function refuseCrossSite(ctx: Context, { origins }: Pick<Services, 'origins'>): void {
  ctx.vary('Sec-Fetch-Site')
  ctx.vary('Origin')
  if (isCrossSite(ctx.req.headers, origins.site)) throw new GatewayError('forbidden_origin')
}
