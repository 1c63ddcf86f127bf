/** The tables of an installation and the order in which they are moved between databases. */

/** A value as both databases return it. */
export type ColumnValue = string | number | Uint8Array | null
/** Values in the order of some columns. */
export type Row = readonly ColumnValue[]

/** As a column list in SQL. */
export function quoteColumns(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}

export interface TransferTable {
  readonly name: string
  /** Rows are read in pages by this key, in the same order in both databases. */
  readonly key: readonly string[]
}

const table = (name: string, ...key: string[]): TransferTable => ({ name, key })

/**
 * A table comes after the tables that it references, and balances come after turns. Running processes and cluster tables are
 * not moved.
 */
export const transferTables: readonly TransferTable[] = [
  table('plan_terms', 'id'),
  table('account', 'id'),
  table('subscription', 'id'),
  table('api_key', 'id'),
  table('session', 'id'),
  table('account_change', 'seq'),
  table('email_verification', 'link_hash'),
  table('identity', 'provider', 'subject'),
  table('provider_login', 'state'),
  table('device_login', 'code_hash'),
  table('invite_code', 'account'),
  table('invite', 'invited'),
  table('rush', 'id'),
  table('boost_claim', 'id'),
  table('redeem_code', 'id'),
  table('redemption', 'id'),
  table('sale_order', 'id'),
  table('order_step', 'sale_order', 'seq'),
  table('order_number', 'year'),
  table('payment_notification', 'provider'),
  table('purchase_notice', 'about', 'kind', 'subject'),
  table('account_deletion', 'account'),
  table('attempt', 'id'),
  table('carried_usage', 'person', 'pool', 'window', 'starts_at'),
  table('usage_alert_subscription', 'account'),
  table('usage_alert', 'account', 'pool', 'window', 'ends_at', 'level'),
  table('audit', 'id'),
  table('operator', 'account'),
  table('second_factor', 'account'),
  table('recovery_code', 'account', 'hash'),
  table('passkey', 'id'),
  table('passkey_challenge', 'session', 'purpose'),
  table('operator_session', 'id'),
  table('shell_link', 'hash'),
  table('operator_key', 'id'),
  table('operator_request', 'hash'),
  table('taken_out_target', 'target'),
  table('notice', 'id'),
  table('oauth_client', 'id'),
  table('oauth_record', 'kind', 'hash'),
  table('image', 'hash'),
  table('image_owner', 'hash', 'account'),
  table('turn', 'id'),
  table('usage_sum', 'account', 'starts_at', 'pool', 'model', 'credential', 'api_format'),
  table('entry', 'account', 'seq'),
  table('bucket', 'account', 'id'),
  table('pack', 'id'),
  table('checkpoint', 'account'),
  table('balance', 'account'),
  table('ledger_account', 'number'),
  table('ledger_account_head', 'number'),
  table('notification_event', 'id'),
  table('notification_delivery', 'id'),
  table('notification_incident', 'kind', 'subject'),
  // Last: its rows let the triggers on accounts record events.
  table('notification_receiver', 'name'),
]

/** The columns that both databases have. */
export interface SharedColumns {
  readonly table: TransferTable
  readonly columns: readonly string[]
  /** The positions of the key's columns. */
  readonly keyIndexes: readonly number[]
}

/** Columns that only one database has are derived there. */
export function intersectColumns(table: TransferTable, one: readonly string[], other: readonly string[]): SharedColumns {
  const columns = one.filter((name) => other.includes(name)).toSorted()
  return { table, columns, keyIndexes: table.key.map((name) => columns.indexOf(name)) }
}

export function pickKey({ keyIndexes }: SharedColumns, row: Row): Row {
  return keyIndexes.map((index) => row[index] ?? null)
}
