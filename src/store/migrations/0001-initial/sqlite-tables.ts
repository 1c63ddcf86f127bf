/**
 * The tables that only SQLite has in this form. Indexes are partial where only open or unspent rows are read, so that a turn costs the same
 * however long the log has become.
 */
import { windows } from '../../../domain/billing/catalog/plan.ts'
import { pools } from '../../ledger/account-balance.ts'
import { bucketFields } from '../../schema/schema.ts'
import { addToUsageSum, usageSlotMs, usageSumColumns } from '../../ledger/usage-sum.ts'

const buckets = pools.flatMap((pool) => windows.map((window) => `${pool}_${window}`))

export const sqliteTables: readonly string[] = [
  `create table process (
    id integer primary key autoincrement not null,
    name text not null unique,
    pid integer not null,
    started_at integer not null
  ) strict`,

  `create table balance (
    account text not null primary key references account (id),
    seq integer not null check (seq >= 0),
    hash blob not null,
    last_turn integer not null,
    ${buckets.flatMap((bucket) => bucketFields.map((field) => `${bucket}_${field} integer not null default 0`)).join(', ')},
    ${buckets.map(createOverdraftCheck).join(', ')}
  ) strict, without rowid`,

  // A row of balance may lack the turns after the watermark, and the endings of the holds that were open at the watermark.
  `create table balance_watermark (
    epoch integer not null,
    turn integer not null,
    newest_turn integer not null
  ) strict`,
  'insert into balance_watermark (epoch, turn, newest_turn) values (0, 0, 0)',
  'create table balance_watermark_hold (turn integer not null primary key) strict',

  // The states are compared one by one: for a list SQLite builds a table at every check, which was a tenth of a turn's cost in the writer.
  `create table turn (
    id integer primary key not null,
    previous_turn integer not null,
    request_id text not null,
    account text not null,
    model text not null,
    api_format text not null,
    requested_model text,
    credential text not null,
    pool text not null,
    state text not null check (state = 'held' or state = 'settled' or state = 'refunded' or state = 'expired'),
    owner_process integer not null,
    lease_until integer not null,
    started_at integer not null,
    ended_at integer,
    reserved integer not null check (reserved >= 0),
    reserved_plan integer not null check (reserved_plan >= 0),
    reserved_packs text,
    day_bucket integer not null,
    week_bucket integer not null,
    month_bucket integer not null,
    credits integer not null check (credits >= 0),
    debt integer not null check (debt >= 0),
    window_debts text,
    settled_packs text,
    price_input integer not null,
    price_cached_input integer,
    price_output integer not null,
    discount_percent integer not null,
    input_tokens integer not null check (input_tokens >= 0),
    cached_input_tokens integer not null check (cached_input_tokens >= 0),
    output_tokens integer not null check (output_tokens >= 0),
    estimated integer not null,
    disputed_input integer,
    disputed_output integer,
    code text,
    upstream_status integer,
    target text,
    idempotency_key text,
    body_hash text,
    seq integer not null default 0,
    hash blob not null default x'',
    constraint turn_one_ending check ((state = 'held') = (ended_at is null)),
    constraint turn_charged_only_when_settled check (state = 'settled' or (credits = 0 and debt = 0))
  ) strict`,
  `create index turn_held on turn (lease_until, owner_process) where state = 'held'`,
  // At most one charge for a key: a refunded turn does not count, so its key may be used again.
  `create unique index turn_idempotency on turn (account, idempotency_key)
    where idempotency_key is not null and state in ('held', 'settled')`,

  // In the transaction that settles the turn, whichever process runs it.
  `create trigger invite_due after update of state on turn for each row when new.state = 'settled' and new.credits > 0
    begin update invite set state = 'due' where invited = new.account and state = 'pending'; end`,

  `create trigger turn_summed after update of state on turn for each row when new.state <> 'held'
    begin
      insert into usage_sum (${usageSumColumns.join(', ')})
      values (new.account, new.started_at - new.started_at % ${usageSlotMs}, new.pool, new.model, new.credential, new.api_format,
        new.state = 'settled', new.state <> 'settled', new.credits, new.input_tokens, new.cached_input_tokens, new.output_tokens)
      ${addToUsageSum};
    end`,
]

function createOverdraftCheck(bucket: string): string {
  const [reserved, settled, debt, granted] = ['reserved', 'settled', 'debt', 'granted'].map((field) => `${bucket}_${field}`)
  return `constraint ${bucket}_not_overdrawn
    check (${reserved} >= 0 and ${debt} between 0 and ${settled} and ${reserved} + ${settled} - ${debt} <= ${granted})`
}
