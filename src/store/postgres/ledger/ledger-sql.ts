/**
 * The ledger's statements for PostgreSQL. Each works on many rows, given as arrays of columns, and is prepared once per
 * connection by its name.
 */
import { purchasedPackPrefix } from '../../../domain/billing/orders/order.ts'
import { bucketValueColumns } from '../../ledger/account-balance.ts'
import { bucketFields } from '../../schema/schema.ts'
import {
  outcomeColumns,
  settlementColumns,
  chainColumns,
  annotationColumns,
  reportedColumns,
  holdColumns,
} from '../../ledger/turn-columns.ts'
import { addToUsageSum, usageSlotMs, usageSumColumns } from '../../ledger/usage-sum.ts'
import type { SqlValue } from './array-literal.ts'
import { toArrayLiteral, toColumnLiteral } from './array-literal.ts'

/** A statement with its parameters, as the driver expects it. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

type TurnColumn =
  | 'id'
  | 'owner_process'
  | 'lease_until'
  | (typeof holdColumns)[number]
  | (typeof reportedColumns)[number]
  | (typeof outcomeColumns)[number]
  | (typeof chainColumns)[number]
  | (typeof annotationColumns)[number]

const texts: ReadonlySet<TurnColumn> = new Set<TurnColumn>([
  'request_id',
  'account',
  'model',
  'pool',
  'idempotency_key',
  'body_hash',
  'api_format',
  'requested_model',
  'credential',
  'reserved_packs',
  'code',
  'target',
  'plan',
  'upstream_model',
  'upstream_response_id',
  'state',
  'window_debts',
  'settled_packs',
  'attempts',
])

function getColumnType(column: TurnColumn): string {
  if (column === 'hash') return 'bytea'
  return texts.has(column) ? 'text' : 'bigint'
}

/** Types of columns, in their order. */
type ColumnTypes = Readonly<Record<string, string>>

/** `unnest($1::bigint[], …) as alias(…)` for these columns, after `before` earlier parameters. */
function toUnnest(columns: ColumnTypes, as: string, before = 0): string {
  const arrays = Object.values(columns).map((kind, index) => `$${before + index + 1}::${kind}[]`)
  return `unnest(${arrays.join(', ')}) as ${as}(${quoteNames(columns)})`
}

function quoteNames(columns: ColumnTypes): string {
  return Object.keys(columns)
    .map((name) => `"${name}"`)
    .join(', ')
}

function getColumnTypes(columns: readonly TurnColumn[]): ColumnTypes {
  return Object.fromEntries(columns.map((column) => [column, getColumnType(column)]))
}

/** Transposes rows to columns. */
function toColumns(rows: readonly (readonly SqlValue[])[], width: number): string[] {
  return Array.from({ length: width }, (_, index) => toColumnLiteral(rows, index))
}

function defineStatement(name: string, text: string, width: number): (rows: readonly (readonly SqlValue[])[]) => Statement {
  return (rows) => ({ name, text, values: toColumns(rows, width) })
}

/** Condition: as many rows matched as the parameter has elements. */
const allMatched = (changed: string, parameter = 1) => `(select count(*) from ${changed}) = cardinality($${parameter})`

/** Fails by a division by zero unless all conditions hold, so that nothing of the batch is committed. */
const failUnless = (...met: readonly string[]) => `select 1 / (case when ${met.join(' and ')} then 1 else 0 end) as done`

const heldColumns = ['id', 'owner_process', 'lease_until', ...holdColumns, 'hash'] as const
const endedRowColumns = ['id', 'account', ...reportedColumns, ...outcomeColumns, ...chainColumns] as const
const annotatedRowColumns = ['id', 'account', ...annotationColumns] as const
const bucketColumns: ColumnTypes = {
  account: 'text',
  pool: 'text',
  window: 'text',
  ...Object.fromEntries(bucketFields.map((name) => [name, 'bigint'])),
}
const entryColumns = { account: 'text', seq: 'bigint', kind: 'text', at: 'bigint', detail: 'text', hash: 'bytea' }
const newPackColumns = {
  id: 'text',
  account: 'text',
  kind: 'text',
  pool: 'text',
  granted: 'bigint',
  expires_at: 'bigint',
  created_at: 'bigint',
}

/**
 * Locks the balances of these accounts in the order of their ids, each with its cached version. Nothing else may be read in this
 * statement: after waiting for a lock, the locked rows are newer than the statement's snapshot. Null columns: the cached version
 * is current.
 */
export const lockBalances = defineStatement(
  'lock_balances',
  `select p.account, p.version, p.open_holds as running,
    case when p.version = a.version then null else p.seq end as seq,
    case when p.version = a.version then null else p.hash end as hash,
    case when p.version = a.version then null else p.pack_count end as packs,
    case when p.version = a.version then null else array[${bucketValueColumns.map((name) => `p.${name}`).join(', ')}]::text end as cells
  from ${toUnnest({ account: 'text', version: 'bigint' }, 'a')} join balance p using (account)
  order by p.account for update of p`,
  2,
)

const balanceColumns = {
  account: 'text',
  version: 'bigint',
  running: 'bigint',
  seq: 'bigint',
  hash: 'bytea',
  packs: 'bigint',
  // One text for each balance, because arrays of arrays lose their shape.
  cells: 'text',
}
const balanceWidth = Object.keys(balanceColumns).length
const endingColumnNames = [...reportedColumns, ...outcomeColumns, ...chainColumns]

/** Rows in the order of their columns. */
export interface TurnRows {
  /** Balances, each with the version that it replaces. */
  readonly balances: readonly (readonly SqlValue[])[]
  readonly held: readonly (readonly SqlValue[])[]
  readonly ended: readonly (readonly SqlValue[])[]
}

/**
 * Writes all that turns change in one statement of the parts that are needed; it may be a transaction by itself. Fails, and
 * changes nothing, if another node has written a balance meanwhile, or a turn is no longer held.
 */
export function writeTurns({ balances, held, ended }: TurnRows): Statement {
  const { name, text } = selectWriteStatement(held.length > 0, ended.length > 0)
  const values = toColumns(balances, balanceWidth)
  if (held.length > 0) values.push(...toColumns(held, heldColumns.length))
  if (ended.length > 0) values.push(...toColumns(ended, endedRowColumns.length))
  return { name, text, values }
}

function selectWriteStatement(isHeld: boolean, isEnded: boolean): (typeof writes)[keyof typeof writes] {
  if (isHeld) return isEnded ? writes.both : writes.held
  return isEnded ? writes.ended : writes.none
}

const writes = {
  none: { name: 'write_turns', text: buildWriteText(false, false) },
  held: { name: 'write_turns_held', text: buildWriteText(true, false) },
  ended: { name: 'write_turns_ended', text: buildWriteText(false, true) },
  both: { name: 'write_turns_held_ended', text: buildWriteText(true, true) },
}

/** No turn is touched before all balances are locked. All transactions lock in that order, which prevents deadlocks. */
function buildWriteText(isHeld: boolean, isEnded: boolean): string {
  const heldOffset = balanceWidth
  const endedOffset = heldOffset + (isHeld ? heldColumns.length : 0)
  const figures = bucketValueColumns.map((name, index) => `${name} = n.figures[${index + 1}]`)
  const parts = [
    `won as (
      update balance set version = balance.version + 1, open_holds = n.running, seq = n.seq, hash = n.hash, pack_count = n.packs, ${figures.join(', ')}
      -- Not for each figure anew.
      from (select *, cells::bigint[] as figures from ${toUnnest(balanceColumns, 'u')} offset 0) as n
      where balance.account = n.account and balance.version = n.version returning 1)`,
  ]
  if (isHeld)
    parts.push(`held as (
      insert into turn (${heldColumns.join(', ')}, state, credits, debt, input_tokens, cached_input_tokens, output_tokens, estimated, seq)
      select ${heldColumns.map((name) => `t.${name}`).join(', ')}, 'held', 0, 0, 0, 0, 0, 0, 0
      from ${toUnnest(getColumnTypes(heldColumns), 't', heldOffset)} where ${allMatched('won')})`)
  // `ended_at` is a column that no index of open holds covers: with such an index the planner would scan all of them for each
  // turn.
  if (isEnded)
    parts.push(`ended as (
      update turn set ${endingColumnNames.map((name) => `${name} = e.${name}`).join(', ')} from ${toUnnest(getColumnTypes(endedRowColumns), 'e', endedOffset)}
      where turn.account = e.account and turn.id = e.id and turn.ended_at is null and ${allMatched('won')}
      returning turn.account, turn.state, turn.credits, turn.started_at, turn.pool, turn.model, turn.credential, turn.api_format,
        turn.input_tokens, turn.cached_input_tokens, turn.output_tokens),
    summed as (
      insert into usage_sum (${usageSumColumns.join(', ')})
      select account, started_at - started_at % ${usageSlotMs}, pool, model, credential, api_format,
        count(*) filter (where state = 'settled'), count(*) filter (where state <> 'settled'),
        sum(credits)::bigint, sum(input_tokens)::bigint, sum(cached_input_tokens)::bigint, sum(output_tokens)::bigint
      from ended group by 1, 2, 3, 4, 5, 6
      ${addToUsageSum}),
    -- An invited account's first charged turn. As a trigger it costs more than all else about a turn.
    due as (
      update invite set state = 'due' from ended
      where ended.state = 'settled' and ended.credits > 0 and invite.invited = ended.account and invite.state = 'pending')`)
  const conditions = isEnded ? [allMatched('won'), allMatched('ended', endedOffset + 1)] : [allMatched('won')]
  return `with ${parts.join(', ')} ${failUnless(...conditions)}`
}

export const annotateTurns = defineStatement(
  'note_turns',
  `update turn set ${annotationColumns.map((name) => `${name} = e.${name}`).join(', ')} from ${toUnnest(getColumnTypes(annotatedRowColumns), 'e')}
  where turn.account = e.account and turn.id = e.id`,
  annotatedRowColumns.length,
)

export const insertEntries = defineStatement(
  'insert_entries',
  `insert into entry (account, seq, kind, at, detail, hash) select * from ${toUnnest(entryColumns, 'e')}`,
  6,
)

/** Events of notifications, if a receiver wants them. */
export const insertPoolLevels = defineStatement(
  'insert_pool_levels',
  `insert into notification_event (message_id, kind, phase, account, detail, at, is_dispatched)
  select replace(gen_random_uuid()::text, '-', ''), 'pool_level', 'once', l.account, l.detail, l.at, 0
  from ${toUnnest({ account: 'text', detail: 'text', at: 'bigint' }, 'l')}
  where exists (select from notification_receiver where wants_member_events = 1)`,
  3,
)

/** Inserts or updates archived buckets. */
export const archiveBuckets = defineStatement(
  'put_away',
  `insert into bucket (${quoteNames(bucketColumns)}) select * from ${toUnnest(bucketColumns, 'b')}
  on conflict (account, id) do update set reserved = excluded.reserved, settled = excluded.settled, debt = excluded.debt`,
  Object.keys(bucketColumns).length,
)

export const deleteBuckets = defineStatement(
  'take_out',
  `delete from bucket using ${toUnnest({ account: 'text', id: 'bigint' }, 'b')} where bucket.account = b.account and bucket.id = b.id`,
  2,
)

export const insertPacks = defineStatement(
  'insert_packs',
  `insert into pack (id, account, kind, pool, granted, reserved, settled, expires_at, created_at)
  select id, account, kind, pool, granted, 0, 0, expires_at, created_at from ${toUnnest(newPackColumns, 'p')}`,
  7,
)

export const applyPackDeltas = defineStatement(
  'move_packs',
  `with moved as (
    update pack set reserved = pack.reserved + p.reserved, settled = pack.settled + p.settled from ${toUnnest({ id: 'text', reserved: 'bigint', settled: 'bigint' }, 'p')}
    where pack.id = p.id returning 1)
  ${failUnless(allMatched('moved'))}`,
  3,
)

/** The turns with these ids, of these accounts. */
export const readTurns = defineStatement(
  'read_turns',
  `select ${settlementColumns.map((name) => `turn.${name}`).join(', ')}, turn.reserved, turn.owner_process as owner, turn.ended_at from turn
  join ${toUnnest({ account: 'text', id: 'bigint' }, 'a')} using (account, id)`,
  2,
)

export const readIdempotencyKeys = defineStatement(
  'read_keys',
  `select turn.account, turn.idempotency_key, turn.state, turn.body_hash, turn.request_id, turn.code, turn.credits from turn
  join ${toUnnest({ account: 'text', idempotency_key: 'text' }, 'a')} using (account, idempotency_key)
  where turn.idempotency_key is not null and turn.state in ('held', 'settled')`,
  2,
)

export const readBuckets = defineStatement(
  'read_buckets',
  `select account, pool, "window", ${bucketFields.join(', ')} from bucket where account = any($1::text[])`,
  1,
)

const packRow = 'id, account, kind, pool, granted, reserved, settled, expires_at, created_at'

/** Packs with something left, and the named ones. */
const isPaused = `(id >= '${purchasedPackPrefix}' and id < '${purchasedPackPrefix}~'
  and exists (select 1 from account where account.id = pack.account and account.spends_packs = 0))`

export const readPacks: (accounts: readonly string[], ids: readonly string[]) => Statement = (accounts, named) => ({
  name: 'read_packs',
  // The switch of a member is read with the packs, so that turns of the plan cost nothing more.
  text: `select ${packRow}, ${isPaused} as paused from pack where account = any($1::text[]) and settled < granted
    union select ${packRow}, ${isPaused} as paused from pack where id = any($2::text[]) and account = any($1::text[])`,
  values: [toArrayLiteral(accounts), toArrayLiteral(named)],
})

/** Accounts of holds that this thread does not know. */
export const findHoldAccounts = defineStatement('accounts_of', 'select id, account from turn where id = any($1::bigint[])', 1)

/** Holds of one node: all, or those whose lease has ended by its own clock. */
export const findNodeHolds = (owner: number, leaseUntil = Number.MAX_SAFE_INTEGER): Statement => ({
  name: 'holds_of',
  text: `select account, id from turn where state = 'held' and owner_process = $1 and lease_until <= $2`,
  // A monotonic clock has fractions of milliseconds.
  values: [owner, Math.floor(leaseUntil)],
})
