/** Personal API keys: created (shown once), listed and revoked, with the website's session alone. */
import { createKey, listKeys, renameKey, revokeKey } from '../../../api/membership/keys.ts'
import { GatewayError } from '../../../errors.ts'
import { toKeyFields } from '../../../domain/identity/api-key.ts'
import { readKeyUsage, unusedKey } from '../../../services/member-usage.ts'
import { createTooManyKeysError } from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

export function mountKeyRoutes(serve: ServeEndpoint, services: Services): void {
  const {
    membership: { apiKeys: service },
    config: { limits },
  } = services

  serve(listKeys, async ({ member: { account } }) => {
    const keys = await service.list(account.id)
    const usage = await readKeyUsage(account.id, services)
    return {
      object: 'list',
      data: keys.map((key) => ({ ...toKeyFields(key), usage: usage.get(key.id) ?? unusedKey })),
      limit: limits.keysPerAccount,
    }
  })

  serve(createKey, async ({ member: { account }, body, clientInfo }) => {
    const createdKey = await service.create(account.id, body.name, body.expires_in_days ?? null, clientInfo)
    if (createdKey === undefined) throw createTooManyKeysError(limits.keysPerAccount)
    return { ...toKeyFields(createdKey.key), token: createdKey.token }
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
