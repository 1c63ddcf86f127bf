/** A turn as the collector reads it, and what of it is stored. */
import { sql } from 'kysely'
import type { TurnState, UsageSource } from '../../../domain/billing/ledger.ts'
import type { TurnEnding } from '../../../domain/turn-history/turn-history.ts'

/** Columns of `turn`. */
export const collectedColumns = [
  'id',
  'owner_process',
  'request_id',
  'account',
  'credential',
  'model',
  'target',
  'state',
  'code',
  'seq',
  'started_at',
  'ended_at',
  'credits',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'upstream_cost_nanodollars',
  'first_token_ms',
  'plan',
  'price_input',
  'price_cached_input',
  'price_output',
] as const

export interface CollectedTurn {
  readonly id: number
  readonly owner_process: number
  readonly request_id: string
  readonly account: string
  readonly credential: UsageSource
  readonly model: string
  readonly target: string | null
  readonly state: TurnState
  readonly code: string | null
  readonly seq: number
  readonly started_at: number
  readonly ended_at: number | null
  readonly credits: number
  readonly input_tokens: number
  readonly cached_input_tokens: number
  readonly output_tokens: number
  readonly upstream_cost_nanodollars: number | null
  readonly first_token_ms: number | null
  /** Null: of release 0.1. */
  readonly plan: string | null
  readonly price_input: number
  readonly price_cached_input: number | null
  readonly price_output: number
}

export type EndedTurn = CollectedTurn & { readonly plan: string }

export const selectCollected = sql.raw(collectedColumns.map((name) => `t.${name}`).join(', '))

/** `completed`, `aborted`, `expired`, or the code of the failure. */
export function toEnding({ state, code }: { readonly state: TurnState; readonly code: string | null }): TurnEnding {
  if (code !== null) return code
  return state === 'settled' ? 'completed' : state
}
