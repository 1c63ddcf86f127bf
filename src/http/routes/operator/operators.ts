/** Operators: who is asking, roles, and operator keys. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  createOperatorKey,
  listOperatorKeys,
  listOperators,
  revokeOperatorKey,
  setOperatorRole,
  showOperator,
} from '../../../api/operator/operators.ts'
import { listScopes, stepUpMs } from '../../../domain/identity/operators/operator-actor.ts'
import type { OperatorKey } from '../../../domain/identity/operators/operator.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { maxOperatorKeys } from '../../../domain/services/operators/operator-key-service.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import { requireAccount } from '../../../services/member-administration.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'

export function mountOperatorRoutes(serve: ServeOperatorEndpoint, services: Services): void {
  const { store, membership, clock } = services
  const { operatorKeys, operatorRoles } = membership

  serve(showOperator, async ({ actor }) => {
    // `requireOperator` has refused it.
    if (actor.kind === 'unverified') throw new GatewayError('second_factor_required')
    return {
      kind: actor.kind,
      account: actor.kind === 'shell' ? null : actor.account,
      role: actor.kind === 'shell' ? null : actor.role,
      key: actor.kind === 'key' ? actor.key : null,
      system_user: actor.kind === 'shell' ? actor.systemUser : null,
      scopes: [...listScopes(actor)],
      step_up_until: actor.kind === 'key' ? null : formatInstant(actor.verifiedAt + stepUpMs),
    }
  })

  serve(listOperators, async () => ({
    object: 'list',
    data: (await store.operators.list(clock.now())).map(({ account, email, role, provider, grantedAt, hasSecondFactor }) => ({
      account,
      email,
      role,
      provider,
      granted_at: formatInstant(grantedAt),
      has_second_factor: hasSecondFactor,
    })),
  }))

  serve(setOperatorRole, async ({ params: { id }, body: { role }, author }) => {
    const { id: account } = await requireAccount(id, services)
    if (!(await operatorRoles.setRole(account, role, author)))
      throw new GatewayError('conflict', {
        message: { en: 'Only an active account has a role.', zh: '只有有效账户可以拥有角色。' },
      })
    return { ok: true, account, role }
  })

  serve(listOperatorKeys, async () => ({ object: 'list', data: (await operatorKeys.list()).map(toOperatorKey) }))

  serve(createOperatorKey, async ({ actor, author, body }) => {
    if (actor.kind !== 'session') throw new GatewayError('permission_denied')
    const request = {
      name: body.name,
      scopes: [...new Set(body.scopes)],
      networks: body.networks ?? null,
      dailyCredits: body.daily_credits ?? null,
      days: body.expires_in_days,
    }
    const result = await operatorKeys.create(actor, request, author)
    if (result.kind === 'made') return { ...toOperatorKey(result.key), token: result.token }
    throw createKeyError(result)
  })

  serve(revokeOperatorKey, async ({ params: { id }, author }) => {
    const key = await operatorKeys.find(id)
    if (key === undefined) throw new GatewayError('not_found')
    await operatorKeys.revoke(key, author)
    return { ok: true, id: key.id }
  })
}

type KeyRefusal = Exclude<Awaited<ReturnType<Services['membership']['operatorKeys']['create']>>, { readonly kind: 'made' }>

function createKeyError(refusal: KeyRefusal): GatewayError {
  if (refusal.kind === 'scopes') {
    const scopes = refusal.scopes.join(', ')
    const detail = { en: `you cannot give a key ${scopes}.`, zh: `你无法授予密钥这些权限：${scopes}。` }
    return invalidRequest(detail, 'scopes')
  }
  if (refusal.kind === 'needs_networks')
    return invalidRequest(
      { en: "a key with money:write needs 'networks'.", zh: '带 money:write 的密钥必须设置 networks。' },
      'networks',
    )
  if (refusal.kind === 'needs_daily_limit') {
    const detail = { en: "a key with money:write needs 'daily_credits'.", zh: '带 money:write 的密钥必须设置 daily_credits。' }
    return invalidRequest(detail, 'daily_credits')
  }
  return invalidRequest({
    en: `an operator may have ${maxOperatorKeys} live keys; revoke one first.`,
    zh: `每位管理员最多 ${maxOperatorKeys} 个有效密钥，请先撤销一个。`,
  })
}

function toOperatorKey(key: OperatorKey): ResponseOf<typeof listOperatorKeys>['data'][number] {
  return {
    id: key.id,
    account: key.account,
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    scopes: [...key.scopes],
    networks: key.networks === null ? null : [...key.networks],
    daily_credits: key.dailyCredits,
    created_at: formatInstant(key.createdAt),
    last_used_at: formatInstant(key.lastUsedAt),
    expires_at: formatInstant(key.expiresAt),
    revoked_at: formatInstant(key.revokedAt),
  }
}
