/** Orders with their stories, and whether a member spends the packs that they bought. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const orders: Migration = {
  name: '0008-orders',
  readableBy: '0001-initial',
  async up(db, { whole, id, tableEnd, sealed }) {
    for (const statement of [
      `create table sale_order (
        id ${id} not null primary key,
        number ${id} not null unique,
        account ${id} not null references account (id),
        request ${id} not null,
        kind text not null check (kind in ('plan', 'pack')),
        terms ${id} references plan_terms (id),
        "interval" text check ("interval" in ('month', 'year')),
        pack_offer text,
        pool text check (pool in ('fast', 'premium')),
        credits ${whole} check (credits > 0),
        days ${whole} check (days > 0),
        event text not null check (event in ('first', 'renewal', 'upgrade', 'downgrade', 'interval', 'pack')),
        currency ${id} not null check (length(currency) = 3),
        price ${whole} not null check (price >= 0),
        credit ${whole} not null check (credit between 0 and price),
        former_subscription ${id} references subscription (id),
        due ${whole} not null check (due >= 0),
        provider ${id} not null,
        language text not null,
        reference ${id},
        payment ${id},
        provider_subscription ${id},
        renews ${whole} not null check (renews in (0, 1)),
        url text,
        instructions text,
        state text not null check (state in
          ('created', 'sent', 'paid', 'granted', 'refunding', 'refunded', 'disputed', 'expired', 'cancelled')),
        problem text,
        paid_amount ${whole} check (paid_amount >= 0),
        paid_currency ${id},
        refunded ${whole} not null check (refunded >= 0),
        refund text,
        subscription ${id} references subscription (id),
        pack ${id} unique,
        created_at ${whole} not null,
        expires_at ${whole} not null,
        sent_at ${whole},
        paid_at ${whole},
        granted_at ${whole},
        closed_at ${whole},
        next_check_at ${whole},
        checks ${whole} not null,
        checked_at ${whole},
        notified_at ${whole},
        failure text,
        version ${whole} not null,
        constraint sale_order_request unique (account, request),
        constraint sale_order_reference unique (provider, reference),
        constraint sale_order_payment unique (provider, payment),
        constraint sale_order_plan check ((kind = 'plan') = (terms is not null) and (kind = 'plan') = ("interval" is not null)),
        constraint sale_order_pack check ((kind = 'pack') = (credits is not null) and (kind = 'pack') = (pool is not null)
          and (kind = 'pack') = (pack_offer is not null)),
        constraint sale_order_paid check ((paid_at is null) = (paid_amount is null) and (paid_at is null) = (paid_currency is null)),
        constraint sale_order_unpaid check (state not in ('paid', 'granted', 'refunding', 'refunded', 'disputed') or paid_at is not null),
        constraint sale_order_granted check ((granted_at is null) = (subscription is null and pack is null)
          and (granted_at is not null or state not in ('granted', 'disputed')) and (granted_at is null or paid_at is not null))
      ) ${tableEnd}`,
      'create index sale_order_account on sale_order (account, id)',
      'create index sale_order_due on sale_order (next_check_at) where next_check_at is not null',
      `create index sale_order_ungranted on sale_order (paid_at) where state = 'paid'`,
      `create index sale_order_open on sale_order (account) where state in ('created', 'sent')`,
      `create index sale_order_provider_subscription on sale_order (provider, provider_subscription)
        where provider_subscription is not null`,
      'create index sale_order_subscription on sale_order (subscription) where subscription is not null',
      `create table order_step (
        sale_order ${id} not null references sale_order (id),
        seq ${whole} not null check (seq > 0),
        at ${whole} not null,
        kind text not null,
        actor text not null,
        facts text not null,
        constraint order_step_key primary key (sale_order, seq)
      ) ${tableEnd}`,
      `create table order_number (
        "year" ${whole} not null primary key,
        last ${whole} not null check (last > 0)
      ) ${tableEnd}`,
      `create table payment_notification (
        provider ${id} not null primary key,
        accepted_at ${whole},
        refused_at ${whole},
        refusal text,
        setting text
      ) ${tableEnd}`,
      // 0: turns take nothing from packs that the member bought.
      `alter table account add column spends_packs ${whole} not null default 1 check (spends_packs in (0, 1))`,
    ])
      await sql.raw(statement).execute(db)
    for (const statement of sealed('order_step')) await statement.execute(db)
  },
}
