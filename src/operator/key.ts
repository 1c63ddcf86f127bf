/** `svc-gateway key …` */
import { instant } from '../membership/instant.ts'
import { mintKey } from '../membership/key-desk.ts'
import { accountOf, CommandError, withInstallation } from './installation.ts'
import { say, table } from './output.ts'
import type { Output, Said } from './output.ts'

const dayMs = 86_400_000

export function createKey(options: Output & { account: string; name: string; expiresInDays?: string }): Promise<Said> {
  return withInstallation(async (installation) => {
    const account = await accountOf(installation, options.account)
    if (account.status !== 'active') throw new CommandError(`Account ${account.id} is ${account.status}; enable it first.`)
    if (options.name.length < 1 || options.name.length > 64) throw new CommandError('A key needs a --name of 1 to 64 characters.')
    const expiresAt =
      options.expiresInDays === undefined ? null : installation.clock.now() + daysOf(options.expiresInDays) * dayMs
    const made = await mintKey(installation, account.id, options.name, expiresAt)
    if (made === undefined)
      throw new CommandError(
        `An account may have ${installation.keys.perAccount} live keys; revoke one first: svc-gateway key list --account …`,
      )
    const { key, token } = made
    await installation.note('key_made', account.id, { key: key.id, name: key.name })
    return say(
      options,
      {
        id: key.id,
        name: key.name,
        prefix: key.prefix,
        last4: key.last4,
        created_at: instant(key.createdAt),
        last_used_at: null,
        expires_at: instant(key.expiresAt),
        revoked_at: null,
        token,
      },
      () => `Key ${key.id} was made for ${account.email ?? account.id}. It is shown only now:\n\n    ${token}\n`,
    )
  })
}

export function listKeys(options: Output & { account: string }): Promise<Said> {
  return withInstallation(async (installation) => {
    const account = await accountOf(installation, options.account)
    const keys = await installation.store.keys.list(account.id)
    return say(
      options,
      {
        object: 'list',
        data: keys.map((key) => ({
          id: key.id,
          name: key.name,
          prefix: key.prefix,
          last4: key.last4,
          created_at: instant(key.createdAt),
          last_used_at: instant(key.lastUsedAt),
          expires_at: instant(key.expiresAt),
          revoked_at: instant(key.revokedAt),
        })),
      },
      () =>
        table(
          ['id', 'name', 'key', 'created', 'last used', 'expires', 'revoked'],
          keys.map((key) => [
            key.id,
            key.name,
            `${key.prefix}…${key.last4}`,
            instant(key.createdAt),
            instant(key.lastUsedAt),
            instant(key.expiresAt),
            instant(key.revokedAt),
          ]),
        ),
    )
  })
}

export function revokeKey(id: string, options: Output): Promise<Said> {
  return withInstallation(async (installation) => {
    const key = await installation.store.keys.find(id)
    if (key === undefined) throw new CommandError(`There is no key '${id}'. See: svc-gateway key list --account …`)
    await installation.store.keys.revoke(key.account, id, installation.clock.now())
    await installation.note('key_revoked', key.account, { key: id, name: key.name })
    return say(options, { ok: true, id, revoked: true }, () => `Key ${id} is revoked.`)
  })
}

function daysOf(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1)
    throw new CommandError(`--expires-in-days must be a whole number of at least 1, not '${text}'.`)
  return Number(text)
}
