/**
 * What operators see of turns: how a turn went, an index of ended turns beside the ledger, and sums by hour and day. A background job fills
 * them, beginning with the oldest turns. Rows of before are not rewritten.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const turnHistory: Migration = {
  name: '0011-turn-history',
  readableBy: '0001-initial',
  async up(db, { whole, id, tableEnd, clusteredTableEnd }) {
    for (const statement of [
      `alter table turn add column first_token_ms ${whole}`,
      'alter table turn add column attempts text',
      `create table turn_history (
        version ${whole} not null,
        newest_turn ${whole} not null,
        kept_from ${whole} not null,
        complete_at ${whole}
      ) ${tableEnd}`,
      'insert into turn_history (version, newest_turn, kept_from) values (0, 0, 0)',
      `create table turn_history_block (
        first_turn ${whole} not null primary key,
        end_turn ${whole} not null,
        newest_turn ${whole} not null,
        owner ${whole} not null,
        changed_at ${whole} not null,
        is_closed ${whole} not null
      ) ${tableEnd}`,
      `create table turn_history_pending (turn ${whole} not null primary key) ${tableEnd}`,
      `create table turn_group (
        id ${whole} not null primary key,
        product text not null,
        target text not null,
        ending text not null,
        constraint turn_group_once unique (product, target, ending)
      ) ${tableEnd}`,
      `create table turn_search (
        id ${whole} not null primary key,
        account ${id} not null,
        seq ${whole} not null,
        started_at ${whole} not null,
        group_id ${whole} not null,
        credential text not null,
        request_id text not null
      ) ${tableEnd}`,
      'create index turn_search_started on turn_search (started_at, id)',
      // With the group, because a member's failures are counted, and found, among all of their turns.
      'create index turn_search_account on turn_search (account, started_at, id, group_id)',
      // Read alone where failures are counted by account.
      'create index turn_search_group on turn_search (group_id, started_at, id, account)',
      'create index turn_search_request on turn_search (request_id)',
      `create table turn_sum (
        account ${id} not null,
        span text not null check (span in ('hour', 'day')),
        starts_at ${whole} not null,
        group_id ${whole} not null,
        credential text not null,
        turns ${whole} not null,
        credits ${whole} not null,
        input_tokens ${whole} not null,
        cached_input_tokens ${whole} not null,
        output_tokens ${whole} not null,
        cost_nanodollars ${whole} not null,
        duration text not null,
        first_token text not null,
        constraint turn_sum_key primary key (account, span, starts_at, group_id, credential)
      ) ${clusteredTableEnd}`,
    ])
      await sql.raw(statement).execute(db)
  },
}
