/** Personal API keys: made (shown once), listed, revoked; by the website's session alone. */
import type { AnswerOf } from '../../../api/endpoint.ts'
import { createKey, listKeys, revokeKey } from '../../../api/membership/keys.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { ApiKey } from '../../../membership/api-key.ts'
import { instant } from '../../../membership/instant.ts'
import type { Services } from '../../../gateway/services.ts'
import type { Serve } from '../../serve.ts'

export function keyRoutes(serve: Serve, { membership: { keys: desk }, config: { limits } }: Services): void {
  serve(listKeys, async ({ member: { account } }) => ({
    object: 'list',
    data: (await desk.list(account.id)).map(toKey),
    limit: limits.keysPerAccount,
  }))

  serve(createKey, async ({ member: { account }, body, visitor }) => {
    const made = await desk.make(account.id, body.name, body.expires_in_days ?? null, visitor)
    if (made === undefined) throw tooManyKeys(limits.keysPerAccount)
    return { ...toKey(made.key), token: made.token }
  })

  serve(revokeKey, async ({ member: { account }, params: { id }, visitor }) => {
    if (!(await desk.revoke(account.id, id, visitor))) throw new GatewayError('not_found')
    return { ok: true, id, revoked: true }
  })
}

function toKey({ id, name, prefix, last4, createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKey): Key {
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

type Key = AnswerOf<typeof listKeys>['data'][number]

function tooManyKeys(most: number): GatewayError {
  return invalidRequest({
    en: `an account may have ${most} live keys; revoke one first.`,
    zh: `每个账户最多 ${most} 个有效密钥,请先撤销一个。`,
  })
}
