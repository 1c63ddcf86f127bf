/** Roles of operators, their second factors, sessions and keys, and who caused an audit record. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const operators: Migration = {
  name: '0009-operators',
  readableBy: '0001-initial',
  async up(db, { whole, bytes, id, tableEnd }) {
    for (const statement of [
      `create table operator (
        account ${id} not null primary key references account (id),
        role text not null check (role in ('owner', 'operator', 'support', 'finance', 'reader')),
        provider text,
        granted_at ${whole} not null,
        constraint operator_owner_by_hand check (role <> 'owner' or provider is null)
      ) ${tableEnd}`,
      `create table second_factor (
        account ${id} not null primary key references account (id),
        secret ${bytes} not null,
        confirmed_at ${whole},
        used_step ${whole} not null
      ) ${tableEnd}`,
      `create table recovery_code (
        account ${id} not null references account (id),
        hash ${bytes} not null check (length(hash) = 32),
        used_at ${whole},
        primary key (account, hash)
      ) ${tableEnd}`,
      `create table operator_session (
        id ${id} not null primary key,
        hash ${bytes} not null unique check (length(hash) = 32),
        account ${id} references account (id),
        session ${id},
        system_user text,
        address text,
        client text,
        verified_at ${whole} not null,
        created_at ${whole} not null,
        expires_at ${whole} not null,
        constraint operator_session_actor check ((account is null) <> (system_user is null) and (account is null) = (session is null))
      ) ${tableEnd}`,
      'create index operator_session_account on operator_session (account) where account is not null',
      'create index operator_session_end on operator_session (expires_at)',
      `create table shell_link (
        hash ${bytes} not null primary key check (length(hash) = 32),
        system_user text not null,
        created_at ${whole} not null,
        expires_at ${whole} not null,
        used_at ${whole}
      ) ${tableEnd}`,
      `create table operator_key (
        id ${id} not null primary key,
        account ${id} not null references account (id),
        name text not null,
        prefix text not null,
        last4 text not null,
        hash ${bytes} not null unique check (length(hash) = 32),
        scopes text not null,
        networks text,
        daily_credits ${whole} check (daily_credits > 0),
        spent_day ${whole} not null,
        spent_credits ${whole} not null,
        created_at ${whole} not null,
        last_used_at ${whole},
        expires_at ${whole},
        revoked_at ${whole}
      ) ${tableEnd}`,
      'create index operator_key_account on operator_key (account)',
      `create table operator_request (
        hash ${bytes} not null primary key check (length(hash) = 32),
        fingerprint text not null,
        status ${whole},
        body text,
        created_at ${whole} not null
      ) ${tableEnd}`,
      'create index operator_request_age on operator_request (created_at)',
      'create index api_key_prefix on api_key (prefix)',
      'create index audit_event on audit (event, id)',
      'alter table audit add column actor text',
      'alter table audit add column reason text',
    ])
      await sql.raw(statement).execute(db)
  },
}
