/** The port of the data behind `TurnHistory`: written in batches after the fact, read by indexes. */
import type { Turn } from '../billing/ledger.ts'
import type { ReportSlot } from '../billing/report.ts'
import type { HistorySlots } from './history-slots.ts'
import type {
  AccountCountQuery,
  FailureGroup,
  FailureQuery,
  MoneyQuery,
  OldestHold,
  StatementPage,
  TurnFilter,
  TurnPosition,
  TurnSummary,
  TurnPart,
  UsageChart,
  UsageQuery,
} from './turn-history.ts'

export interface CollectOrder {
  readonly at: number
  /** Turns that started before are left out. */
  readonly keptFrom: number
  readonly slots: HistorySlots
  /** Turns of one transaction. On SQLite every other write waits for it. */
  readonly limit: number
}

export interface CollectedTurns {
  /** Turns that were added to lists and sums. */
  readonly added: number
  /** Whether another batch is there now. */
  readonly isMore: boolean
}

export interface StoredStory {
  readonly turn: Turn
  readonly held: readonly TurnPart[]
  readonly settled: readonly TurnPart[]
}

/** Where each step of a chart begins, and where the last one ends. */
export interface UsageSteps {
  readonly bounds: readonly number[]
}

export interface TurnHistoryStore {
  /** Adds the turns that have ended since to lists and sums, each once: the position moves in the same transaction. */
  collect(order: CollectOrder): Promise<CollectedTurns>
  /** Deletes what is older than the last `keptFrom`. Returns the number of turns, at most `limit`. */
  prune(limit: number): Promise<number>
  /** When everything that had ended was in the lists; null: never. `isPending`: something has ended since. */
  readProgress(): Promise<{ readonly completeAt: number | null; readonly isPending: boolean }>
  listTurns(filter: TurnFilter, page: { readonly after?: TurnPosition; readonly limit: number }): Promise<readonly TurnSummary[]>
  findTurn(id: number): Promise<StoredStory | undefined>
  /** Of all nodes; undefined where no turn is held. */
  findOldestHold(): Promise<OldestHold | undefined>
  listFailures(query: FailureQuery, limit: number): Promise<readonly FailureGroup[]>
  hasAccounts(query: AccountCountQuery): Promise<boolean>
  readUsage(query: UsageQuery, steps: UsageSteps): Promise<UsageChart>
  /** Quarters of an hour where the query is by day, oldest first. */
  readMoney(query: MoneyQuery): Promise<readonly ReportSlot[]>
  /** Null while the account changes during each read. */
  readStatement(account: string, page: { readonly before?: number; readonly limit: number }): Promise<StatementPage | null>
}
