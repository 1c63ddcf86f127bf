/** What the collector has not seen yet. */
import type { TurnHistoryBlockTable } from '../../schema/history-schema.ts'
import type { CollectedTurn } from './ended-turn.ts'

export interface NewTurns {
  /** Seen for the first time, or held when they were seen before. Those that are still held are in it too. */
  readonly turns: readonly CollectedTurn[]
  /** Which of them, and which turns that are gone, were held when they were seen. */
  readonly wasPending: readonly number[]
  /** SQLite's position; unchanged elsewhere. */
  readonly newestTurn: number
  /** Rows of `turn_history_block` to write. */
  readonly blocks: readonly TurnHistoryBlockTable[]
  /** Whether a further search would find more now. */
  readonly isMore: boolean
}
