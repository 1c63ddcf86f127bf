/** Device logins. Each step is one conditional statement; only the redemption is a short transaction. */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { DeviceLogin, DeviceLogins, DevicePoll } from '../../../domain/identity/device-login.ts'
import type { Database } from '../../database.ts'
import type { DeviceLoginTable } from '../../schema/membership-schema.ts'
import { insertSession } from './sessions.ts'

/** A program that keeps the interval exactly must not be slowed down because of network jitter. */
const pollToleranceMs = 500
/** The seconds that `slow_down` adds (RFC 8628, 3.5). */
const slowDownSeconds = 5

export function createDeviceLoginRepository({ read, write, transact }: Database): DeviceLogins {
  /** Changes a live, undecided code that is unclaimed or claimed by this account. */
  async function transition(userCode: string, account: string, state: 'claimed' | 'approved' | 'denied', now: number) {
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
          polled_early: 0,
          started_at: login.startedAt,
          expires_at: login.expiresAt,
        })
        .onConflict((conflict) => conflict.column('user_code').doNothing())
        .returning('user_code')
        .executeTakeFirst()
      return row !== undefined
    },

    async poll(codeHash, now): Promise<DevicePoll> {
      const early = sql<boolean>`polled_at is not null and polled_at + interval_seconds * 1000 - ${pollToleranceMs} > ${now}`
      const waitingLogin = await write
        .updateTable('device_login')
        .set({
          interval_seconds: sql<number>`interval_seconds + case when ${early} then ${slowDownSeconds} else 0 end`,
          polled_early: sql<number>`case when ${early} then 1 else 0 end`,
          polled_at: now,
        })
        .where('code_hash', '=', codeHash)
        .where('state', 'in', ['pending', 'claimed'])
        .where('expires_at', '>', now)
        .returning(['polled_early', 'interval_seconds', 'expires_at'])
        .executeTakeFirst()
      if (waitingLogin !== undefined) {
        const { polled_early: polledEarly, interval_seconds: intervalSeconds, expires_at: expiresAt } = waitingLogin
        return { kind: 'waiting', polledEarly: polledEarly === 1, intervalSeconds, expiresAt }
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

    claim: (userCode, account, now) => transition(userCode, account, 'claimed', now),
    decide: transition,

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
