/** Makes an API key: the one place that ever holds a whole one, for as long as it takes to show it. */
import { GatewayError } from '../errors.ts'
import { hashToken, mintApiKey } from '../membership/api-key.ts'
import type { ApiKey } from '../membership/api-key.ts'
import type { Services } from '../gateway/services.ts'

/** Characters of a key that are kept to recognise it by, after its fixed prefix. */
const shownChars = 4

/** @throws GatewayError `invalid_request` where the account has as many keys as it may */
export async function mintApiKeyFor(
  { store, ids, names, clock, config }: Pick<Services, 'store' | 'ids' | 'names' | 'clock' | 'config'>,
  account: string,
  name: string,
  expiresAt: number | null,
): Promise<{ readonly key: ApiKey; readonly token: string }> {
  const at = clock.now()
  const token = mintApiKey(names.keyPrefix, (size) => ids.bytes(size))
  const key = await store.keys.create(
    {
      id: ids.next('key_', at),
      account,
      name,
      prefix: token.slice(0, names.keyPrefix.length + shownChars),
      last4: token.slice(-4),
      createdAt: at,
      expiresAt,
      hash: hashToken(token),
    },
    config.limits.keysPerAccount,
  )
  if (key === undefined) {
    throw new GatewayError('invalid_request', {
      params: {
        detail: {
          en: `an account may have ${config.limits.keysPerAccount} live keys; revoke one first.`,
          zh: `每个账户最多 ${config.limits.keysPerAccount} 个有效密钥,请先撤销一个。`,
        },
      },
    })
  }
  return { key, token }
}
