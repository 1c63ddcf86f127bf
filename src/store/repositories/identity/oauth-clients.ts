/** OAuth clients, consents and tokens. */
import { sql } from 'kysely'
import type { OAuthRecord, OAuthClients } from '../../../domain/identity/oauth-client.ts'
import { refreshTokenKind } from '../../../domain/identity/oauth-client.ts'
import { sessionLifetimes } from '../../../domain/identity/session.ts'
import { ownerColumns, toAccount } from './accounts.ts'
import type { Database } from '../../database.ts'
import { insertSession, toSession } from './sessions.ts'
import { ownJsonBounds, parseJson } from '../../../system/parse-json.ts'

export function createOAuthClientRepository({ read, write, transact }: Database): OAuthClients {
  return {
    register({ id, metadata, createdAt }, maxClients) {
      return transact(async (transaction) => {
        const { count } = await transaction
          .selectFrom('oauth_client')
          .select((select) => select.fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        if (Number(count) >= maxClients) {
          const [eviction] = await transaction
            .deleteFrom('oauth_client')
            .where('id', '=', (over) =>
              over
                .selectFrom('oauth_client as unused')
                .select('unused.id')
                .where(({ not, exists, selectFrom }) =>
                  not(
                    exists(
                      selectFrom('session')
                        .select('session.id')
                        .whereRef('session.oauth_client', '=', 'unused.id')
                        .where('session.expires_at', '>', createdAt)
                        .where('session.last_used_at', '>', createdAt - sessionLifetimes.app.idleMs),
                    ),
                  ),
                )
                .orderBy(sql`case when approved_at is null then 0 else 1 end`)
                .orderBy(sql`coalesce(approved_at, created_at)`)
                .limit(1),
            )
            .execute()
          if (eviction === undefined || eviction.numDeletedRows === 0n) return false
        }
        await transaction
          .insertInto('oauth_client')
          .values({ id, metadata: JSON.stringify(metadata), created_at: createdAt, approved_at: null })
          .execute()
        return true
      })
    },

    async find(id) {
      const row = await read.selectFrom('oauth_client').select('metadata').where('id', '=', id).executeTakeFirst()
      return row && (parseJson(row.metadata, ownJsonBounds) as Record<string, unknown>)
    },

    createConsent(session) {
      return transact(async (transaction) => {
        await transaction
          .updateTable('oauth_client')
          .set({ approved_at: session.createdAt })
          .where('id', '=', session.app)
          .execute()
        return insertSession(transaction, session)
      })
    },

    async hasConsent(account, client, now) {
      const row = await read
        .selectFrom('session')
        .select('id')
        .where('account', '=', account)
        .where('oauth_client', '=', client)
        .where('expires_at', '>', now)
        .where('last_used_at', '>', now - sessionLifetimes.app.idleMs)
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },

    async findConsent(session) {
      const row = await read
        .selectFrom('session')
        .selectAll()
        .where('id', '=', session)
        .where('oauth_client', 'is not', null)
        .executeTakeFirst()
      return row && toSession(row)
    },

    async saveRecord(record) {
      const row = toRow(record)
      await write
        .insertInto('oauth_record')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'hash'])
            .doUpdateSet({ session: row.session, payload: row.payload, expires_at: row.expires_at }),
        )
        .execute()
    },

    issueAccessToken(token, usedAt, expiresAt) {
      return transact(async (transaction) => {
        // One transaction checks the session and issues the token: a session that has just ended gets none.
        const live = await transaction
          .updateTable('session')
          .set({ last_used_at: usedAt, expires_at: expiresAt })
          .where('id', '=', token.session)
          .returning('id')
          .executeTakeFirst()
        await transaction.deleteFrom('oauth_record').where('session', '=', token.session).where('kind', '=', token.kind).execute()
        if (live === undefined) return false
        await transaction.insertInto('oauth_record').values(toRow(token)).execute()
        return true
      })
    },

    async findRecord(kind, hash) {
      const row = await read
        .selectFrom('oauth_record')
        .selectAll()
        .where('kind', '=', kind)
        .where('hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const payload = parseJson(row.payload, ownJsonBounds) as Record<string, unknown>
      return { kind, hash, session: row.session, payload, expiresAt: row.expires_at, consumedAt: row.consumed_at }
    },

    async consumeRecord(kind, hash, now) {
      const row = await write
        .updateTable('oauth_record')
        .set({ consumed_at: now })
        .where('kind', '=', kind)
        .where('hash', '=', hash)
        .where('consumed_at', 'is', null)
        .returning('kind')
        .executeTakeFirst()
      return row !== undefined
    },

    useRefreshToken(hash, now, graceMs) {
      return transact(async (transaction) => {
        const token = await transaction
          .selectFrom('oauth_record')
          .selectAll()
          .where('kind', '=', refreshTokenKind)
          .where('hash', '=', hash)
          .executeTakeFirst()
        if (token === undefined) return false
        if (token.consumed_at !== null && now - token.consumed_at > graceMs) return false
        const { generation, issuedAt } = parseRefreshToken(token.payload)
        const usedRecords = await transaction
          .selectFrom('oauth_record')
          .select('payload')
          .where('kind', '=', refreshTokenKind)
          .where('session', '=', token.session)
          .where('hash', '!=', hash)
          .where('consumed_at', '>=', issuedAt)
          .execute()
        const maxGeneration = token.consumed_at === null ? generation - 1 : generation
        if (usedRecords.some(({ payload }) => parseRefreshToken(payload).generation > maxGeneration)) return false
        if (token.consumed_at === null)
          await transaction
            .updateTable('oauth_record')
            .set({ consumed_at: now })
            .where('kind', '=', refreshTokenKind)
            .where('hash', '=', hash)
            .execute()
        return true
      })
    },

    async deleteRecord(kind, hash) {
      await write.deleteFrom('oauth_record').where('kind', '=', kind).where('hash', '=', hash).execute()
    },

    async deleteRecordsOfSession(kind, session) {
      await write.deleteFrom('oauth_record').where('kind', '=', kind).where('session', '=', session).execute()
    },

    async findTokenOwner(kind, hash) {
      const row = await read
        .selectFrom('oauth_record as token')
        .innerJoin('session', 'session.id', 'token.session')
        .innerJoin('account as owner', 'owner.id', 'session.account')
        .selectAll('session')
        .select(ownerColumns)
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
        .deleteFrom('oauth_record')
        .where(({ eb, refTuple, selectFrom }) =>
          eb(
            refTuple('kind', 'hash'),
            'in',
            selectFrom('oauth_record')
              .select(['kind', 'hash'])
              .where('expires_at', '<=', now)
              .limit(limit)
              .$asTuple('kind', 'hash'),
          ),
        )
        .execute()
      await write
        .deleteFrom('oauth_client')
        .where((where) =>
          where.or([
            where.and([where('approved_at', 'is', null), where('created_at', '<=', unapproved)]),
            where('approved_at', '<=', unused),
          ]),
        )
        .execute()
    },
  }
}

/** How often the token was rotated before, and when it was issued, in milliseconds (rounded down to a second). */
function parseRefreshToken(payload: string): { readonly generation: number; readonly issuedAt: number } {
  const { rotations, iat } = parseJson(payload, ownJsonBounds) as { readonly rotations?: number; readonly iat?: number }
  return { generation: rotations ?? 0, issuedAt: (iat ?? 0) * 1000 }
}

function toRow({ kind, hash, session, payload, expiresAt }: OAuthRecord) {
  return { kind, hash, session, payload: JSON.stringify(payload), consumed_at: null, expires_at: expiresAt }
}
