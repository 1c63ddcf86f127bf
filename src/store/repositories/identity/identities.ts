/** Identities at third-party providers, and sign-ins in progress. */
import type { ProviderIdentities, ProviderLogins } from '../../../domain/identity/provider-identity.ts'
import type { Database } from '../../database.ts'

export function createProviderIdentityRepository({ read, write, transact }: Database): ProviderIdentities {
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
      return transact(async (transaction) => {
        const linkedIdentity = await transaction
          .selectFrom('identity')
          .select('subject')
          .where('provider', '=', provider)
          .where('account', '=', account)
          .executeTakeFirst()
        if (linkedIdentity !== undefined) return linkedIdentity.subject === subject ? 'known' : 'other_subject'
        const row = await transaction
          .insertInto('identity')
          .values({ provider, subject, account, created_at: at })
          .onConflict((conflict) => conflict.doNothing())
          .returning('account')
          .executeTakeFirst()
        return row === undefined ? 'known' : 'linked'
      })
    },

    async unlink(provider, account) {
      const all = write.deleteFrom('identity').where('provider', '=', provider)
      const rows = await (account === null ? all : all.where('account', '=', account)).returning('account').execute()
      return [...new Set(rows.map((row) => row.account))]
    },

    async listProviders(account) {
      const rows = await read
        .selectFrom('identity')
        .select('provider')
        .distinct()
        .where('account', '=', account)
        .orderBy('provider')
        .execute()
      return rows.map(({ provider }) => provider)
    },

    async listSeveral(limit) {
      return read
        .selectFrom('identity')
        .select(['provider', 'account'])
        .groupBy(['provider', 'account'])
        .having((having) => having.fn.countAll(), '>', 1)
        .orderBy('provider')
        .orderBy('account')
        .limit(limit)
        .execute()
    },
  }
}

export function createProviderLoginRepository({ write }: Database): ProviderLogins {
  return {
    async create({ expiresAt, ...login }) {
      await write
        .insertInto('provider_login')
        .values({ ...login, expires_at: expiresAt })
        .execute()
    },

    async consume(state, now) {
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
