/** Device logins on SQL. Every step is one conditional statement, or for the redemption one short transaction. */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { DeviceLogin, DeviceLogins, Poll } from '../membership/device-login.ts'
import type { Database } from './database.ts'
import type { DeviceLoginTable } from './membership-schema.ts'
import { insertSession } from './sessions.ts'

/** A program that keeps the interval to the letter must not be told off for the network's jitter. */
const toleranceMs = 500
/** What `slow_down` adds (RFC 8628, 3.5). */
const slowerBySeconds = 5

export function deviceLoginsIn({ read, write, transact }: Database): DeviceLogins {
  /** A live code that is nobody's yet, or this account's, and not decided on. */
  async function move(userCode: string, account: string, state: 'claimed' | 'approved' | 'denied', now: number) {
    const row = await write
      .updateTable('device_login')
      .set({ account, state })
      .where('user_code', '=', userCode)
      .where('expires_at', '>', now)
      .where((where) =>
        where.or([where('state', '=', 'pending'), where.and([where('state', '=', 'claimed'), where('account', '=', account)])]),
      )
      .returningAll()
      .executeTakeFirst()
    return row && toDeviceLogin(row)
  }

  return {
    async start(login, intervalSeconds) {
      const row = await write
        .insertInto('device_login')
        .values({
          code_hash: login.codeHash,
          user_code: login.userCode,
          client: login.client,
          client_version: login.clientVersion,
          hostname: login.hostname,
          address: login.address,
          network: login.network,
          state: 'pending',
          account: null,
          interval_seconds: intervalSeconds,
          polled_at: null,
          hurried: 0,
          started_at: login.startedAt,
          expires_at: login.expiresAt,
        })
        .onConflict((conflict) => conflict.column('user_code').doNothing())
        .returning('user_code')
        .executeTakeFirst()
      return row !== undefined
    },

    async poll(codeHash, now): Promise<Poll> {
      const early = sql<boolean>`polled_at is not null and polled_at + interval_seconds * 1000 - ${toleranceMs} > ${now}`
      const waiting = await write
        .updateTable('device_login')
        .set({
          interval_seconds: sql<number>`interval_seconds + case when ${early} then ${slowerBySeconds} else 0 end`,
          hurried: sql<number>`case when ${early} then 1 else 0 end`,
          polled_at: now,
        })
        .where('code_hash', '=', codeHash)
        .where('state', 'in', ['pending', 'claimed'])
        .where('expires_at', '>', now)
        .returning(['hurried', 'interval_seconds', 'expires_at'])
        .executeTakeFirst()
      if (waiting !== undefined) {
        const { hurried, interval_seconds: intervalSeconds, expires_at: expiresAt } = waiting
        return { kind: 'waiting', hurried: hurried === 1, intervalSeconds, expiresAt }
      }
      const row = await read
        .selectFrom('device_login')
        .select(['state', 'expires_at'])
        .where('code_hash', '=', codeHash)
        .executeTakeFirst()
      if (row === undefined || row.state === 'redeemed') return { kind: 'gone' }
      if (row.state === 'denied') return { kind: 'denied' }
      if (row.expires_at <= now) return { kind: 'expired' }
      return { kind: 'approved' }
    },

    redeem(codeHash, now, toSession) {
      return transact(async (transaction) => {
        const row = await transaction
          .updateTable('device_login')
          .set({ state: 'redeemed' })
          .where('code_hash', '=', codeHash)
          .where('state', '=', 'approved')
          .where('expires_at', '>', now)
          .returning(['client', 'hostname', 'address', 'account'])
          .executeTakeFirst()
        if (row === undefined || row.account === null) return undefined
        const session = toSession({ ...row, account: row.account })
        return (await insertSession(transaction, session)) ? session : undefined
      })
    },

    claim: (userCode, account, now) => move(userCode, account, 'claimed', now),
    decide: move,

    async sweep(at) {
      await write.deleteFrom('device_login').where('expires_at', '<=', at).execute()
    },
  }
}

function toDeviceLogin(row: Selectable<DeviceLoginTable>): DeviceLogin {
  return {
    codeHash: row.code_hash,
    userCode: row.user_code,
    client: row.client,
    clientVersion: row.client_version,
    hostname: row.hostname,
    address: row.address,
    network: row.network,
    state: row.state,
    account: row.account,
    startedAt: row.started_at,
    expiresAt: row.expires_at,
  }
}
