/** Personal API keys: created (shown once), listed and revoked, with the website's session alone. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { createKey, listKeys, renameKey, revokeKey } from '../../../api/membership/keys.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { ApiKey } from '../../../domain/identity/api-key.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

const usageDays = 30
const dayMs = 86_400_000

export function mountKeyRoutes(
  serve: ServeEndpoint,
  { membership: { apiKeys: service }, config: { limits }, store, clock }: Services,
): void {
  serve(listKeys, async ({ member: { account } }) => {
    const keys = await service.list(account.id)
    const sums = await store.usageSums.listSince(account.id, clock.now() - usageDays * dayMs)
    return {
      object: 'list',
      data: keys.map((key) => {
        const used = sums.filter(({ credential }) => credential === key.id)
        const usage = { turns: sumOf(used, ({ turns }) => turns), credits: sumOf(used, ({ credits }) => credits) }
        return { ...toKey(key), usage }
      }),
      limit: limits.keysPerAccount,
    }
  })

  serve(createKey, async ({ member: { account }, body, clientInfo }) => {
    const created = await service.create(account.id, body.name, body.expires_in_days ?? null, clientInfo)
    if (created === undefined) throw createTooManyKeysError(limits.keysPerAccount)
    return { ...toKey(created.key), token: created.token }
  })

  serve(renameKey, async ({ member: { account }, params: { id }, body: { name } }) => {
    if (!(await service.rename(account.id, id, name))) throw new GatewayError('not_found')
    return { ok: true, id, name }
  })

  serve(revokeKey, async ({ member: { account }, params: { id }, clientInfo }) => {
    if (!(await service.revoke(account.id, id, clientInfo))) throw new GatewayError('not_found')
    return { ok: true, id, revoked: true }
  })
}

function sumOf<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0)
}

function toKey({ id, name, prefix, last4, createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKey): Key {
  return {
    id,
    name,
    prefix,
    last4,
    created_at: formatInstant(createdAt),
    last_used_at: formatInstant(lastUsedAt),
    expires_at: formatInstant(expiresAt),
    revoked_at: formatInstant(revokedAt),
  }
}

type Key = Omit<ResponseOf<typeof listKeys>['data'][number], 'usage'>

function createTooManyKeysError(max: number): GatewayError {
  return invalidRequest({
    en: `an account may have ${max} live keys; revoke one first.`,
    zh: `每个账户最多 ${max} 个有效密钥，请先撤销一个。`,
  })
}
