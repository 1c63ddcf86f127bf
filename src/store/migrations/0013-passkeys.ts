/** Passkeys of operators, and the challenges that wait for their answers. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const passkeys: Migration = {
  name: '0013-passkeys',
  readableBy: '0001-initial',
  async up(db, { whole, bytes, id, tableEnd }) {
    for (const statement of [
      `create table passkey (
        id ${id} not null primary key,
        account ${id} not null references account (id),
        name text not null,
        credential ${bytes} not null unique check (length(credential) between 1 and 1023),
        public_key ${bytes} not null,
        counter ${whole} not null,
        transports text not null,
        created_at ${whole} not null,
        last_used_at ${whole}
      ) ${tableEnd}`,
      'create index passkey_account on passkey (account)',
      `create table passkey_challenge (
        session ${id} not null,
        purpose text not null check (purpose in ('sign_in', 'step_up', 'register')),
        challenge ${bytes} not null check (length(challenge) = 32),
        expires_at ${whole} not null,
        primary key (session, purpose)
      ) ${tableEnd}`,
      'create index passkey_challenge_end on passkey_challenge (expires_at)',
    ])
      await sql.raw(statement).execute(db)
  },
}
