/** Data about ended turns that a background job writes behind the ledger, for operators. */
import type { Generated } from 'kysely'

export interface HistorySchema {
  readonly turn_history: TurnHistoryTable
  readonly turn_history_block: TurnHistoryBlockTable
  readonly turn_history_pending: TurnHistoryPendingTable
  readonly turn_group: TurnGroupTable
  readonly turn_search: TurnSearchTable
  readonly turn_sum: TurnSumTable
  readonly turn_money: TurnMoneyTable
}

/** How far the job has come. One row, which each of its transactions changes, so that no turn is counted twice. */
interface TurnHistoryTable {
  version: number
  /** On SQLite: the newest turn that was seen, because ids are given in order. */
  newest_turn: number
  /** Before this instant nothing is kept. */
  kept_from: number
  /** When everything that had ended then was written. */
  complete_at: number | null
}

/** On PostgreSQL: a block of ids that a node takes, and how far its turns were seen. */
export interface TurnHistoryBlockTable {
  first_turn: number
  end_turn: number
  newest_turn: number
  /** The process that holds the newest turn of the block; 0: there is none yet. */
  owner: number
  /** When a turn of it was seen last. */
  changed_at: number
  /** 1: no turn can come any more. */
  is_closed: number
}

/** Turns that were held when they were seen. */
interface TurnHistoryPendingTable {
  turn: number
}

/** What many turns have in common. There are few of them: products, their targets, endings, and plans. */
export interface TurnGroupTable {
  id: number
  product: string
  /** Empty: no upstream was called. */
  target: string
  ending: string
  /** As in `turn_money`; empty: of all plans, for the sums of all accounts. */
  plan: string
}

/** Finds ended turns; the rest of a turn is in its row of `turn`. */
export interface TurnSearchTable {
  id: number
  account: string
  /** The position in the account's chain. */
  seq: number
  started_at: number
  group_id: number
  credential: string
  request_id: string
}

/** Sums of the turns that started in one hour or day of the operator's time zone. */
export interface TurnSumTable {
  /** Empty: of all accounts, and then `credential` is empty too. */
  account: string
  span: 'hour' | 'day'
  starts_at: number
  group_id: number
  credential: string
  turns: Generated<number>
  credits: Generated<number>
  input_tokens: Generated<number>
  cached_input_tokens: Generated<number>
  output_tokens: Generated<number>
  cost_nanodollars: Generated<number>
  /** Texts of `LatencyHistogram`. */
  duration: string
  first_token: string
}

/** Sums of the turns that started in one quarter of an hour, as a report has them. Money is nano-dollars. */
export interface TurnMoneyTable {
  starts_at: number
  /** The account's plan when the turn ended. */
  plan: string
  product: string
  turns: number
  failed: number
  input_tokens: number
  cached_input_tokens: number
  output_tokens: number
  credits: number
  list_price: number
  cost: number
  margin: number
  turns_without_cost: number
}
