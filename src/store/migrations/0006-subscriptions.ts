/**
 * Terms of plans, and subscriptions that keep them. Accounts get the terms in effect, and the plan that follows their subscriptions. A plan
 * that was given with an end before becomes a subscription at the first run of the new version, which has the configuration.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const subscriptions: Migration = {
  name: '0006-subscriptions',
  readableBy: '0001-initial',
  async up(db, { whole, id, tableEnd, sealed }) {
    for (const statement of [
      `create table plan_terms (
        id ${id} not null primary key,
        plan ${id} not null,
        version ${whole} not null check (version > 0),
        content text not null,
        created_at ${whole} not null,
        constraint plan_terms_version unique (plan, version)
      ) ${tableEnd}`,
      `create table subscription (
        id ${id} not null primary key,
        account ${id} not null references account (id),
        terms ${id} not null references plan_terms (id),
        source text not null,
        purchase ${id},
        renewal text not null,
        next_terms ${id} references plan_terms (id),
        state text not null check (state in ('waiting', 'active', 'past_due', 'cancelled', 'ended')),
        span text,
        starts_at ${whole},
        ends_at ${whole},
        created_at ${whole} not null,
        ended_at ${whole},
        constraint subscription_begun check (state in ('waiting', 'ended') or starts_at is not null),
        constraint subscription_bounded check (span is not null or ends_at is not null),
        constraint subscription_ended check ((state = 'ended') = (ended_at is not null))
      ) ${tableEnd}`,
      'create index subscription_account on subscription (account)',
      // At most one runs, whatever the code does.
      `create unique index subscription_running on subscription (account) where state in ('active', 'past_due', 'cancelled')`,
      `create index subscription_due on subscription (ends_at) where state <> 'ended'`,
      `create index subscription_terms on subscription (terms, account) where state <> 'ended'`,
      `alter table account add column terms ${id}`,
      'alter table account add column base_plan text',
      'create index account_without_terms on account (plan) where plan_until is not null and terms is null',
    ])
      await sql.raw(statement).execute(db)
    for (const statement of sealed('plan_terms')) await statement.execute(db)
  },
}
