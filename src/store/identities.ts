/** Third-party identities and sign-ins under way, on SQL. */
import type { Identities, ProviderLogins } from '../membership/identity.ts'
import type { Database } from './database.ts'

export function identitiesIn({ read, write }: Database): Identities {
  return {
    async find(provider, subject) {
      const row = await read
        .selectFrom('identity')
        .select('account')
        .where('provider', '=', provider)
        .where('subject', '=', subject)
        .executeTakeFirst()
      return row?.account
    },

    async link(provider, subject, account, at) {
      const row = await write
        .insertInto('identity')
        .values({ provider, subject, account, created_at: at })
        .onConflict((conflict) => conflict.doNothing())
        .returning('account')
        .executeTakeFirst()
      return row !== undefined
    },
  }
}

export function providerLoginsIn({ write }: Database): ProviderLogins {
  return {
    async put({ expiresAt, ...login }) {
      await write
        .insertInto('provider_login')
        .values({ ...login, expires_at: expiresAt })
        .execute()
    },

    async take(state, now) {
      const row = await write.deleteFrom('provider_login').where('state', '=', state).returningAll().executeTakeFirst()
      if (row === undefined || row.expires_at <= now) return undefined
      const { expires_at: expiresAt, ...login } = row
      return { ...login, expiresAt }
    },

    async sweep(at) {
      await write.deleteFrom('provider_login').where('expires_at', '<=', at).execute()
    },
  }
}
