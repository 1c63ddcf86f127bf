/**
 * The columns of a turn's row, grouped by the step that sets them. Statements and hashes are built from these lists, so a column that is
 * missing somewhere is a type error and not a turn that cannot be verified. The order of the hashed columns never changes.
 */
import type { Selectable } from 'kysely'
import type { TurnTable } from '../schema/schema.ts'

type Row = Selectable<TurnTable>
type Column = keyof Row

/** Set by the request for a hold. */
export const requestColumns = [
  'request_id',
  'account',
  'model',
  'pool',
  'started_at',
  'price_input',
  'price_cached_input',
  'price_output',
  'discount_percent',
  'idempotency_key',
  'body_hash',
  'api_format',
  'requested_model',
  'credential',
] as const satisfies readonly Column[]

/** Set by the ledger when it reserves credits. */
const reservationColumns = [
  'reserved',
  'reserved_plan',
  'reserved_packs',
  'day_bucket',
  'week_bucket',
  'month_bucket',
] as const satisfies readonly Column[]

/** A held turn; final, and covered by the hold's hash. */
export const holdColumns = [...requestColumns, ...reservationColumns] as const

/** The hold's owner and the link to the account's previous turn. Not part of the bill, and covered by no hash. */
export const leaseColumns = ['previous_turn', 'owner_process', 'lease_until'] as const satisfies readonly Column[]

/** Reported by the ending; zeros where nothing was used. */
export const firstUsageColumns = [
  'ended_at',
  'credits',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'estimated',
  'code',
  'target',
  'upstream_status',
] as const satisfies readonly Column[]

/** Reported by the ending too, and covered by hashes of version 2 and later. */
export const addedUsageColumns = [
  'plan',
  'upstream_model',
  'upstream_response_id',
  'upstream_cost_nanodollars',
] as const satisfies readonly Column[]

export const usageColumns = [...firstUsageColumns, ...addedUsageColumns] as const

/** How the turn went, reported by the ending too. Not part of the bill, and covered by no hash. */
export const traceColumns = ['first_token_ms', 'attempts'] as const satisfies readonly Column[]

/** Everything that the ending reports. */
export const reportedColumns = [...usageColumns, ...traceColumns] as const

/** Recorded beside the bill; covered by no hash. */
export const annotationColumns = ['disputed_input', 'disputed_output'] as const satisfies readonly Column[]

/** The usage of a refunded turn. */
export const zeroUsage = {
  credits: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  estimated: 0,
  target: null,
  upstream_status: null,
  plan: null,
  upstream_model: null,
  upstream_response_id: null,
  upstream_cost_nanodollars: null,
  first_token_ms: null,
  attempts: null,
} as const

/** Set by the ledger when the turn ends. */
export const outcomeColumns = ['state', 'debt', 'window_debts', 'settled_packs'] as const satisfies readonly Column[]

/** The position in the account's hash chain, and how its link is hashed. */
export const chainColumns = ['seq', 'hash_version', 'hash'] as const satisfies readonly Column[]

/** Read to end a turn, or to report that it has ended. */
export const settlementColumns = [
  'id',
  'account',
  'pool',
  'state',
  'reserved_plan',
  'reserved_packs',
  'day_bucket',
  'week_bucket',
  'month_bucket',
  'credits',
  'debt',
  'hash',
] as const satisfies readonly Column[]

/** Read by verification. */
export const verifiedColumns = ['id', ...holdColumns, ...usageColumns, ...outcomeColumns, ...chainColumns] as const

type Columns<List extends readonly Column[]> = Pick<Row, List[number]>

export type TurnRequest = Columns<typeof requestColumns>
export type HoldRow = Columns<typeof holdColumns>
export type TurnUsage = Columns<typeof reportedColumns>
export type TurnAnnotation = Columns<typeof annotationColumns>
type TurnOutcome = Columns<typeof outcomeColumns>
/** Everything that an ending sets, except for the chain position. */
export type TurnEnding = TurnUsage & TurnOutcome
/** The part of an ending that its link's hash covers. */
export type HashedEnding = Columns<typeof usageColumns> & TurnOutcome
export type ChainPosition = Columns<typeof chainColumns>
export type SettlementTurn = Columns<typeof settlementColumns>
export type VerifiedTurn = Columns<typeof verifiedColumns>

type TurnColumnsWithoutHash = (typeof leaseColumns)[number] | (typeof annotationColumns)[number] | (typeof traceColumns)[number]

// A type error here names a column that is in none of the lists.
void ({} satisfies Record<Exclude<Column, (typeof verifiedColumns)[number] | TurnColumnsWithoutHash>, never>)

/** The values of some columns, in their order. */
export type ColumnValues<Columns extends readonly Column[]> = { readonly [Index in keyof Columns]: Row[Columns[Index]] }

export function pickValues<const Columns extends readonly Column[]>(
  columns: Columns,
  row: Pick<Row, Columns[number]>,
): ColumnValues<Columns> {
  return columns.map((column: Columns[number]) => row[column]) as unknown as ColumnValues<Columns>
}

/** The reverse of `pickValues`. */
export function toRow<const Columns extends readonly Column[]>(
  columns: Columns,
  values: ColumnValues<Columns>,
): Pick<Row, Columns[number]> {
  const row: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index++) row[columns[index] as Column] = values[index]
  return row as Pick<Row, Columns[number]>
}
