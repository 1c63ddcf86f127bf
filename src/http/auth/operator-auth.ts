/** Authenticates requests of operators: the console's cookie, or an operator key. `decideAccess` then decides what each may do. */
import type { Context } from 'koa'
import { parseBearerToken } from '../../access/bearer.ts'
import type { OperatorAccess, OperatorActor } from '../../domain/identity/operators/operator-actor.ts'
import { decideAccess } from '../../domain/identity/operators/operator-actor.ts'
import { GatewayError } from '../../errors.ts'
import type { Services } from '../../services/services.ts'
import { parseNetworks } from '../../system/cidr.ts'
import { isIP } from 'node:net'
import type { RequestState } from '../request-context.ts'
import { readOperatorCookie } from '../request/operator-cookie.ts'
import { readSessionCookie } from '../request/member-cookies.ts'
import { requireOwnOriginPage } from './session-auth.ts'

/** The only way to an endpoint of the operator API. */
export async function requireOperator(ctx: Context, access: OperatorAccess, services: Services): Promise<OperatorActor> {
  const { membership, clock } = services
  // Before a role exists there is nothing here, for anyone.
  if (!(await membership.consoleSessions.isOpen())) throw new GatewayError('not_found')
  const actor = await findOperator(ctx, services)
  if (actor === null) throw new GatewayError('sign_in_required')
  const decision = decideAccess(actor, access, clock.now())
  if (decision === 'allowed') return actor
  throw new GatewayError(decision === 'forbidden' ? 'permission_denied' : decision)
}

/** A request with an Authorization header uses no cookie. */
async function findOperator(ctx: Context, services: Services): Promise<OperatorActor | null> {
  const header = ctx.get('authorization')
  if (header !== '') return findKey(parseBearerToken(header), ctx, services)
  const token = readOperatorCookie(ctx, services)
  const memberToken = readSessionCookie(ctx, services)
  if (token === null && memberToken === null) return null
  // Checked before any lookup, so that another site learns nothing about its visitor.
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') requireOwnOriginPage(ctx, services)
  const actor = token === null ? undefined : await services.membership.consoleSessions.resolve(token)
  return actor ?? findUnverified(memberToken, services)
}

async function findKey(token: string | null, ctx: Context, services: Services): Promise<OperatorActor | null> {
  const { address } = ctx.state as RequestState
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  const isAllowedFrom = (networks: readonly string[]): boolean => parseNetworks(networks).check(address, family)
  return (token === null ? undefined : await services.membership.operatorKeys.resolve(token, isAllowedFrom)) ?? null
}

/** A member with a role, who has to prove a second factor; other members are no operators. */
async function findUnverified(token: string | null, { credentials, store, clock }: Services): Promise<OperatorActor | null> {
  const credential = token === null ? null : await credentials.resolve(token)
  if (credential?.kind !== 'cookie') return null
  const operator = await store.operators.find(credential.account.id, clock.now())
  return operator === undefined ? null : { kind: 'unverified', account: operator.account, role: operator.role }
}
