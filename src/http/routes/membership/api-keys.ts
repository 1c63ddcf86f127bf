/** Personal API keys: made (shown once), listed, revoked; by the website's session alone. */
import type { Router } from '@koa/router'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { ApiKey } from '../../../membership/api-key.ts'
import { mintApiKeyFor } from '../../../operator/keys.ts'
import type { House } from '../../house.ts'
import { readJson } from '../../body.ts'
import { optionalWholeNumber, textField } from './fields.ts'
import { idOf, mount } from './mount.ts'
import { requireCookie, visitorOf } from './visitor.ts'

const nameChars = 64
const dayMs = 86_400_000

export function apiKeyRoutes(router: Router, { services }: House): void {
  const { membership, store, credentials, clock, config } = services

  mount(router, 'get', '/auth/api-keys', async (ctx) => {
    const { account } = await requireCookie(ctx, services)
    const keys = await store.keys.list(account.id)
    return { object: 'list', data: keys.map(toKeyRecord), limit: config.limits.keysPerAccount }
  })

  mount(router, 'post', '/auth/api-keys', async (ctx) => {
    const { account } = await requireCookie(ctx, services)
    const body = await readJson(ctx.req, config.limits.otherBodyBytes)
    const name = textField(body, 'name', { max: nameChars }).trim()
    if (name === '') throw invalidRequest({ en: "'name' is empty.", zh: "'name' 不能为空。" }, 'name')
    const days = optionalWholeNumber(body, 'expires_in_days', { min: 1, max: 365 })
    const now = clock.now()
    await membership.allowances.take('key-by-account', account.id, now)
    const { key, token } = await mintApiKeyFor(services, account.id, name, days === null ? null : now + days * dayMs)
    await membership.note('key_made', account.id, visitorOf(ctx, services), { key: key.id, prefix: key.prefix })
    ctx.status = 201
    return { ...toKeyRecord(key), token }
  })

  mount(router, 'delete', '/auth/api-keys/:id', async (ctx) => {
    const { account } = await requireCookie(ctx, services)
    const id = idOf(ctx)
    if (!(await store.keys.revoke(account.id, id, clock.now()))) throw new GatewayError('not_found')
    credentials.forgetAccount(account.id)
    await membership.note('key_revoked', account.id, visitorOf(ctx, services), { key: id })
    return { ok: true, id, revoked: true }
  })
}

export function toKeyRecord(key: ApiKey): Record<string, unknown> {
  const { id, name, prefix, last4, createdAt, lastUsedAt, expiresAt, revokedAt } = key
  return {
    id,
    name,
    prefix,
    last4,
    created_at: instant(createdAt),
    last_used_at: instant(lastUsedAt),
    expires_at: instant(expiresAt),
    revoked_at: instant(revokedAt),
  }
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
