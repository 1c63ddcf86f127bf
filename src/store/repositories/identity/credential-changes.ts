/** Accounts whose credentials changed; triggers of the schema write the rows. */
import type { CredentialChanges } from '../../../domain/credential-changes.ts'
import type { Database } from '../../database.ts'

export function createCredentialChangeRepository({ read, write }: Database): CredentialChanges {
  return {
    async listSince(seq, limit) {
      const rows = await read
        .selectFrom('account_change')
        .select(['seq', 'account'])
        .where('seq', '>', seq)
        .orderBy('seq')
        .limit(limit)
        .execute()
      return { seq: rows.at(-1)?.seq ?? seq, accounts: [...new Set(rows.map(({ account }) => account))] }
    },

    async getLatestSeq() {
      const row = await read
        .selectFrom('account_change')
        .select((select) => select.fn.max('seq').as('latest'))
        .executeTakeFirst()
      return Number(row?.latest ?? 0)
    },

    async sweep(keep) {
      await write
        .deleteFrom('account_change')
        .where('seq', '<=', (from) =>
          from.selectFrom('account_change').select((select) => select(select.fn.max('seq'), '-', keep).as('before')),
        )
        .execute()
    },
  }
}
