/** What an installation is made of, wherever it is kept: what is moved of each table, and in which order. */

/** As both databases give it. */
export type Value = string | number | Uint8Array | null
/** In the order of some columns. */
export type Row = readonly Value[]

/** A list of columns. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

export interface MovedTable {
  readonly name: string
  /** By which its rows are asked for in pages, and found to be there already: in the same order in both databases. */
  readonly key: readonly string[]
}

const table = (name: string, ...key: string[]): MovedTable => ({ name, key })

/** Nothing comes before what it refers to, and purses come after turns. Who is alive, and what only nodes need, stays behind. */
export const movedTables: readonly MovedTable[] = [
  table('account', 'id'),
  table('api_key', 'id'),
  table('session', 'id'),
  table('account_change', 'seq'),
  table('mail_code', 'link'),
  table('identity', 'provider', 'subject'),
  table('provider_login', 'state'),
  table('device_login', 'code_hash'),
  table('invite_code', 'account'),
  table('invite', 'invited'),
  table('rush', 'id'),
  table('boost_claim', 'id'),
  table('attempt', 'id'),
  table('person_use', 'person', 'pool', 'window', 'starts_at'),
  table('audit', 'id'),
  table('app', 'id'),
  table('app_record', 'kind', 'hash'),
  table('image', 'hash'),
  table('image_owner', 'hash', 'account'),
  table('turn', 'id'),
  table('entry', 'account', 'seq'),
  table('bucket', 'account', 'id'),
  table('pack', 'id'),
  table('checkpoint', 'account'),
  table('purse', 'account'),
  table('roster', 'number'),
  table('roster_end', 'number'),
]

/** Where what both databases have of a table stands in it. */
export interface Shape {
  readonly table: MovedTable
  readonly columns: readonly string[]
  /** Of the key's columns among them. */
  readonly keyAt: readonly number[]
}

/** Rows have what both have: the rest says how one database keeps them, and follows. */
export function shapeOf(table: MovedTable, one: readonly string[], other: readonly string[]): Shape {
  const columns = one.filter((name) => other.includes(name)).toSorted()
  return { table, columns, keyAt: table.key.map((name) => columns.indexOf(name)) }
}

export function keyOf({ keyAt }: Shape, row: Row): Row {
  return keyAt.map((index) => row[index] ?? null)
}
