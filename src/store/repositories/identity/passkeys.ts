/** Passkeys of operators, and their challenges. */
import type { Selectable } from 'kysely'
import type { Passkey, PasskeyRecords } from '../../../domain/identity/operators/passkeys.ts'
import type { Database } from '../../database.ts'
import type { PasskeyTable } from '../../schema/operator-schema.ts'

export function createPasskeyRepository({ read, write, transact }: Database): PasskeyRecords {
  return {
    async listPasskeys(account) {
      const rows = await read.selectFrom('passkey').selectAll().where('account', '=', account).orderBy('id').execute()
      return rows.map(toPasskey)
    },

    addPasskey({ id, account, name, credential, publicKey, counter, transports, createdAt }, limit) {
      return transact(async (transaction) => {
        const factor = await transaction
          .selectFrom('second_factor')
          .select('account')
          .where('account', '=', account)
          .where('confirmed_at', 'is not', null)
          .executeTakeFirst()
        if (factor === undefined) return 'no_second_factor'
        const { count } = await transaction
          .selectFrom('passkey')
          .select((select) => select.fn.countAll<number>().as('count'))
          .where('account', '=', account)
          .executeTakeFirstOrThrow()
        if (Number(count) >= limit) return 'too_many'
        const insertedRow = await transaction
          .insertInto('passkey')
          .values({
            id,
            account,
            name,
            credential,
            public_key: publicKey,
            counter,
            transports: transports.join(' '),
            created_at: createdAt,
            last_used_at: null,
          })
          .onConflict((conflict) => conflict.column('credential').doNothing())
          .returning('id')
          .executeTakeFirst()
        return insertedRow === undefined ? 'known' : 'added'
      })
    },

    async removePasskey(account, id) {
      const removedPasskey = await write
        .deleteFrom('passkey')
        .where('account', '=', account)
        .where('id', '=', id)
        .returning('name')
        .executeTakeFirst()
      return removedPasskey?.name
    },

    async recordPasskeyUse(id, { counter, at }) {
      const updateResult = await write
        .updateTable('passkey')
        .set({ counter, last_used_at: at })
        .where('id', '=', id)
        .where((where) => (counter === 0 ? where('counter', '=', 0) : where('counter', '<', counter)))
        .executeTakeFirst()
      return updateResult.numUpdatedRows > 0n
    },

    async beginPasskeyChallenge({ session, purpose }, challenge, expiresAt) {
      const values = { challenge, expires_at: expiresAt }
      await write
        .insertInto('passkey_challenge')
        .values({ session, purpose, ...values })
        .onConflict((conflict) => conflict.columns(['session', 'purpose']).doUpdateSet(values))
        .execute()
    },

    async takePasskeyChallenge({ session, purpose }, now) {
      const takenChallenge = await write
        .deleteFrom('passkey_challenge')
        .where('session', '=', session)
        .where('purpose', '=', purpose)
        .returning(['challenge', 'expires_at'])
        .executeTakeFirst()
      return takenChallenge === undefined || takenChallenge.expires_at <= now ? undefined : takenChallenge.challenge
    },
  }
}

function toPasskey(row: Selectable<PasskeyTable>): Passkey {
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    credential: row.credential,
    publicKey: row.public_key,
    counter: row.counter,
    transports: row.transports === '' ? [] : row.transports.split(' '),
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}
