/** `svc-gateway key …` */
import { toKeyFields } from '../../domain/identity/api-key.ts'
import { createApiKey } from '../../domain/services/api-key-service.ts'
import { requireAccount, CommandError, withInstallation } from '../installation.ts'
import { formatCellTime, formatTable, renderResult } from '../output.ts'
import { formatZone } from '../../system/terminal/format-time.ts'
import type { OutputOptions, CommandResult } from '../output.ts'

const dayMs = 86_400_000

export function createKey(
  options: OutputOptions & { account: string; name: string; expiresInDays?: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const account = await requireAccount(installation, options.account)
    if (account.status !== 'active') throw new CommandError(`Account ${account.id} is ${account.status}; enable it first.`)
    if (options.name.length < 1 || options.name.length > 64) throw new CommandError('A key needs a --name of 1 to 64 characters.')
    const expiresAt =
      options.expiresInDays === undefined ? null : installation.clock.now() + parseDays(options.expiresInDays) * dayMs
    const mintedKey = await createApiKey(installation, account.id, options.name, expiresAt)
    if (mintedKey === undefined)
      throw new CommandError(
        `An account may have ${installation.keys.perAccount} live keys; revoke one first: svc-gateway key list --account …`,
      )
    const { key, token } = mintedKey
    await installation.note('key_made', account.id, { key: key.id, name: key.name })
    return renderResult(
      options,
      { ...toKeyFields(key), token },
      () => `Key ${key.id} was made for ${account.email ?? account.id}. It is shown only now:\n\n    ${token}\n`,
    )
  })
}

export function listKeys(options: OutputOptions & { account: string }): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const account = await requireAccount(installation, options.account)
    const keys = await installation.store.apiKeys.list(account.id)
    const now = installation.clock.now()
    return renderResult(
      options,
      {
        object: 'list',
        data: keys.map(toKeyFields),
      },
      () =>
        formatTable(
          ['id', 'name', 'key', `created (${formatZone(now)})`, 'last used', 'expires', 'revoked'],
          keys.map((key) => [
            key.id,
            key.name,
            `${key.prefix}…${key.last4}`,
            formatCellTime(key.createdAt, now),
            formatCellTime(key.lastUsedAt, now),
            formatCellTime(key.expiresAt, now),
            formatCellTime(key.revokedAt, now),
          ]),
        ),
    )
  })
}

export function revokeKey(id: string, options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const key = await installation.store.apiKeys.find(id)
    if (key === undefined) throw new CommandError(`There is no key '${id}'. See: svc-gateway key list --account …`)
    await installation.memberAdmin.revokeKey(key, installation.createAuthor())
    return renderResult(options, { ok: true, id, revoked: true }, () => `Key ${id} is revoked.`)
  })
}

function parseDays(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1)
    throw new CommandError(`--expires-in-days must be a whole number of at least 1, not '${text}'.`)
  return Number(text)
}
