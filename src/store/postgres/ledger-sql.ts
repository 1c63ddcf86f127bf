/**
 * The ledger's statements in PostgreSQL's words. Each works on many rows at once, given as arrays of its columns, and is prepared once a
 * connection by its name.
 */
import { cellColumns } from '../purse.ts'
import { bucketFields } from '../schema.ts'
import { endedColumns, endingColumns, linkColumns, notedColumns, reportedColumns, sealedColumns } from '../turn-columns.ts'
import type { Value } from './arrays.ts'
import { arrayOf, columnOf } from './arrays.ts'

/** A statement with its parameters, as the driver takes it. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

type TurnColumn =
  | 'id'
  | 'owner'
  | 'until'
  | (typeof sealedColumns)[number]
  | (typeof reportedColumns)[number]
  | (typeof endedColumns)[number]
  | (typeof linkColumns)[number]
  | (typeof notedColumns)[number]

const texts: ReadonlySet<TurnColumn> = new Set<TurnColumn>([
  'request_id',
  'account',
  'model',
  'pool',
  'idempotency_key',
  'body_hash',
  'reserved_packs',
  'code',
  'target',
  'state',
  'window_debts',
  'settled_packs',
])

function kindOf(column: TurnColumn): string {
  if (column === 'hash') return 'bytea'
  return texts.has(column) ? 'text' : 'bigint'
}

/** The kind of each column, in their order. */
type Kinds = Readonly<Record<string, string>>

/** `$1::bigint[], …` for these columns, of which so many have gone before, and a name for what comes of them. */
function rowsOf(columns: Kinds, as: string, before = 0): string {
  const arrays = Object.values(columns).map((kind, index) => `$${before + index + 1}::${kind}[]`)
  return `unnest(${arrays.join(', ')}) as ${as}(${namesOf(columns)})`
}

function namesOf(columns: Kinds): string {
  return Object.keys(columns)
    .map((name) => `"${name}"`)
    .join(', ')
}

function kinds(columns: readonly TurnColumn[]): Kinds {
  return Object.fromEntries(columns.map((column) => [column, kindOf(column)]))
}

/** The same rows as columns. */
function columnsOf(rows: readonly (readonly Value[])[], width: number): string[] {
  return Array.from({ length: width }, (_, index) => columnOf(rows, index))
}

function of(name: string, text: string, width: number): (rows: readonly (readonly Value[])[]) => Statement {
  return (rows) => ({ name, text, values: columnsOf(rows, width) })
}

/** Whether as many rows were met as this parameter has. */
const allOf = (changed: string, parameter = 1) => `(select count(*) from ${changed}) = cardinality($${parameter})`

/** Fails where that is not so: then nothing of the batch may be committed. */
const unless = (...met: readonly string[]) => `select 1 / (case when ${met.join(' and ')} then 1 else 0 end) as done`

const heldRow = ['id', 'owner', 'until', ...sealedColumns, 'hash'] as const
const endedRow = ['id', 'account', ...reportedColumns, ...endedColumns, ...linkColumns] as const
const notedRow = ['id', 'account', ...notedColumns] as const
const bucketRow: Kinds = {
  account: 'text',
  pool: 'text',
  window: 'text',
  ...Object.fromEntries(bucketFields.map((name) => [name, 'bigint'])),
}
const entryRow = { account: 'text', seq: 'bigint', kind: 'text', at: 'bigint', detail: 'text', hash: 'bytea' }
const newPackRow = {
  id: 'text',
  account: 'text',
  kind: 'text',
  pool: 'text',
  granted: 'bigint',
  expires_at: 'bigint',
  created_at: 'bigint',
}

/**
 * The purses of these accounts, each with the version that is remembered of it, locked in the order of their accounts. Nothing else may be
 * read in this statement: what it waited for is newer than what it sees elsewhere. Null figures: what is remembered is right.
 */
export const lockPurses = of(
  'lock_purses',
  `select p.account, p.version, p.running,
    case when p.version = a.version then null else p.seq end as seq,
    case when p.version = a.version then null else p.hash end as hash,
    case when p.version = a.version then null else p.packs end as packs,
    case when p.version = a.version then null else array[${cellColumns.map((name) => `p.${name}`).join(', ')}]::text end as cells
  from ${rowsOf({ account: 'text', version: 'bigint' }, 'a')} join purse p using (account)
  order by p.account for update of p`,
  2,
)

const purseRow = {
  account: 'text',
  version: 'bigint',
  running: 'bigint',
  seq: 'bigint',
  hash: 'bytea',
  packs: 'bigint',
  // As one text a purse, because arrays of arrays lose their shape.
  cells: 'text',
}
const purseWidth = Object.keys(purseRow).length
const reported = [...reportedColumns, ...endedColumns, ...linkColumns]

/** Rows in the order of the columns of each. */
export interface TurnRows {
  /** Of the accounts, each with the version that it is written upon. */
  readonly purses: readonly (readonly Value[])[]
  readonly held: readonly (readonly Value[])[]
  readonly ended: readonly (readonly Value[])[]
}

/**
 * All that turns change, in one statement with the parts that there are: it may be a transaction by itself. Fails, and changes nothing, where
 * a purse was written by another since, or a turn is not held any more.
 */
export function writeTurns({ purses, held, ended }: TurnRows): Statement {
  const { name, text } = writeOf(held.length > 0, ended.length > 0)
  const values = columnsOf(purses, purseWidth)
  if (held.length > 0) values.push(...columnsOf(held, heldRow.length))
  if (ended.length > 0) values.push(...columnsOf(ended, endedRow.length))
  return { name, text, values }
}

function writeOf(isHeld: boolean, isEnded: boolean): (typeof writes)[keyof typeof writes] {
  if (isHeld) return isEnded ? writes.both : writes.held
  return isEnded ? writes.ended : writes.none
}

const writes = {
  none: { name: 'write_turns', text: writeText(false, false) },
  held: { name: 'write_turns_held', text: writeText(true, false) },
  ended: { name: 'write_turns_ended', text: writeText(false, true) },
  both: { name: 'write_turns_held_ended', text: writeText(true, true) },
}

/** No turn is touched before all purses are locked: others lock in that order too, so nobody waits in a circle. */
function writeText(isHeld: boolean, isEnded: boolean): string {
  const heldFrom = purseWidth
  const endedFrom = heldFrom + (isHeld ? heldRow.length : 0)
  const figures = cellColumns.map((name, index) => `${name} = n.figures[${index + 1}]`)
  const parts = [
    `won as (
      update purse set version = purse.version + 1, running = n.running, seq = n.seq, hash = n.hash, packs = n.packs, ${figures.join(', ')}
      -- Not for each figure anew.
      from (select *, cells::bigint[] as figures from ${rowsOf(purseRow, 'u')} offset 0) as n
      where purse.account = n.account and purse.version = n.version returning 1)`,
  ]
  if (isHeld)
    parts.push(`held as (
      insert into turn (${heldRow.join(', ')}, state, credits, debt, input_tokens, output_tokens, estimated, seq)
      select ${heldRow.map((name) => `t.${name}`).join(', ')}, 'held', 0, 0, 0, 0, 0, 0
      from ${rowsOf(kinds(heldRow), 't', heldFrom)} where ${allOf('won')})`)
  // By the one column that no index of open holds is about: the planner would walk through all of them for each turn.
  if (isEnded)
    parts.push(`ended as (
      update turn set ${reported.map((name) => `${name} = e.${name}`).join(', ')} from ${rowsOf(kinds(endedRow), 'e', endedFrom)}
      where turn.account = e.account and turn.id = e.id and turn.ended_at is null and ${allOf('won')}
      returning turn.account, turn.state, turn.credits),
    -- An invited account's first charged turn. As a trigger it costs more than all else about a turn.
    due as (
      update invite set state = 'due' from ended
      where ended.state = 'settled' and ended.credits > 0 and invite.invited = ended.account and invite.state = 'pending')`)
  const met = isEnded ? [allOf('won'), allOf('ended', endedFrom + 1)] : [allOf('won')]
  return `with ${parts.join(', ')} ${unless(...met)}`
}

export const noteTurns = of(
  'note_turns',
  `update turn set ${notedColumns.map((name) => `${name} = e.${name}`).join(', ')} from ${rowsOf(kinds(notedRow), 'e')}
  where turn.account = e.account and turn.id = e.id`,
  notedRow.length,
)

export const insertEntries = of(
  'insert_entries',
  `insert into entry (account, seq, kind, at, detail, hash) select * from ${rowsOf(entryRow, 'e')}`,
  6,
)

/** Of buckets that are put away, and of those that were and have changed. */
export const putAway = of(
  'put_away',
  `insert into bucket (${namesOf(bucketRow)}) select * from ${rowsOf(bucketRow, 'b')}
  on conflict (account, id) do update set reserved = excluded.reserved, settled = excluded.settled, debt = excluded.debt`,
  Object.keys(bucketRow).length,
)

export const takeOut = of(
  'take_out',
  `delete from bucket using ${rowsOf({ account: 'text', id: 'bigint' }, 'b')} where bucket.account = b.account and bucket.id = b.id`,
  2,
)

export const insertPacks = of(
  'insert_packs',
  `insert into pack (id, account, kind, pool, granted, reserved, settled, expires_at, created_at)
  select id, account, kind, pool, granted, 0, 0, expires_at, created_at from ${rowsOf(newPackRow, 'p')}`,
  7,
)

export const movePacks = of(
  'move_packs',
  `with moved as (
    update pack set reserved = pack.reserved + p.reserved, settled = pack.settled + p.settled from ${rowsOf({ id: 'text', reserved: 'bigint', settled: 'bigint' }, 'p')}
    where pack.id = p.id returning 1)
  ${unless(allOf('moved'))}`,
  3,
)

/** Turns by their ids, of these accounts. */
export const readTurns = of(
  'read_turns',
  `select ${endingColumns.map((name) => `turn.${name}`).join(', ')}, turn.reserved, turn.owner, turn.ended_at from turn
  join ${rowsOf({ account: 'text', id: 'bigint' }, 'a')} using (account, id)`,
  2,
)

export const readKeys = of(
  'read_keys',
  `select turn.account, turn.idempotency_key, turn.state, turn.body_hash, turn.request_id, turn.code, turn.credits from turn
  join ${rowsOf({ account: 'text', idempotency_key: 'text' }, 'a')} using (account, idempotency_key)
  where turn.idempotency_key is not null and turn.state in ('held', 'settled')`,
  2,
)

export const readBuckets = of(
  'read_buckets',
  `select account, pool, "window", ${bucketFields.join(', ')} from bucket where account = any($1::text[])`,
  1,
)

const packRow = 'id, account, kind, pool, granted, reserved, settled, expires_at, created_at'

/** Those with something left, and those that are named. */
export const readPacks: (accounts: readonly string[], named: readonly string[]) => Statement = (accounts, named) => ({
  name: 'read_packs',
  text: `select ${packRow} from pack where account = any($1::text[]) and settled < granted
    union select ${packRow} from pack where id = any($2::text[]) and account = any($1::text[])`,
  values: [arrayOf(accounts), arrayOf(named)],
})

/** Where a turn's account is not known any more. */
export const accountsOf = of('accounts_of', 'select id, account from turn where id = any($1::bigint[])', 1)

/** Of one node: all that it holds, or what it holds past its time by its own clock. */
export const holdsOf = (owner: number, until = Number.MAX_SAFE_INTEGER): Statement => ({
  name: 'holds_of',
  text: `select account, id from turn where state = 'held' and owner = $1 and until <= $2`,
  // A clock of durations has parts of milliseconds.
  values: [owner, Math.floor(until)],
})
