/** Sessions. */
import type { Kysely, Selectable } from 'kysely'
import type { NewSession, Session, Sessions } from '../../../domain/identity/session.ts'
import { maxSessionsPerAccount } from '../../../domain/identity/session.ts'
import { ownerColumns, toAccount } from './accounts.ts'
import type { Database } from '../../database.ts'
import { recordLastUsed } from './last-used.ts'
import type { Schema } from '../../schema/schema.ts'
import type { SessionTable } from '../../schema/membership-schema.ts'

const maxListed = Object.values(maxSessionsPerAccount).reduce((total, max) => total + max, 0)
/** At most this many end at once, where a database has more than the bound. */
const maxEnded = 1_000

export function createSessionRepository({ read, write, transact }: Database): Sessions {
  return {
    create: (session) => transact((transaction) => insertSession(transaction, session)),

    async findByHash(hash) {
      const row = await read
        .selectFrom('session')
        .innerJoin('account as owner', 'owner.id', 'session.account')
        .selectAll('session')
        .select(ownerColumns)
        .where('hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return undefined
      return { session: toSession(row), account: toAccount({ ...row, id: row.account, created_at: row.account_created_at }) }
    },

    async list(account) {
      const rows = await read
        .selectFrom('session')
        .selectAll()
        .where('account', '=', account)
        .orderBy('id', 'desc')
        .limit(maxListed)
        .execute()
      return rows.map(toSession)
    },

    async end(account, id) {
      const [result] = await write.deleteFrom('session').where('id', '=', id).where('account', '=', account).execute()
      return result !== undefined && result.numDeletedRows > 0n
    },

    endOthers(account, keep) {
      return transact(async (transaction) => {
        // A device login that one of these sessions approved could be redeemed later, and would then be a session again.
        await transaction
          .updateTable('device_login')
          .set({ state: 'denied' })
          .where('account', '=', account)
          .where('state', '=', 'approved')
          .execute()
        const all = transaction.deleteFrom('session').where('account', '=', account)
        const [result] = await (keep === null ? all : all.where('id', '!=', keep)).execute()
        return Number(result?.numDeletedRows ?? 0n)
      })
    },

    async renew(id, hash) {
      const [result] = await write.updateTable('session').set({ hash }).where('id', '=', id).execute()
      return result !== undefined && result.numUpdatedRows > 0n
    },

    recordLastUsed: (uses) => recordLastUsed(write, 'session', uses),

    async sweep(at, limit) {
      const [result] = await write
        .deleteFrom('session')
        .where('id', 'in', (over) => over.selectFrom('session').select('id').where('expires_at', '<=', at).limit(limit))
        .execute()
      return Number(result?.numDeletedRows ?? 0n)
    },
  }
}

/**
 * One statement checks the account and inserts: an account that has just been disabled gets no session. A second session of one
 * token is not inserted. Ends the sessions of the same kind above the bound.
 */
export async function insertSession(transaction: Kysely<Schema>, session: NewSession): Promise<boolean> {
  const row = await transaction
    .insertInto('session')
    .columns([
      'id',
      'account',
      'kind',
      'method',
      'hash',
      'client',
      'oauth_client',
      'address',
      'created_at',
      'last_used_at',
      'expires_at',
    ])
    .expression((from) =>
      from
        .selectFrom('account')
        .select((select) => [
          select.val(session.id).as('id'),
          'account.id as account',
          select.val(session.kind).as('kind'),
          select.val(session.method).as('method'),
          select.val(session.hash).as('hash'),
          select.val(session.client).as('client'),
          select.val(session.app ?? null).as('oauth_client'),
          select.val(session.address).as('address'),
          select.val(session.createdAt).as('created_at'),
          select.val(session.createdAt).as('last_used_at'),
          select.val(session.expiresAt).as('expires_at'),
        ])
        .where('account.id', '=', session.account)
        .where('account.status', '=', 'active'),
    )
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) return false
  await transaction
    .deleteFrom('session')
    .where('id', 'in', (over) =>
      over
        .selectFrom('session')
        .select('id')
        .where('account', '=', session.account)
        .where('kind', '=', session.kind)
        .orderBy('last_used_at', 'desc')
        .orderBy('id', 'desc')
        .limit(maxEnded)
        .offset(maxSessionsPerAccount[session.kind]),
    )
    .execute()
  return true
}

export function toSession(row: Selectable<SessionTable>): Session {
  return {
    id: row.id,
    account: row.account,
    kind: row.kind,
    method: row.method,
    ...(row.oauth_client === null ? {} : { app: row.oauth_client }),
    client: row.client,
    address: row.address,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  }
}
