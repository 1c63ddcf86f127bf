/**
 * Sums of ended turns by plan and product, and the indexes of the console's lists of sales. The job that fills the lists of turns begins anew,
 * so that its sums have every turn.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const moneyLists: Migration = {
  name: '0015-money-lists',
  readableBy: '0001-initial',
  async up(db, { whole, id, clusteredTableEnd }) {
    for (const statement of [
      `create table turn_money (
        starts_at ${whole} not null,
        plan ${id} not null,
        product text not null,
        turns ${whole} not null,
        failed ${whole} not null,
        input_tokens ${whole} not null,
        cached_input_tokens ${whole} not null,
        output_tokens ${whole} not null,
        credits ${whole} not null,
        list_price ${whole} not null,
        cost ${whole} not null,
        margin ${whole} not null,
        turns_without_cost ${whole} not null,
        constraint turn_money_key primary key (starts_at, plan, product)
      ) ${clusteredTableEnd}`,
      'delete from turn_search',
      'delete from turn_sum',
      'delete from turn_group',
      'delete from turn_history_block',
      'delete from turn_history_pending',
      'update turn_history set version = version + 1, newest_turn = 0, kept_from = 0, complete_at = null',
      'create index sale_order_paid on sale_order (paid_at, id) where paid_at is not null',
      'create index sale_order_state on sale_order (state, id)',
      `create index order_step_returned on order_step (at, sale_order)
        where kind in ('refunded', 'refunded_at_provider', 'dispute_lost')`,
      'create index redeem_code_open on redeem_code (id) where revoked_at is null and uses < max_uses',
      'create index redeem_code_revoked on redeem_code (id) where revoked_at is not null and uses < max_uses',
      'create index redeem_code_used_up on redeem_code (id) where uses >= max_uses',
      'create index pack_created on pack (created_at, id)',
      'create index pack_expiry on pack (expires_at, id)',
      `create index subscription_terms_state on subscription (terms, state, id) where state <> 'ended'`,
    ])
      await sql.raw(statement).execute(db)
  },
}
