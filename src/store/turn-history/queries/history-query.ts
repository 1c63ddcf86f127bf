/** The reads that may take long: on SQLite each runs in a thread of its own, where its connection has one snapshot. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type {
  AccountCountQuery,
  FailureGroup,
  FailureQuery,
  MoneyQuery,
  StatementPage,
  TurnSummary,
  UsageChart,
  UsageQuery,
} from '../../../domain/turn-history/turn-history.ts'
import type { ReportSlot } from '../../../domain/billing/report.ts'
import type { UsageSteps } from '../../../domain/turn-history/turn-history-store.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import { hasHistoryAccounts } from './count-accounts.ts'
import { listHistoryFailures } from './list-failures.ts'
import type { ListQuery } from './list-turns.ts'
import { listHistoryTurns } from './list-turns.ts'
import { readMoneySums } from '../collector/money-sums.ts'
import type { StatementQuery } from './read-statement.ts'
import { readHistoryStatement } from './read-statement.ts'
import { readHistoryUsage } from './read-usage.ts'

export interface HistoryQueries {
  readonly turns: { readonly query: ListQuery; readonly answer: readonly TurnSummary[] }
  readonly failures: { readonly query: FailureQuery & { readonly limit: number }; readonly answer: readonly FailureGroup[] }
  readonly accounts: { readonly query: AccountCountQuery; readonly answer: boolean }
  readonly usage: { readonly query: { readonly usage: UsageQuery; readonly steps: UsageSteps }; readonly answer: UsageChart }
  readonly money: { readonly query: MoneyQuery; readonly answer: readonly ReportSlot[] }
  /** Null: the account changed meanwhile. */
  readonly statement: { readonly query: StatementQuery; readonly answer: StatementPage | null }
}

export type HistoryQuery = {
  [Kind in keyof HistoryQueries]: { readonly what: Kind; readonly query: HistoryQueries[Kind]['query'] }
}[keyof HistoryQueries]
export type HistoryAnswer = HistoryQueries[keyof HistoryQueries]['answer']

type Source = Pick<Database, 'kind' | 'read' | 'readAccountBalance'>

export async function runHistoryQuery({ kind, read, readAccountBalance }: Source, request: HistoryQuery): Promise<HistoryAnswer> {
  switch (request.what) {
    case 'turns':
      return listHistoryTurns(read, kind, request.query)
    case 'failures':
      return listHistoryFailures(read, request.query, request.query.limit)
    case 'accounts':
      return hasHistoryAccounts(read, request.query)
    case 'usage':
      return readHistoryUsage(read, request.query.usage, request.query.steps)
    case 'money':
      return readMoneySums(read, request.query)
    case 'statement':
      return readHistoryStatement(read, kind, await readAccountBalance(request.query.account), request.query)
  }
}

/** How far the lists have come, without writing. */
export async function readHistoryProgress(read: Kysely<Schema>, kind: Database['kind']) {
  const newer =
    kind === 'sqlite'
      ? sql`select 1 from turn where turn.id > (select newest_turn from turn_history) and state <> 'held'`
      : sql`select 1 from (select * from turn_history_block where is_closed = 0) as b cross join lateral (
          select state from turn where turn.id > b.newest_turn and turn.id < b.end_turn and state <> 'held' limit 1) as t
        union all select 1 from turn_block where last_value + case when is_called then 1 else 0 end
          > (select coalesce(max(end_turn), 1) from turn_history_block)`
  // A cross join, because SQLite keeps its order: a plain one reads all turns, and looks for each among the few that were held.
  const { rows } = await sql<{ readonly complete_at: number | null; readonly pending: number }>`
    select complete_at, case when exists (${newer}) or exists (
      select 1 from turn_history_pending as p cross join turn as t where t.id = p.turn and t.state <> 'held') then 1 else 0 end as pending
    from turn_history`.execute(read)
  const { complete_at: completeAt = null, pending = 1 } = rows[0] ?? {}
  return { completeAt, isPending: pending === 1 }
}
