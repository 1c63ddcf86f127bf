/** What a membership route knows of its caller: the visitor, their session, and whether the request may write. */
import type { Context } from 'koa'
import { bearerToken } from '../access/bearer.ts'
import type { Credential } from '../access/credentials.ts'
import { GatewayError } from '../errors.ts'
import { adoptId } from '../exchange/trace-id.ts'
import type { Account } from '../membership/account.ts'
import type { Session } from '../membership/session.ts'
import type { Visitor } from '../membership/visitor.ts'
import type { Services } from '../gateway/services.ts'
import { addressPrefix } from './address.ts'
import { readCookie } from './cookie.ts'
import { exchangeOf } from './door.ts'
import type { DoorState } from './door.ts'
import { isForeign, isOwnPage } from './origin.ts'
import { clientName } from './client-name.ts'
import { deviceOf } from './member-cookies.ts'

export function visitorOf(ctx: Context, services: Services): Visitor {
  const { address } = ctx.state as DoorState
  const x = exchangeOf(ctx, 'query', services)
  // The caller's own id first: what is written down carries the one that the answer will have.
  adoptId(x)
  const client = clientName(ctx.get('user-agent'))
  return { address, network: addressPrefix(address), requestId: x.id, client, device: deviceOf(ctx, services) }
}

/** A caller who has signed in. */
export interface Member {
  readonly account: Account
  readonly credential: Credential
  /** The cookie or session token itself. */
  readonly token: string
}

/** By the website's cookie alone. A request with an Authorization header is judged by that, and no bearer will do here. */
export function requireCookie(ctx: Context, services: Services): Promise<Member> {
  if (ctx.get('authorization') !== '') throw new GatewayError('sign_in_required')
  return byCookie(ctx, services)
}

/** By the cookie or a device's session token; an API key is no session. */
export async function requireSession(ctx: Context, services: Services): Promise<Member> {
  const header = ctx.get('authorization')
  if (header === '') return byCookie(ctx, services)
  const token = bearerToken(header)
  const credential = token === null ? null : await services.credentials.resolve(token)
  if (token === null || credential?.kind !== 'session') throw new GatewayError('sign_in_required')
  return { account: credential.account, credential, token }
}

async function byCookie(ctx: Context, services: Services): Promise<Member> {
  const token = readCookie(ctx.req.headers.cookie, services.names.cookie)
  if (token === null) throw new GatewayError('sign_in_required')
  // Before anything is looked up: a foreign page learns not even whether its visitor is signed in here.
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') requireOwnPage(ctx, services)
  const credential = await services.credentials.resolve(token)
  if (credential?.kind !== 'cookie') throw new GatewayError('sign_in_required')
  return { account: credential.account, credential, token }
}

/** The session behind a member's credential, as the store has it. */
export async function sessionOf({ token }: Member, { membership }: Services): Promise<Session> {
  const session = await membership.sessions.of(token)
  if (session === undefined) throw new GatewayError('sign_in_required')
  return session
}

function requireOwnPage(ctx: Context, { origins }: Services): void {
  ctx.vary('Sec-Fetch-Site')
  ctx.vary('Origin')
  if (!isOwnPage(ctx.req.headers, origins.site)) throw new GatewayError('forbidden_origin')
}

/** For what writes without a cookie: programs may, our pages may, other sites' pages may not. */
export function refuseForeignPages(ctx: Context, { origins }: Services): void {
  ctx.vary('Sec-Fetch-Site')
  ctx.vary('Origin')
  if (isForeign(ctx.req.headers, origins.site)) throw new GatewayError('forbidden_origin')
}
