/** Codes that members redeem, and who redeemed them. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const redeemCodes: Migration = {
  name: '0007-redeem-codes',
  readableBy: '0001-initial',
  async up(db, { whole, bytes, id, tableEnd, sealed }) {
    for (const statement of [
      `create table redeem_code (
        id ${id} not null primary key,
        hash ${bytes} not null unique check (length(hash) = 32),
        prefix ${id} not null,
        batch ${id},
        terms ${id} references plan_terms (id),
        span text,
        pool text check (pool in ('fast', 'premium')),
        credits ${whole} check (credits > 0),
        days ${whole} check (days > 0),
        max_uses ${whole} not null check (max_uses > 0),
        uses ${whole} not null,
        created_at ${whole} not null,
        expires_at ${whole},
        revoked_at ${whole},
        constraint redeem_code_uses check (uses between 0 and max_uses),
        constraint redeem_code_gift check ((terms is null) = (span is null) and (terms is null) = (credits is not null)
          and (credits is null) = (pool is null) and (credits is null) = (days is null))
      ) ${tableEnd}`,
      'create index redeem_code_batch on redeem_code (batch, id) where batch is not null',
      'create index redeem_code_prefix on redeem_code (prefix)',
      `create table redemption (
        id ${id} not null primary key,
        code ${id} not null references redeem_code (id),
        account ${id} not null references account (id),
        at ${whole} not null,
        subscription ${id} references subscription (id),
        pack ${id},
        constraint redemption_once unique (code, account),
        constraint redemption_gift check ((subscription is null) <> (pack is null))
      ) ${tableEnd}`,
      'create index redemption_account on redemption (account)',
    ])
      await sql.raw(statement).execute(db)
    for (const statement of sealed('redemption')) await statement.execute(db)
  },
}
