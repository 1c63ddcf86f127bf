/** Roles, second factors, sessions and shell links of operators, and the requests that carried an `Idempotency-Key`. */
import type { Kysely } from 'kysely'
import type { Operators } from '../../../domain/identity/operators/operator.ts'
import { LastOwnerError } from '../../../domain/identity/operators/operator.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import { createOperatorKeyRepository, hasEffect } from './operator-keys.ts'
import { createPasskeyRepository } from './passkeys.ts'

const requestRetentionMs = 86_400_000

export function createOperatorRepository(database: Database): Operators {
  const { read, write, transact } = database
  return {
    ...createOperatorKeyRepository(database),
    ...createPasskeyRepository(database),

    async isOpen(now) {
      const row = await read
        .selectNoFrom((select) => [
          select
            .exists(
              select
                .selectFrom('operator')
                .innerJoin('account', 'account.id', 'operator.account')
                .select('operator.account')
                .where('account.status', '=', 'active')
                .where(hasEffect(now)),
            )
            .as('roles'),
          select
            .exists(select.selectFrom('shell_link').select('hash').where('used_at', 'is', null).where('expires_at', '>', now))
            .as('links'),
          select
            .exists(
              select
                .selectFrom('operator_session')
                .select('id')
                .where('system_user', 'is not', null)
                .where('expires_at', '>', now),
            )
            .as('sessions'),
        ])
        .executeTakeFirstOrThrow()
      return Boolean(row.roles) || Boolean(row.links) || Boolean(row.sessions)
    },

    async list(now) {
      return (await selectOperators(read, now).orderBy('operator.account').execute()).map(toOperator)
    },

    async find(account, now) {
      const row = await selectOperators(read, now).where('operator.account', '=', account).executeTakeFirst()
      return row && toOperator(row)
    },

    async hasRole(account) {
      const row = await read.selectFrom('operator').select('account').where('account', '=', account).executeTakeFirst()
      return row !== undefined
    },

    setRole(account, role, at) {
      const change = async (transaction: Kysely<Schema>) => {
        const owner = await transaction
          .selectFrom('account')
          .leftJoin('operator', 'operator.account', 'account.id')
          .select(['account.status', 'operator.role'])
          .where('account.id', '=', account)
          .executeTakeFirst()
        if (owner?.status !== 'active') return undefined
        if (role === null) {
          await transaction.deleteFrom('operator').where('account', '=', account).execute()
          await endOperatorCredentials(transaction, account, at)
        } else {
          const values = { role: role.name, provider: role.provider, granted_at: at }
          await transaction
            .insertInto('operator')
            .values({ account, ...values })
            .onConflict((conflict) => conflict.column('account').doUpdateSet(values))
            .execute()
        }
        return { before: owner.role }
      }
      return role?.name === 'owner' ? transact(change) : transactUnlessLastOwner(transact, account, change)
    },

    applyGroupRole(account, provider, role, at) {
      return transact(async (transaction) => {
        const storedOperator = await transaction
          .selectFrom('operator')
          .selectAll()
          .where('account', '=', account)
          .executeTakeFirst()
        const before = storedOperator?.role ?? null
        const isForeign = storedOperator !== undefined && storedOperator.provider !== provider
        if (isForeign && (storedOperator.provider === null || role === null)) return { before, after: before }
        if (role !== null) {
          const values = { role, provider, granted_at: at }
          await transaction
            .insertInto('operator')
            .values({ account, ...values })
            .onConflict((conflict) => conflict.column('account').doUpdateSet(values))
            .execute()
        } else if (storedOperator !== undefined) {
          await transaction.deleteFrom('operator').where('account', '=', account).execute()
          await endOperatorCredentials(transaction, account, at)
        }
        return { before, after: role }
      })
    },

    async findSecondFactor(account) {
      const row = await read.selectFrom('second_factor').selectAll().where('account', '=', account).executeTakeFirst()
      return row && { secret: row.secret, confirmedAt: row.confirmed_at }
    },

    async beginSecondFactor(account, secret) {
      const row = await write
        .insertInto('second_factor')
        .values({ account, secret, confirmed_at: null, used_step: 0 })
        .onConflict((conflict) =>
          conflict.column('account').doUpdateSet({ secret }).where('second_factor.confirmed_at', 'is', null),
        )
        .returning('account')
        .executeTakeFirst()
      return row !== undefined
    },

    confirmSecondFactor(account, { step, recoveryHashes, at }) {
      return transact(async (transaction) => {
        const updateResult = await transaction
          .updateTable('second_factor')
          .set({ confirmed_at: at, used_step: step })
          .where('account', '=', account)
          .where('confirmed_at', 'is', null)
          .executeTakeFirst()
        if (updateResult.numUpdatedRows === 0n) return false
        await insertRecoveryCodes(transaction, account, recoveryHashes)
        return true
      })
    },

    async useStep(account, step) {
      const updateResult = await write
        .updateTable('second_factor')
        .set({ used_step: step })
        .where('account', '=', account)
        .where('confirmed_at', 'is not', null)
        .where('used_step', '<', step)
        .executeTakeFirst()
      return updateResult.numUpdatedRows > 0n
    },

    async useRecoveryCode(account, hash, at) {
      const updateResult = await write
        .updateTable('recovery_code')
        .set({ used_at: at })
        .where('account', '=', account)
        .where('hash', '=', hash)
        .where('used_at', 'is', null)
        .executeTakeFirst()
      return updateResult.numUpdatedRows > 0n
    },

    async countRecoveryCodes(account) {
      const row = await read
        .selectFrom('recovery_code')
        .select((select) => select.fn.countAll<number>().as('left'))
        .where('account', '=', account)
        .where('used_at', 'is', null)
        .executeTakeFirst()
      return Number(row?.left ?? 0)
    },

    replaceRecoveryCodes: (account, hashes) => transact((transaction) => insertRecoveryCodes(transaction, account, hashes)),

    removeSecondFactor(account) {
      return transact(async (transaction) => {
        const deleteResult = await transaction.deleteFrom('second_factor').where('account', '=', account).executeTakeFirst()
        await transaction.deleteFrom('recovery_code').where('account', '=', account).execute()
        await transaction.deleteFrom('passkey').where('account', '=', account).execute()
        await transaction.deleteFrom('operator_session').where('account', '=', account).execute()
        return deleteResult.numDeletedRows > 0n
      })
    },

    async createSession({ id, hash, account, session, systemUser, address, client, verifiedAt, createdAt, expiresAt }) {
      const times = { verified_at: verifiedAt, created_at: createdAt, expires_at: expiresAt }
      await write
        .insertInto('operator_session')
        .values({ id, hash, account, session, system_user: systemUser, address, client, ...times })
        .execute()
    },

    async findSession(hash, now) {
      const row = await read
        .selectFrom('operator_session')
        .leftJoin('operator', (join) => join.onRef('operator.account', '=', 'operator_session.account').on(hasEffect(now)))
        .leftJoin('account', 'account.id', 'operator_session.account')
        .leftJoin('session', 'session.id', 'operator_session.session')
        .select([
          'operator_session.id',
          'operator_session.account',
          'operator_session.session',
          'operator_session.system_user',
          'operator_session.verified_at',
          'operator_session.created_at',
          'operator_session.expires_at',
          'operator.role',
          'account.status',
          'session.id as member_session',
        ])
        .where('operator_session.hash', '=', hash)
        .where('operator_session.expires_at', '>', now)
        .executeTakeFirst()
      if (row === undefined) return undefined
      if (row.account !== null && (row.status !== 'active' || row.member_session === null)) return undefined
      return {
        id: row.id,
        account: row.account,
        session: row.session,
        role: row.role,
        systemUser: row.system_user,
        verifiedAt: row.verified_at,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      }
    },

    async verifySession(id, at) {
      await write.updateTable('operator_session').set({ verified_at: at }).where('id', '=', id).execute()
    },

    async endSession(id) {
      await write.deleteFrom('operator_session').where('id', '=', id).execute()
    },

    async createShellLink({ hash, systemUser, createdAt, expiresAt }) {
      const times = { created_at: createdAt, expires_at: expiresAt, used_at: null }
      await write
        .insertInto('shell_link')
        .values({ hash, system_user: systemUser, ...times })
        .execute()
    },

    async findShellLink(hash, now) {
      const row = await read
        .selectFrom('shell_link')
        .select('system_user')
        .where('hash', '=', hash)
        .where('used_at', 'is', null)
        .where('expires_at', '>', now)
        .executeTakeFirst()
      return row?.system_user
    },

    async useShellLink(hash, now) {
      const row = await write
        .updateTable('shell_link')
        .set({ used_at: now })
        .where('hash', '=', hash)
        .where('used_at', 'is', null)
        .where('expires_at', '>', now)
        .returning('system_user')
        .executeTakeFirst()
      return row?.system_user
    },

    async beginRequest(hash, fingerprint, at) {
      const insertedRow = await write
        .insertInto('operator_request')
        .values({ hash, fingerprint, status: null, body: null, created_at: at })
        .onConflict((conflict) => conflict.column('hash').doNothing())
        .returning('hash')
        .executeTakeFirst()
      if (insertedRow !== undefined) return undefined
      const row = await read.selectFrom('operator_request').selectAll().where('hash', '=', hash).executeTakeFirst()
      if (row === undefined) return undefined
      const { status, body } = row
      return { fingerprint: row.fingerprint, answer: status === null ? null : { status, body } }
    },

    async endRequest(hash, { status, body }) {
      await write.updateTable('operator_request').set({ status, body }).where('hash', '=', hash).execute()
    },

    async forgetRequest(hash) {
      await write.deleteFrom('operator_request').where('hash', '=', hash).where('status', 'is', null).execute()
    },

    async sweep(now) {
      await write.deleteFrom('operator_session').where('expires_at', '<=', now).execute()
      await write.deleteFrom('shell_link').where('expires_at', '<=', now).execute()
      await write.deleteFrom('passkey_challenge').where('expires_at', '<=', now).execute()
      await write
        .deleteFrom('operator_request')
        .where('created_at', '<=', now - requestRetentionMs)
        .execute()
    },
  }
}

/**
 * Runs the transaction that disables, deletes or demotes an account.
 * @throws LastOwnerError where no other active owner would be left
 */
export async function transactUnlessLastOwner<Result>(
  transact: Database['transact'],
  account: string,
  work: (transaction: Kysely<Schema>) => Promise<Result>,
): Promise<Result> {
  // Thrown outside of the transaction: PostgreSQL's takes an unknown error within it for a lost connection.
  const outcome = await transact(async (transaction) => {
    const owners = await transaction
      .selectFrom('operator')
      .innerJoin('account', 'account.id', 'operator.account')
      .select('operator.account')
      .where('operator.role', '=', 'owner')
      .where('account.status', '=', 'active')
      .execute()
    if (owners.length === 1 && owners[0]?.account === account) return { kind: 'last_owner' } as const
    return { kind: 'done', result: await work(transaction) } as const
  })
  if (outcome.kind === 'last_owner') throw new LastOwnerError()
  return outcome.result
}

/** Ends what an operator could act with, in the transaction that takes the right to it. */
export async function endOperatorCredentials(transaction: Kysely<Schema>, account: string, at: number): Promise<void> {
  await transaction.deleteFrom('operator_session').where('account', '=', account).execute()
  await transaction
    .updateTable('operator_key')
    .set({ revoked_at: at })
    .where('account', '=', account)
    .where('revoked_at', 'is', null)
    .execute()
}

async function insertRecoveryCodes(transaction: Kysely<Schema>, account: string, hashes: readonly Uint8Array[]): Promise<void> {
  await transaction.deleteFrom('recovery_code').where('account', '=', account).execute()
  await transaction
    .insertInto('recovery_code')
    .values(hashes.map((hash) => ({ account, hash, used_at: null })))
    .execute()
}

function selectOperators(db: Kysely<Schema>, now: number) {
  return db
    .selectFrom('operator')
    .innerJoin('account', 'account.id', 'operator.account')
    .leftJoin('second_factor', 'second_factor.account', 'operator.account')
    .select([
      'operator.account',
      'account.email',
      'operator.role',
      'operator.provider',
      'operator.granted_at',
      'second_factor.confirmed_at',
    ])
    .where('account.status', '=', 'active')
    .where(hasEffect(now))
}

function toOperator(row: Awaited<ReturnType<ReturnType<typeof selectOperators>['executeTakeFirstOrThrow']>>) {
  return {
    account: row.account,
    email: row.email,
    role: row.role,
    provider: row.provider,
    grantedAt: row.granted_at,
    hasSecondFactor: row.confirmed_at !== null,
  }
}
