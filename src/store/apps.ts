/** Programs with a member's approval, on SQL. */
import type { AppRecord, Apps } from '../membership/app.ts'
import { toAccount } from './account-row.ts'
import type { Database } from './database.ts'
import { insertSession, toSession } from './sessions.ts'

export function appsIn({ read, write, transact }: Database): Apps {
  return {
    register({ id, metadata, createdAt }, most) {
      return transact(async (transaction) => {
        const { count } = await transaction
          .selectFrom('app')
          .select((select) => select.fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        if (Number(count) >= most) {
          const [made] = await transaction
            .deleteFrom('app')
            .where('id', '=', (over) =>
              over.selectFrom('app').select('id').where('used_at', 'is', null).orderBy('created_at').limit(1),
            )
            .execute()
          if (made === undefined || made.numDeletedRows === 0n) return false
        }
        await transaction
          .insertInto('app')
          .values({ id, metadata: JSON.stringify(metadata), created_at: createdAt, used_at: null })
          .execute()
        return true
      })
    },

    async find(id) {
      const row = await read.selectFrom('app').select('metadata').where('id', '=', id).executeTakeFirst()
      return row && (JSON.parse(row.metadata) as Record<string, unknown>)
    },

    approve(session) {
      return transact(async (transaction) => {
        await transaction.updateTable('app').set({ used_at: session.createdAt }).where('id', '=', session.app).execute()
        return insertSession(transaction, session)
      })
    },

    async approval(session) {
      const row = await read
        .selectFrom('session')
        .selectAll()
        .where('id', '=', session)
        .where('app', 'is not', null)
        .executeTakeFirst()
      return row && toSession(row)
    },

    async keep(record) {
      const row = toRow(record)
      await write
        .insertInto('app_record')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'hash'])
            .doUpdateSet({ session: row.session, payload: row.payload, expires_at: row.expires_at }),
        )
        .execute()
    },

    arm(token, usedAt, expiresAt) {
      return transact(async (transaction) => {
        // In one step with the look at the session: one that was ended a moment ago gets no token.
        const live = await transaction
          .updateTable('session')
          .set({ last_used_at: usedAt, expires_at: expiresAt })
          .where('id', '=', token.session)
          .returning('id')
          .executeTakeFirst()
        await transaction.deleteFrom('app_record').where('session', '=', token.session).where('kind', '=', token.kind).execute()
        if (live === undefined) return false
        await transaction.insertInto('app_record').values(toRow(token)).execute()
        return true
      })
    },

    async look(kind, hash) {
      const row = await read
        .selectFrom('app_record')
        .selectAll()
        .where('kind', '=', kind)
        .where('hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const payload = JSON.parse(row.payload) as Record<string, unknown>
      return { kind, hash, session: row.session, payload, expiresAt: row.expires_at, consumedAt: row.consumed_at }
    },

    async consume(kind, hash, now) {
      const row = await write
        .updateTable('app_record')
        .set({ consumed_at: now })
        .where('kind', '=', kind)
        .where('hash', '=', hash)
        .where('consumed_at', 'is', null)
        .returning('kind')
        .executeTakeFirst()
      return row !== undefined
    },

    async drop(kind, hash) {
      await write.deleteFrom('app_record').where('kind', '=', kind).where('hash', '=', hash).execute()
    },

    async dropOf(kind, session) {
      await write.deleteFrom('app_record').where('kind', '=', kind).where('session', '=', session).execute()
    },

    async owner(kind, hash) {
      const row = await read
        .selectFrom('app_record as token')
        .innerJoin('session', 'session.id', 'token.session')
        .innerJoin('account as owner', 'owner.id', 'session.account')
        .selectAll('session')
        .select(['owner.email', 'owner.plan', 'owner.plan_until', 'owner.status', 'owner.created_at as account_created_at'])
        .select('token.expires_at as token_expires_at')
        .where('token.kind', '=', kind)
        .where('token.hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const account = toAccount({ ...row, id: row.account, created_at: row.account_created_at })
      return { session: toSession(row), account, expiresAt: row.token_expires_at }
    },

    async sweep(now, { unapproved, unused }, limit) {
      await write
        .deleteFrom('app_record')
        .where(({ eb, refTuple, selectFrom }) =>
          eb(
            refTuple('kind', 'hash'),
            'in',
            selectFrom('app_record')
              .select(['kind', 'hash'])
              .where('expires_at', '<=', now)
              .limit(limit)
              .$asTuple('kind', 'hash'),
          ),
        )
        .execute()
      await write
        .deleteFrom('app')
        .where((where) =>
          where.or([
            where.and([where('used_at', 'is', null), where('created_at', '<=', unapproved)]),
            where('used_at', '<=', unused),
          ]),
        )
        .execute()
    },
  }
}

function toRow({ kind, hash, session, payload, expiresAt }: AppRecord) {
  return { kind, hash, session, payload: JSON.stringify(payload), consumed_at: null, expires_at: expiresAt }
}
