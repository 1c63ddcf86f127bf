/**
 * The columns of a turn's row, by who knows them when. Operations carry them in these orders, statements and hashes are made of these
 * lists: a column that is left out somewhere is an error of types, not a turn that cannot be proven.
 */
import type { Selectable } from 'kysely'
import type { TurnTable } from './schema.ts'

type Row = Selectable<TurnTable>
type Column = keyof Row

/** What whoever asks for a hold says. */
export const askedColumns = [
  'request_id',
  'account',
  'model',
  'pool',
  'started_at',
  'price_input',
  'price_output',
  'discount_percent',
  'idempotency_key',
  'body_hash',
] as const satisfies readonly Column[]

/** What the ledger gave. */
export const givenColumns = [
  'reserved',
  'reserved_plan',
  'reserved_packs',
  'day_bucket',
  'week_bucket',
  'month_bucket',
] as const satisfies readonly Column[]

/** What a turn is while it is held; final. */
export const sealedColumns = [...askedColumns, ...givenColumns] as const

/** Whose turn it is to end it, and the way to the account's turn before. They say nothing of a bill, and no hash covers them. */
export const leaseColumns = ['previous', 'owner', 'until'] as const satisfies readonly Column[]

/** What whoever ends it says; zeros where nothing was used. */
export const reportedColumns = [
  'ended_at',
  'credits',
  'input_tokens',
  'output_tokens',
  'estimated',
  'code',
  'target',
  'upstream_status',
] as const satisfies readonly Column[]

/** What is noted beside a turn's bill and is no part of it; no hash covers them. */
export const notedColumns = ['contradicted_input', 'contradicted_output'] as const satisfies readonly Column[]

/** What a turn that was given back reports. */
export const nothingUsed = {
  credits: 0,
  input_tokens: 0,
  output_tokens: 0,
  estimated: 0,
  target: null,
  upstream_status: null,
} as const

/** What its ending came to. */
export const endedColumns = ['state', 'debt', 'window_debts', 'settled_packs'] as const satisfies readonly Column[]

/** Its place in the account's chain. */
export const linkColumns = ['seq', 'hash'] as const satisfies readonly Column[]

/** What ending a turn, or answering that it has ended, needs to know of it. */
export const endingColumns = [
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

/** What verifying reads. */
export const provenColumns = ['id', ...sealedColumns, ...reportedColumns, ...endedColumns, ...linkColumns] as const

export type HeldTurn = Pick<Row, (typeof sealedColumns)[number]>
export type EndingTurn = Pick<Row, (typeof endingColumns)[number]>
export type EndedTurn = Pick<Row, (typeof provenColumns)[number]>

// Names the column that a new one was not put into any list for.
void ({} satisfies Record<
  Exclude<Column, (typeof provenColumns)[number] | (typeof leaseColumns)[number] | (typeof notedColumns)[number]>,
  never
>)

/** The types of some columns, in their order. */
type ValuesOf<Columns extends readonly Column[]> = { readonly [Index in keyof Columns]: Row[Columns[Index]] }

export type AskedValues = ValuesOf<typeof askedColumns>
export type GivenValues = ValuesOf<typeof givenColumns>
export type SealedValues = ValuesOf<typeof sealedColumns>
export type LeaseValues = ValuesOf<typeof leaseColumns>
export type ReportedValues = ValuesOf<typeof reportedColumns>
export type NotedValues = ValuesOf<typeof notedColumns>
export type EndedValues = ValuesOf<typeof endedColumns>
export type LinkValues = ValuesOf<typeof linkColumns>

/** A row's values in the order of the columns. */
export function valuesOf<const Columns extends readonly Column[]>(
  columns: Columns,
  row: Pick<Row, Columns[number]>,
): ValuesOf<Columns> {
  return columns.map((column: Columns[number]) => row[column]) as unknown as ValuesOf<Columns>
}
