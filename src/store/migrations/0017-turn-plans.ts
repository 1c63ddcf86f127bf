/** Lists of turns find them by plan too. The job that fills lists and sums begins anew, because a turn's group has its plan. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const turnPlans: Migration = {
  name: '0017-turn-plans',
  readableBy: '0001-initial',
  async up(db, { whole, tableEnd }) {
    for (const statement of [
      'drop table turn_group',
      `create table turn_group (
        id ${whole} not null primary key,
        product text not null,
        target text not null,
        ending text not null,
        plan text not null,
        constraint turn_group_once unique (product, target, ending, plan)
      ) ${tableEnd}`,
      'delete from turn_search',
      'delete from turn_sum',
      'delete from turn_money',
      'delete from turn_history_block',
      'delete from turn_history_pending',
      'update turn_history set version = version + 1, newest_turn = 0, kept_from = 0, complete_at = null',
    ])
      await sql.raw(statement).execute(db)
  },
}
